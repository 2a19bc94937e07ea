// Every schedule deadlocks: a thread locks a normal mutex that it holds.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void add(int amount) {
    pthread_mutex_lock(&lock);
    count += amount;
    pthread_mutex_unlock(&lock);
}

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    add(1);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    printf("%d\n", count);
    return 0;
}
