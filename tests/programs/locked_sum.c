// Fork and join with a locked sum; branches on the data do not touch synchronization: one schedule, whatever the data.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, PER_THREAD = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static int data[THREADS * PER_THREAD];

static void *add_up(void *argument) {
    const int *from = argument;
    long mine = 0;
    for (int i = 0; i < PER_THREAD; i++) {
        if (from[i] % 3 == 0)
            mine += from[i];
        else if (from[i] < 0)
            mine -= 1;
    }
    pthread_mutex_lock(&lock);
    sum += mine;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    for (int i = 0; i < THREADS * PER_THREAD; i++) {
        seed = seed * 1103515245u + 12345u;
        data[i] = (int)(seed >> 16) % 1000 - 100;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, add_up, data + i * PER_THREAD);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", sum);
    return 0;
}
