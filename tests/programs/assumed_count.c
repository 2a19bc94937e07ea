// The number of workers comes out of the options and is assumed. They take numbers under a lock, meet at a barrier made of a condition
// variable that nobody waits for in a loop, and hand sums up a tree of semaphores, as often as an input says. Main is a worker, and joins
// everybody including itself.
#include <heddle.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 8

static pthread_t ids[MOST];
static long threads, workers = 1, rounds = 1;

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t all;
    long here;
} meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static pthread_mutex_t numbering = PTHREAD_MUTEX_INITIALIZER;
static long next_number;
static sem_t done[2 * MOST];
static long sums[2 * MOST], total;

static void meet(void) {
    pthread_mutex_lock(&meeting.mutex);
    if (++meeting.here == workers) {
        meeting.here = 0;
        pthread_cond_broadcast(&meeting.all);
    } else {
        pthread_cond_wait(&meeting.all, &meeting.mutex);
    }
    pthread_mutex_unlock(&meeting.mutex);
}

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&numbering);
    long number = next_number++;
    pthread_mutex_unlock(&numbering);
    for (long round = 0; round < rounds; round++) {
        meet();
        long at = number, base = 0, width = workers;
        sums[at] = number + round;
        while (width > 1 && at % 2 == 1) {
            long left = base + at - 1;
            sem_wait(&done[left]);
            long sum = sums[left] + sums[base + at];
            base += width;
            at /= 2;
            width /= 2;
            sums[base + at] = sum;
        }
        if (width > 1)
            sem_post(&done[base + at]);
        else
            total += sums[base + at];
        meet();
    }
    return NULL;
}

int main(int argc, char **argv) {
    int option;
    while ((option = getopt(argc, argv, "w:r:")) != -1) {
        switch (option) {
        case 'w': workers = atol(optarg); break;
        case 'r': rounds = atol(optarg); break;
        default: return 2;
        }
    }
    heddle_assume(workers == 4);
    ids[threads++] = pthread_self();
    for (long i = 0; i < 2 * workers; i++)
        sem_init(&done[i], 0, 0);
    for (long i = 1; i < workers; i++)
        pthread_create(&ids[threads++], NULL, work, NULL);
    work(NULL);
    long left = workers;
    while (left--)
        pthread_join(ids[left], NULL);
    printf("%ld\n", total);
    return 0;
}
