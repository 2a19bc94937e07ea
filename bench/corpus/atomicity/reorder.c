/* reorder: a pair of plain variables, written in one order and read in the other.
 *
 * Skeleton:  P writers set a then b; P readers look at b, then at a.
 * Governs:   P.
 * Teaches:   a data race whose bad outcome needs reordering or an unlucky moment.
 *            -DFIXED: both sides under one lock.
 *
 * Usage: reorder P
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 8

#ifdef FIXED
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define LOCK() pthread_mutex_lock(&lock)
#define UNLOCK() pthread_mutex_unlock(&lock)
#else
#define LOCK() ((void)0)
#define UNLOCK() ((void)0)
#endif

static int a, b;
static int bad[MAX_THREADS];

static void *writer(void *unused)
{
    LOCK();
    a = 1;
    b = -1;
    UNLOCK();
    return unused;
}

static void *reader(void *arg)
{
    LOCK();
    int seen_b = b, seen_a = a;
    UNLOCK();
    *(int *)arg = seen_b == -1 && seen_a != 1;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t w[MAX_THREADS], r[MAX_THREADS];
    int p = argc > 1 ? atoi(argv[1]) : 1, sum = 0;
    if (p < 1 || p > MAX_THREADS)
        return 2;
    for (int t = 0; t < p; t++) {
        pthread_create(&w[t], NULL, writer, NULL);
        pthread_create(&r[t], NULL, reader, &bad[t]);
    }
    for (int t = 0; t < p; t++) {
        pthread_join(w[t], NULL);
        pthread_join(r[t], NULL);
        sum += bad[t];
    }
    printf("%s\n", sum == 0 ? "ok" : "FAILED");
    return sum != 0;
}
