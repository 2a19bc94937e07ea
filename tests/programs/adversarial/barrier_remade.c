// A barrier is made again for another number of threads, in a loop that an input ends.
// run: 0 => 0
// run: 1 => 2
// run: 2 => 5
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t barrier;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *worker(void *unused) {
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    pthread_barrier_wait(&barrier);
    return unused;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 0;
    for (int r = 0; r < rounds && r < 2; r++) {
        pthread_t t[3];
        pthread_barrier_init(&barrier, NULL, (unsigned)r + 3);
        for (int i = 0; i < r + 2; i++)
            pthread_create(&t[i], NULL, worker, NULL);
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < r + 2; i++)
            pthread_join(t[i], NULL);
        pthread_barrier_destroy(&barrier);
    }
    printf("%d\n", total);
    return 0;
}
