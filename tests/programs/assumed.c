// The number of threads is an input that the program bounds itself; without the bound there is no end to the schedules.
#include <heddle.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int workers = 2, done;

static void *work(void *argument) {
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(int argc, char **argv) {
    pthread_t threads[4];
    if (argc > 1)
        workers = atoi(argv[1]);
    heddle_input(&workers, sizeof workers, "workers");
    heddle_assume(workers >= 1 && workers <= 3);
    for (int i = 0; i < workers; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", done);
    return 0;
}
