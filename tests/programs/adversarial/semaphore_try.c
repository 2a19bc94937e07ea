// A try on a semaphore fails or not by an input, and a count hands over work.
// run: 0 => empty 2
// run: 1 => taken 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <semaphore.h>

static sem_t tokens, done;
static int total;

static void *worker(void *unused) {
    (void)unused;
    total++;
    sem_post(&done);
    sem_wait(&tokens);
    total++;
    sem_post(&done);
    return NULL;
}

int main(int argc, char **argv) {
    sem_init(&tokens, 0, argc > 1 && atoi(argv[1]) == 1 ? 1 : 0);
    sem_init(&done, 0, 0);
    int taken = sem_trywait(&tokens) == 0;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    sem_wait(&done);
    sem_post(&tokens);
    sem_wait(&done);
    pthread_join(t, NULL);
    printf("%s %d\n", taken ? "taken" : "empty", total);
    return 0;
}
