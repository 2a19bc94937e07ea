/* A producer and a consumer with two counting semaphores: how far they are apart when a round begins is read from the semaphore itself.
 * One more semaphore is only ever posted: its value tells no epochs apart. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t empty, full, never;
static int items, place[4], sum;

static void *produce(void *unused)
{
    for (int i = 0; i < items; i++) {
        sem_wait(&empty);
        place[i % 4] = i;
        sem_post(&full);
        sem_post(&never);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t producer;
    items = argc > 1 ? atoi(argv[1]) : 0;
    sem_init(&empty, 0, 4);
    sem_init(&full, 0, 0);
    sem_init(&never, 0, 0);
    pthread_create(&producer, NULL, produce, NULL);
    for (int i = 0; i < items; i++) {
        sem_wait(&full);
        sum += place[i % 4];
        sem_post(&empty);
    }
    pthread_join(producer, NULL);
    printf("%d\n", sum);
    return 0;
}
