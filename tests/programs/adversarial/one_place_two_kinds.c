// The same bytes are a mutex first and a semaphore afterwards.
// run: 0 => 1 0
// run: 1 => 1 2
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static union {
    pthread_mutex_t mutex;
    sem_t semaphore;
} shared;

static int first, second;

static void *lock(void *unused) {
    pthread_mutex_lock(&shared.mutex);
    first = 1;
    pthread_mutex_unlock(&shared.mutex);
    return unused;
}

static void *post(void *unused) {
    second++;
    sem_post(&shared.semaphore);
    return unused;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t;
    pthread_mutex_init(&shared.mutex, NULL);
    pthread_create(&t, NULL, lock, NULL);
    pthread_join(t, NULL);
    pthread_mutex_destroy(&shared.mutex);
    sem_init(&shared.semaphore, 0, n == 1 ? 0 : 1);
    if (n == 1) {
        pthread_create(&t, NULL, post, NULL);
        sem_wait(&shared.semaphore);
        second++;
        pthread_join(t, NULL);
    } else {
        sem_wait(&shared.semaphore);
    }
    printf("%d %d\n", first, second);
    return 0;
}
