// A pointer to a lock carries a bit of its own that decides, and is taken off before use.
// run: 0 => 11
// run: 1 => 21
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *worker(void *tagged) {
    uintptr_t bits = (uintptr_t)tagged;
    pthread_mutex_t *lock = (pthread_mutex_t *)(bits & ~(uintptr_t)1);
    pthread_mutex_lock(lock);
    total += 10;
    pthread_mutex_unlock(lock);
    if (bits & 1) {
        pthread_mutex_lock(lock);
        total += 10;
        pthread_mutex_unlock(lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    uintptr_t tag = argc > 1 && atoi(argv[1]) == 1;
    pthread_t t;
    pthread_create(&t, NULL, worker, (void *)((uintptr_t)&m | tag));
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
