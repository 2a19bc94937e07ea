// Loops that end by themselves, and one that tests under a mutex: none of them waits for a plain variable of another thread.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready, limit = 1000;

static void *producer(void *unused) {
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    int sum = 0;
    for (int i = 0; i < limit; i++)
        sum += i;
    pthread_create(&thread, NULL, producer, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&lock);
    sum += ready;
    pthread_mutex_unlock(&lock);
    printf("%d\n", sum);
    return 0;
}
