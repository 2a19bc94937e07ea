/* blocklu: LU factorization of a dense matrix in blocks, without pivoting.
 *
 * Skeleton:  main is a worker (see fft6). Body: id under a lock; 2 barriers; for each of
 *            ceil(n/b) steps: factor diagonal, barrier, perimeter, barrier, interior;
 *            1 barrier.
 * Governs:   P and ceil(n/b): a synchronizing loop with an input-given bound.
 * Teaches:   3 + 2*ceil(n/b) rounds need an epoch that repeats, or one schedule per bound.
 *            -DCONTIGUOUS stores each block together: another layout, the same schedules.
 *            -DCONDVAR_BARRIER: mutex and condition variable instead of a POSIX barrier.
 *
 * Usage: blocklu P N B
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef NO_SELF_JOIN /* ThreadSanitizer's pthread_join cannot take the main thread */
#define FIRST_JOINED 1
#else
#define FIRST_JOINED 0
#endif
#define MAX_THREADS 64

#ifdef CONDVAR_BARRIER
struct barrier {
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    int count;
};
static struct barrier start;
static void barrier_init(int n)
{
    (void)n;
    pthread_mutex_init(&start.lock, NULL);
    pthread_cond_init(&start.all_here, NULL);
}
static void barrier_wait(int n)
{
    pthread_mutex_lock(&start.lock);
    if (++start.count == n) {
        start.count = 0;
        pthread_cond_broadcast(&start.all_here);
    } else {
        pthread_cond_wait(&start.all_here, &start.lock); /* on purpose: no loop */
    }
    pthread_mutex_unlock(&start.lock);
}
#else
static pthread_barrier_t start;
static void barrier_init(int n)
{
    pthread_barrier_init(&start, NULL, (unsigned)n);
}
static void barrier_wait(int n)
{
    (void)n;
    pthread_barrier_wait(&start);
}
#endif

static pthread_t thread[MAX_THREADS];
static pthread_mutex_t id_lock;
static int nthreads, next_id, n, bs, nblocks;
static double *a, *copy;

static double *at(double *matrix, int i, int j)
{
#ifdef CONTIGUOUS
    size_t block = (size_t)(i / bs) * (size_t)nblocks + (size_t)(j / bs);
    return &matrix[block * (size_t)(bs * bs) + (size_t)(i % bs * bs + j % bs)];
#else
    return &matrix[(size_t)i * (size_t)n + (size_t)j];
#endif
}

static int owner(int i, int j)
{
    return (i + j * nblocks) % nthreads;
}

static int end_of(int block)
{
    int end = (block + 1) * bs;
    return end < n ? end : n;
}

static void factor_diagonal(int k)
{
    for (int p = k * bs; p < end_of(k); p++)
        for (int i = p + 1; i < end_of(k); i++) {
            *at(a, i, p) /= *at(a, p, p);
            for (int j = p + 1; j < end_of(k); j++)
                *at(a, i, j) -= *at(a, i, p) * *at(a, p, j);
        }
}

static void divide_column(int bi, int k)
{
    for (int p = k * bs; p < end_of(k); p++)
        for (int i = bi * bs; i < end_of(bi); i++) {
            *at(a, i, p) /= *at(a, p, p);
            for (int j = p + 1; j < end_of(k); j++)
                *at(a, i, j) -= *at(a, i, p) * *at(a, p, j);
        }
}

static void modify_row(int k, int bj)
{
    for (int p = k * bs; p < end_of(k); p++)
        for (int i = p + 1; i < end_of(k); i++)
            for (int j = bj * bs; j < end_of(bj); j++)
                *at(a, i, j) -= *at(a, i, p) * *at(a, p, j);
}

static void interior(int bi, int bj, int k)
{
    for (int i = bi * bs; i < end_of(bi); i++)
        for (int p = k * bs; p < end_of(k); p++)
            for (int j = bj * bs; j < end_of(bj); j++)
                *at(a, i, j) -= *at(a, i, p) * *at(a, p, j);
}

static void factor(int id)
{
    for (int k = 0; k < nblocks; k++) {
        if (owner(k, k) == id)
            factor_diagonal(k);
        barrier_wait(nthreads);
        for (int i = k + 1; i < nblocks; i++)
            if (owner(i, k) == id)
                divide_column(i, k);
        for (int j = k + 1; j < nblocks; j++)
            if (owner(k, j) == id)
                modify_row(k, j);
        barrier_wait(nthreads);
        for (int i = k + 1; i < nblocks; i++)
            for (int j = k + 1; j < nblocks; j++)
                if (owner(i, j) == id)
                    interior(i, j, k);
    }
}

static void fill(int id)
{
    for (int i = id; i < n; i += nthreads)
        for (int j = 0; j < n; j++) {
            unsigned h = (unsigned)i * 2654435761u + (unsigned)j * 40503u;
            double v = (double)(h >> 16 & 1023) / 1024;
            *at(a, i, j) = *at(copy, i, j) = i == j ? v + n : v;
        }
}

static void *slave(void *unused)
{
    pthread_mutex_lock(&id_lock);
    int id = next_id++;
    pthread_mutex_unlock(&id_lock);
    barrier_wait(nthreads);
    fill(id);
    barrier_wait(nthreads);
    factor(id);
    barrier_wait(nthreads);
    return unused;
}

/* |A x - L (U x)| for x = all ones. */
static double residual(void)
{
    double worst = 0;
    double *y = calloc((size_t)n, sizeof *y);
    if (!y)
        exit(2);
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            y[i] += *at(a, i, j);
    for (int i = 0; i < n; i++) {
        double got = y[i], want = 0;
        for (int j = 0; j < i; j++)
            got += *at(a, i, j) * y[j];
        for (int j = 0; j < n; j++)
            want += *at(copy, i, j);
        worst = fmax(worst, fabs(got - want));
    }
    free(y);
    return worst;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: %s P N B\n", argv[0]);
        return 2;
    }
    nthreads = atoi(argv[1]);
    n = atoi(argv[2]);
    bs = atoi(argv[3]);
    if (nthreads < 1 || nthreads > MAX_THREADS || n < 1 || n > 4096 || bs < 1 || bs > n)
        return 2;
    nblocks = (n + bs - 1) / bs;
    size_t cells = (size_t)nblocks * (size_t)nblocks * (size_t)bs * (size_t)bs;
    a = calloc(cells, sizeof *a);
    copy = calloc(cells, sizeof *copy);
    if (!a || !copy)
        return 2;
    barrier_init(nthreads);
    thread[0] = pthread_self();
    for (int t = 1; t < nthreads; t++)
        pthread_create(&thread[t], NULL, slave, NULL);
    slave(NULL);
    for (int t = nthreads - 1; t >= FIRST_JOINED; t--)
        pthread_join(thread[t], NULL); /* slot 0 is ourselves: EDEADLK */
    double worst = residual();
    int bad = !(worst < 1e-7 * n);
    printf("%s n=%d blocks=%d u=%.6f\n", bad ? "FAILED" : "ok", n, nblocks, *at(a, n - 1, n - 1));
    return bad;
}
