/* abba: two threads take two mutexes in opposite orders when the input says so.
 *
 * Skeleton:  main creates P workers; worker t locks (a, b) or, when its turn flag is odd, (b, a).
 * Governs:   P.
 * Teaches:   the textbook cycle of mutexes. -DFIXED: every thread locks a first.
 *
 * Usage: abba [P]
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 16

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int work;

static void both(pthread_mutex_t *first, pthread_mutex_t *second)
{
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    work++;
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *worker(void *arg)
{
    int t = *(int *)arg;
#ifdef FIXED
    (void)t;
    both(&a, &b);
#else
    if (t % 2 == 0)
        both(&a, &b);
    else
        both(&b, &a);
#endif
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int id[MAX_THREADS], p = argc > 1 ? atoi(argv[1]) : 2;
    if (p < 1 || p > MAX_THREADS)
        return 2;
    for (int t = 0; t < p; t++) {
        id[t] = t;
        pthread_create(&thread[t], NULL, worker, &id[t]);
    }
    for (int t = 0; t < p; t++)
        pthread_join(thread[t], NULL);
    printf("%s work=%d\n", work == p ? "ok" : "FAILED", work);
    return work != p;
}
