/* lock_condvar: a thread waits on a condition variable while it holds another mutex.
 *
 * Skeleton:  the consumer locks `outer`, then waits for `ready` under `inner`; the producer
 *            needs `outer` before it can set `ready`.
 * Governs:   nothing.
 * Teaches:   pthread_cond_wait releases one mutex, not all. -DFIXED: the consumer releases
 *            outer before it waits.
 *
 * Usage: lock_condvar
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_ready = PTHREAD_COND_INITIALIZER;
static int ready, log_entries;

static void *producer(void *unused)
{
    pthread_mutex_lock(&outer);
    log_entries++;
    pthread_mutex_lock(&inner);
    ready = 1;
    pthread_cond_signal(&is_ready);
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
    return unused;
}

static void *consumer(void *unused)
{
    pthread_mutex_lock(&outer);
    log_entries++;
#ifdef FIXED
    pthread_mutex_unlock(&outer);
#endif
    pthread_mutex_lock(&inner);
    while (!ready)
        pthread_cond_wait(&is_ready, &inner);
    pthread_mutex_unlock(&inner);
#ifndef FIXED
    pthread_mutex_unlock(&outer);
#endif
    return unused;
}

int main(void)
{
    pthread_t p, c;
    pthread_create(&p, NULL, producer, NULL);
    pthread_create(&c, NULL, consumer, NULL);
    pthread_join(p, NULL);
    pthread_join(c, NULL);
    printf("%s entries=%d\n", log_entries == 2 ? "ok" : "FAILED", log_entries);
    return log_entries != 2;
}
