/* taskqueue: a task queue per thread; finishing a task makes others ready (Cholesky-like).
 *
 * Skeleton:  columns of a triangular system; column j depends on all i < j with (i + j) even.
 *            A finished column counts down its dependants; who reaches zero is appended to
 *            the queue of its owner (lock, append, signal). Each thread takes from its own
 *            queue until it has done all of its columns.
 * Governs:   P and the matrix structure (N).
 * Teaches:   work whose order depends on other threads' progress; signal to one owner;
 *            counters under a lock per column chosen by index mod K.
 *
 * Usage: taskqueue P N
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 32
#define MAX_COLUMNS 256
#define LOCKS 4

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t more;
    int item[MAX_COLUMNS];
    int count, taken;
};

static struct queue queue[MAX_THREADS];
static pthread_mutex_t column_lock[LOCKS];
static int nthreads, ncolumns;
static int missing[MAX_COLUMNS];
static long value[MAX_COLUMNS];

static int depends(int j, int i)
{
    return i < j && (i + j) % 2 == 0;
}

static void append(int column)
{
    struct queue *q = &queue[column % nthreads];
    pthread_mutex_lock(&q->lock);
    q->item[q->count++] = column;
    pthread_cond_signal(&q->more);
    pthread_mutex_unlock(&q->lock);
}

static int take(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (q->taken == q->count)
        pthread_cond_wait(&q->more, &q->lock);
    int column = q->item[q->taken++];
    pthread_mutex_unlock(&q->lock);
    return column;
}

static void finish(int column)
{
    for (int j = column + 1; j < ncolumns; j++) {
        if (!depends(j, column))
            continue;
        pthread_mutex_lock(&column_lock[j % LOCKS]);
        value[j] += value[column] % 1000 + 1;
        int left = --missing[j];
        pthread_mutex_unlock(&column_lock[j % LOCKS]);
        if (left == 0)
            append(j);
    }
}

static void *worker(void *arg)
{
    int id = *(int *)arg;
    for (int mine = id; mine < ncolumns; mine += nthreads)
        finish(take(&queue[id]));
    return NULL;
}

static long expected(void)
{
    long want[MAX_COLUMNS] = {0}, sum = 0;
    for (int j = 0; j < ncolumns; j++) {
        for (int i = 0; i < j; i++)
            if (depends(j, i))
                want[j] += want[i] % 1000 + 1;
        sum += want[j];
    }
    return sum;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int id[MAX_THREADS];
    long sum = 0;
    if (argc < 3)
        return 2;
    nthreads = atoi(argv[1]);
    ncolumns = atoi(argv[2]);
    if (nthreads < 1 || nthreads > MAX_THREADS || ncolumns < 0 || ncolumns > MAX_COLUMNS)
        return 2;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&column_lock[i], NULL);
    for (int t = 0; t < nthreads; t++) {
        pthread_mutex_init(&queue[t].lock, NULL);
        pthread_cond_init(&queue[t].more, NULL);
    }
    for (int j = 0; j < ncolumns; j++) {
        for (int i = 0; i < j; i++)
            missing[j] += depends(j, i);
        if (missing[j] == 0)
            append(j);
    }
    for (int t = 0; t < nthreads; t++) {
        id[t] = t;
        pthread_create(&thread[t], NULL, worker, &id[t]);
    }
    for (int t = 0; t < nthreads; t++)
        pthread_join(thread[t], NULL);
    for (int j = 0; j < ncolumns; j++)
        sum += value[j];
    printf("%s columns=%d sum=%ld\n", sum == expected() ? "ok" : "FAILED", ncolumns, sum);
    return sum != expected();
}
