/* lazy_init: a table made by whoever needs it first.
 *
 * Skeleton:  P threads call get(); broken: double-checked locking on a plain pointer.
 *            -DFIXED: the test is under the lock too.
 * Governs:   P.
 * Teaches:   the race on the pointer; the fixed twin makes exactly one table.
 *
 * Usage: lazy_init P
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 16

struct table {
    int size, cell[8];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table *table;
static int made, sum[MAX_THREADS];

static struct table *make(void)
{
    struct table *t = calloc(1, sizeof *t);
    if (!t)
        exit(2);
    for (int i = 0; i < 8; i++)
        t->cell[i] = i;
    t->size = 8;
    made++;
    return t;
}

static struct table *get(void)
{
#ifdef FIXED
    pthread_mutex_lock(&lock);
    if (!table)
        table = make();
    struct table *t = table;
    pthread_mutex_unlock(&lock);
    return t;
#else
    if (!table) {
        pthread_mutex_lock(&lock);
        if (!table)
            table = make();
        pthread_mutex_unlock(&lock);
    }
    return table;
#endif
}

static void *worker(void *arg)
{
    struct table *t = get();
    for (int i = 0; i < t->size; i++)
        *(int *)arg += t->cell[i];
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int p = argc > 1 ? atoi(argv[1]) : 2, good = 1;
    if (p < 1 || p > MAX_THREADS)
        return 2;
    for (int t = 0; t < p; t++)
        pthread_create(&thread[t], NULL, worker, &sum[t]);
    for (int t = 0; t < p; t++) {
        pthread_join(thread[t], NULL);
        good &= sum[t] == 28;
    }
    good &= made == 1;
    printf("%s\n", good ? "ok" : "FAILED");
    return !good;
}
