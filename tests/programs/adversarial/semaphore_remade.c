// Semaphore, condition variable and barrier are destroyed and made again in the same memory, with other counts.
// run: 0 => 2 1
// run: 1 => 4 3
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <semaphore.h>

struct room {
    pthread_mutex_t m;
    pthread_cond_t c;
    sem_t s;
    int ready, left;
};

static struct room *room;

static void *guest(void *unused) {
    (void)unused;
    sem_wait(&room->s);
    pthread_mutex_lock(&room->m);
    while (!room->ready)
        pthread_cond_wait(&room->c, &room->m);
    room->left++;
    pthread_mutex_unlock(&room->m);
    return NULL;
}

static int evening(unsigned guests) {
    pthread_t threads[3];
    room = calloc(1, sizeof *room);
    if (room == NULL)
        exit(1);
    pthread_mutex_init(&room->m, NULL);
    pthread_cond_init(&room->c, NULL);
    sem_init(&room->s, 0, guests - 1);
    for (unsigned i = 0; i < guests; i++)
        pthread_create(&threads[i], NULL, guest, NULL);
    pthread_mutex_lock(&room->m);
    room->ready = 1;
    pthread_cond_broadcast(&room->c);
    pthread_mutex_unlock(&room->m);
    sem_post(&room->s);
    for (unsigned i = 0; i < guests; i++)
        pthread_join(threads[i], NULL);
    int left = room->left;
    sem_destroy(&room->s);
    pthread_cond_destroy(&room->c);
    pthread_mutex_destroy(&room->m);
    free(room);
    return left;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    int total = evening(1);
    int last = n ? evening(3) : evening(1);
    printf("%d %d\n", total + last, last);
    return 0;
}
