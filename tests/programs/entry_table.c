// Threads whose functions stand in a table that is not constant.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *one(void *unused) {
    pthread_mutex_lock(&lock);
    total += 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *ten(void *unused) {
    pthread_mutex_lock(&lock);
    total += 10;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *(*entries[2])(void *) = {one, ten};

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, entries[i], NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", total);
    return 0;
}
