// Barriers in a loop that floating point ends: every thread reads the same number, so all leave together.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t barrier;
static double error_now = 1.0;
static int rounds;

static void *worker(void *argument) {
    int first = *(int *)argument == 0;
    for (;;) {
        pthread_barrier_wait(&barrier);
        if (first) {
            error_now *= 0.5;
            rounds++;
        }
        pthread_barrier_wait(&barrier);
        if (error_now < 0.01)
            break;
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    int numbers[2] = {0, 1};
    if (argc > 1)
        error_now = atof(argv[1]);
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", rounds);
    return 0;
}
