/* lock_join: main joins a thread while holding the mutex that the thread needs.
 *
 * Skeleton:  main creates a worker, locks, joins; the worker locks.
 * Governs:   nothing.
 * Teaches:   a cycle of one lock and one join; certain natively unless the worker is faster.
 *            -DFIXED: main unlocks before it joins.
 *
 * Usage: lock_join
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;

static void *worker(void *unused)
{
    pthread_mutex_lock(&lock);
    shared += 2;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_mutex_lock(&lock);
    shared += 1;
#ifdef FIXED
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
#else
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&lock);
#endif
    printf("%s shared=%d\n", shared == 3 ? "ok" : "FAILED", shared);
    return shared != 3;
}
