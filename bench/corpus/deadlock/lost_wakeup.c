/* lost_wakeup: a wait that does not look at its condition first.
 *
 * Skeleton:  the worker sets a flag and signals; main waits without testing the flag.
 * Governs:   nothing but the order of the two.
 * Teaches:   when the signal comes first it is lost and main waits for ever.
 *            -DFIXED: `while (!flag)` around the wait.
 *
 * Usage: lost_wakeup
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int flag;

static void *worker(void *unused)
{
    pthread_mutex_lock(&lock);
    flag = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_mutex_lock(&lock);
#ifdef FIXED
    while (!flag)
#endif
        pthread_cond_wait(&changed, &lock);
    int seen = flag;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    printf("%s flag=%d\n", seen == 1 ? "ok" : "FAILED", seen);
    return seen != 1;
}
