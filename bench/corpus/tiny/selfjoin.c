/* selfjoin: the main thread works too and joins itself.
 *
 * Skeleton:  create P-1 threads, run the body in main, join slots P-1 down to 0.
 * Governs:   P.
 * Teaches:   pthread_join of oneself returns EDEADLK and must not end the schedule.
 *
 * Usage: selfjoin P
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 64

static pthread_t thread[MAX_THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_id, sum;

static void *body(void *unused)
{
    pthread_mutex_lock(&lock);
    int id = next_id++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    sum += id + 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int argc, char **argv)
{
    int p = argc > 1 ? atoi(argv[1]) : 2, self = 0;
    if (p < 1 || p > MAX_THREADS)
        return 2;
    thread[0] = pthread_self();
    for (int t = 1; t < p; t++)
        pthread_create(&thread[t], NULL, body, NULL);
    body(NULL);
#ifdef NO_SELF_JOIN
    for (int t = p - 1; t >= 1; t--)
        pthread_join(thread[t], NULL);
    self = EDEADLK;
#else
    for (int t = p - 1; t >= 0; t--)
        self = pthread_join(thread[t], NULL);
#endif
    int good = sum == p * (p + 1) / 2 && self == EDEADLK;
    printf("%s threads=%d\n", good ? "ok" : "FAILED", p);
    return !good;
}
