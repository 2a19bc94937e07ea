// Whoever is the serial thread of a barrier does the work; there is exactly one per round.
// run: 0 => 2
// run: 1 => 4
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t barrier;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int rounds, serial;

static void *worker(void *unused) {
    (void)unused;
    for (int i = 0; i < rounds; i++)
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            pthread_mutex_lock(&m);
            serial++;
            pthread_mutex_unlock(&m);
        }
    return NULL;
}

int main(int argc, char **argv) {
    rounds = argc > 1 && atoi(argv[1]) == 1 ? 4 : 2;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
    printf("%d\n", serial);
    return 0;
}
