/* once_tls: one-time set-up, thread-specific data and its destructors.
 *
 * Skeleton:  P workers call pthread_once; each keeps a counter in thread-specific data; the
 *            key's destructor adds it to the total under a lock when the thread ends.
 * Governs:   P and how often each works.
 * Teaches:   synchronization inside destructors that run after the entry function has
 *            returned; the winner of pthread_once is decided by the schedule.
 *
 * Usage: once_tls P COUNT
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 32

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t counter_key;
static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static long total;
static int set_ups, count;

static void add_up(void *counter)
{
    pthread_mutex_lock(&total_lock);
    total += *(long *)counter;
    pthread_mutex_unlock(&total_lock);
    free(counter);
}

static void set_up(void)
{
    set_ups++;
    pthread_key_create(&counter_key, add_up);
}

static void work(void)
{
    long *mine = pthread_getspecific(counter_key);
    if (!mine) {
        mine = calloc(1, sizeof *mine);
        if (!mine)
            exit(2);
        pthread_setspecific(counter_key, mine);
    }
    (*mine)++;
}

static void *worker(void *unused)
{
    pthread_once(&once, set_up);
    for (int i = 0; i < count; i++)
        work();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    if (argc < 3)
        return 2;
    int p = atoi(argv[1]);
    count = atoi(argv[2]);
    if (p < 1 || p > MAX_THREADS || count < 0)
        return 2;
    for (int t = 0; t < p; t++)
        pthread_create(&thread[t], NULL, worker, NULL);
    for (int t = 0; t < p; t++)
        pthread_join(thread[t], NULL);
    int good = total == (long)p * count && set_ups == 1;
    printf("%s total=%ld\n", good ? "ok" : "FAILED", total);
    return !good;
}
