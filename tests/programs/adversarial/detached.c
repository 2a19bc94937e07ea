// A detached thread says by a semaphore that it is done.
// run: 0 => 1
// run: 1 => 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <semaphore.h>

static sem_t done;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *worker(void *by) {
    pthread_mutex_lock(&m);
    total += (int)(long)by;
    pthread_mutex_unlock(&m);
    sem_post(&done);
    return NULL;
}

int main(int argc, char **argv) {
    long by = argc > 1 && atoi(argv[1]) == 1 ? 2 : 1;
    sem_init(&done, 0, 0);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_t t;
    pthread_create(&t, &attr, worker, (void *)by);
    sem_wait(&done);
    pthread_mutex_lock(&m);
    printf("%d\n", total);
    pthread_mutex_unlock(&m);
    return 0;
}
