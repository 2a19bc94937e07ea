/* async_cancel: a thread that can be cancelled anywhere is cancelled while it holds a mutex.
 *
 * Skeleton:  the worker enables asynchronous cancellation and updates under a lock; main
 *            cancels it, joins it, and locks.
 * Governs:   timing only.
 * Teaches:   cancellation at an arbitrary point can leave the lock taken: a tool must refuse
 *            or report it. -DFIXED: the worker is told by a flag under the lock.
 *
 * Usage: async_cancel
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stop, updates;

static void *worker(void *unused)
{
#ifndef FIXED
    int old;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
#endif
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        int leave = stop;
        updates += !leave;
        pthread_mutex_unlock(&lock);
        if (leave)
            break;
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
#ifdef FIXED
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_mutex_unlock(&lock);
#else
    pthread_cancel(thread);
#endif
    pthread_join(thread, NULL);
    pthread_mutex_lock(&lock);
    int seen = updates;
    pthread_mutex_unlock(&lock);
    printf("%s\n", seen <= 1000 ? "ok" : "FAILED");
    return seen > 1000;
}
