/* barrier_count: a barrier for more threads than ever arrive.
 *
 * Skeleton:  P workers meet at one barrier; main does not take part.
 * Governs:   P.
 * Teaches:   the broken twin counts main among the participants: P+1 never arrive.
 *            -DFIXED: the count is P.
 *
 * Usage: barrier_count [P]
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 16

static pthread_barrier_t meeting;
static int arrived[MAX_THREADS];

static void *worker(void *arg)
{
    int *mine = arg;
    *mine = 1;
    pthread_barrier_wait(&meeting);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int p = argc > 1 ? atoi(argv[1]) : 2, sum = 0;
    if (p < 1 || p > MAX_THREADS)
        return 2;
#ifdef FIXED
    pthread_barrier_init(&meeting, NULL, (unsigned)p);
#else
    pthread_barrier_init(&meeting, NULL, (unsigned)p + 1);
#endif
    for (int t = 0; t < p; t++)
        pthread_create(&thread[t], NULL, worker, &arrived[t]);
    for (int t = 0; t < p; t++) {
        pthread_join(thread[t], NULL);
        sum += arrived[t];
    }
    printf("%s arrived=%d\n", sum == p ? "ok" : "FAILED", sum);
    return sum != p;
}
