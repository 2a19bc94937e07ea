/* spinbarrier: a barrier that polls with trylock before it sleeps.
 *
 * Skeleton:  P workers pass ROUNDS barriers. The last to arrive flips the generation and
 *            broadcasts; the others poll it a few times with trylock, then sleep.
 * Governs:   P, ROUNDS, and the outcome of every trylock.
 * Teaches:   how often trylock runs is not reproducible natively; its result is decided by
 *            the schedule. The generation is only read under the mutex: no race.
 *
 * Usage: spinbarrier P ROUNDS
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 32
#define POLLS 3

struct barrier {
    pthread_mutex_t lock;
    pthread_cond_t flipped;
    int count, generation, size;
};

static struct barrier meeting;
static int nthreads, rounds;
static long cell[2][MAX_THREADS];

static int poll_flip(struct barrier *b, int generation)
{
    for (int i = 0; i < POLLS; i++)
        if (pthread_mutex_trylock(&b->lock) == 0) {
            int flipped = b->generation != generation;
            pthread_mutex_unlock(&b->lock);
            if (flipped)
                return 1;
        }
    return 0;
}

static void barrier_wait(struct barrier *b)
{
    pthread_mutex_lock(&b->lock);
    int generation = b->generation;
    if (++b->count == b->size) {
        b->count = 0;
        b->generation++;
        pthread_cond_broadcast(&b->flipped);
        pthread_mutex_unlock(&b->lock);
        return;
    }
    pthread_mutex_unlock(&b->lock);
    if (poll_flip(b, generation))
        return;
    pthread_mutex_lock(&b->lock);
    while (b->generation == generation)
        pthread_cond_wait(&b->flipped, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

static void *worker(void *arg)
{
    int id = *(int *)arg;
    for (int r = 0; r < rounds; r++) {
        cell[(r + 1) % 2][id] = cell[r % 2][id] + cell[r % 2][(id + 1) % nthreads] % 1000 + 1;
        barrier_wait(&meeting);
    }
    return NULL;
}

static long sequential(void)
{
    long a[2][MAX_THREADS] = {{0}}, sum = 0;
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < nthreads; i++)
            a[(r + 1) % 2][i] = a[r % 2][i] + a[r % 2][(i + 1) % nthreads] % 1000 + 1;
    for (int i = 0; i < nthreads; i++)
        sum += a[rounds % 2][i];
    return sum;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int id[MAX_THREADS];
    long sum = 0;
    if (argc < 3)
        return 2;
    nthreads = atoi(argv[1]);
    rounds = atoi(argv[2]);
    if (nthreads < 1 || nthreads > MAX_THREADS || rounds < 0)
        return 2;
    pthread_mutex_init(&meeting.lock, NULL);
    pthread_cond_init(&meeting.flipped, NULL);
    meeting.size = nthreads;
    for (int t = 0; t < nthreads; t++) {
        id[t] = t;
        pthread_create(&thread[t], NULL, worker, &id[t]);
    }
    for (int t = 0; t < nthreads; t++)
        pthread_join(thread[t], NULL);
    for (int t = 0; t < nthreads; t++)
        sum += cell[rounds % 2][t];
    printf("%s rounds=%d sum=%ld\n", sum == sequential() ? "ok" : "FAILED", rounds, sum);
    return sum != sequential();
}
