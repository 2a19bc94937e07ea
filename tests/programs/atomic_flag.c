// Threads that order each other by an atomic flag: outside what Heddle orders, so the archive must not call itself complete.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int ready;
static int data;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *unused) {
    data = 7;
    atomic_store(&ready, 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    while (!atomic_load(&ready)) {
    }
    if (data == 7) {
        pthread_mutex_lock(&lock);
        puts("seven");
        pthread_mutex_unlock(&lock);
    }
    pthread_join(thread, NULL);
    return 0;
}
