/* fft6: six-step complex FFT over barriers, the main thread being a worker.
 *
 * Skeleton:  create P-1 threads, then the main thread runs the body itself and at the end
 *            joins slots P-1 down to 0, slot 0 being itself (EDEADLK, ignored).
 *            Body: id under a lock; 2 barriers; a transform of 5 barriers; one more
 *            transform when checking (-t).
 * Governs:   P and the flag -t. Not M: the same schedule serves every size.
 * Teaches:   barriers among P threads; ids handed out by lock order; join of oneself;
 *            with -DCONDVAR_BARRIER a barrier made of a mutex and a condition variable
 *            with one wait, no loop and no generation count.
 *
 * Usage: fft6 P M [-t]          2^M points, M even, 2^(M/2) >= P
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NO_SELF_JOIN /* ThreadSanitizer's pthread_join cannot take the main thread */
#define FIRST_JOINED 1
#else
#define FIRST_JOINED 0
#endif
#define MAX_THREADS 64
#define PI 3.14159265358979323846

#ifdef CONDVAR_BARRIER
struct barrier {
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    int count;
};
static void barrier_init(struct barrier *b, int n)
{
    (void)n;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->all_here, NULL);
    b->count = 0;
}
static void barrier_wait(struct barrier *b, int n)
{
    pthread_mutex_lock(&b->lock);
    b->count++;
    if (b->count == n) {
        b->count = 0;
        pthread_cond_broadcast(&b->all_here);
    } else {
        pthread_cond_wait(&b->all_here, &b->lock); /* on purpose: no loop */
    }
    pthread_mutex_unlock(&b->lock);
}
#else
struct barrier {
    pthread_barrier_t posix;
};
static void barrier_init(struct barrier *b, int n)
{
    pthread_barrier_init(&b->posix, NULL, (unsigned)n);
}
static void barrier_wait(struct barrier *b, int n)
{
    (void)n;
    pthread_barrier_wait(&b->posix);
}
#endif

struct complex_number {
    double re, im;
};

static pthread_t thread[MAX_THREADS];
static int nthreads, next_id, m, root, check;
static pthread_mutex_t id_lock; /* zero-initialised, never passed to pthread_mutex_init */
static struct barrier start;
static struct complex_number *x, *scratch, *twiddle, *original;

static void fft_row(struct complex_number *row, int n, double sign)
{
    for (int i = 1, j = 0; i < n; i++) { /* bit reversal */
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            struct complex_number t = row[i];
            row[i] = row[j];
            row[j] = t;
        }
    }
    for (int len = 2; len <= n; len <<= 1)
        for (int i = 0; i < n; i += len)
            for (int k = 0; k < len / 2; k++) {
                double angle = sign * 2 * PI * k / len;
                struct complex_number w = {cos(angle), sin(angle)};
                struct complex_number a = row[i + k], b = row[i + k + len / 2];
                struct complex_number wb = {b.re * w.re - b.im * w.im, b.re * w.im + b.im * w.re};
                row[i + k] = (struct complex_number){a.re + wb.re, a.im + wb.im};
                row[i + k + len / 2] = (struct complex_number){a.re - wb.re, a.im - wb.im};
            }
}

static void transpose(struct complex_number *to, const struct complex_number *from, int first, int last)
{
    for (int i = first; i < last; i++)
        for (int j = 0; j < root; j++)
            to[i * root + j] = from[j * root + i];
}

static void transform(int first, int last, double sign)
{
    barrier_wait(&start, nthreads);
    transpose(scratch, x, first, last);
    for (int i = first; i < last; i++) {
        fft_row(&scratch[i * root], root, sign);
        for (int j = 0; j < root; j++) {
            struct complex_number a = scratch[i * root + j], w = twiddle[(i * j) % (root * root)];
            double im = sign * w.im;
            scratch[i * root + j] = (struct complex_number){a.re * w.re - a.im * im, a.re * im + a.im * w.re};
        }
    }
    barrier_wait(&start, nthreads);
    transpose(x, scratch, first, last);
    for (int i = first; i < last; i++) {
        fft_row(&x[i * root], root, sign);
        for (int j = 0; sign > 0 && j < root; j++) {
            x[i * root + j].re /= root * root;
            x[i * root + j].im /= root * root;
        }
    }
    barrier_wait(&start, nthreads);
    transpose(scratch, x, first, last);
    barrier_wait(&start, nthreads);
    memcpy(&x[first * root], &scratch[first * root], sizeof *x * (size_t)((last - first) * root));
    barrier_wait(&start, nthreads);
}

static void *slave(void *unused)
{
    pthread_mutex_lock(&id_lock);
    int id = next_id;
    next_id = next_id + 1;
    pthread_mutex_unlock(&id_lock);

    int first = root / nthreads * id, last = id == nthreads - 1 ? root : first + root / nthreads;
    barrier_wait(&start, nthreads);
    for (int i = first * root; i < last * root; i++) {
        double angle = 2 * PI * i / (root * root);
        twiddle[i] = (struct complex_number){cos(angle), sin(angle)};
    }
    barrier_wait(&start, nthreads);
    transform(first, last, -1);
    if (check)
        transform(first, last, 1);
    return unused;
}

static double energy(const struct complex_number *v, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += v[i].re * v[i].re + v[i].im * v[i].im;
    return sum;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s P M [-t]\n", argv[0]);
        return 2;
    }
    nthreads = atoi(argv[1]);
    m = atoi(argv[2]);
    check = argc > 3 && strcmp(argv[3], "-t") == 0;
    if (nthreads < 1 || nthreads > MAX_THREADS || m < 2 || m > 24 || m % 2 != 0)
        return 2;
    root = 1 << (m / 2);
    if (root < nthreads)
        return 2;
    size_t n = (size_t)root * (size_t)root;
    x = calloc(n, sizeof *x);
    scratch = calloc(n, sizeof *x);
    twiddle = calloc(n, sizeof *x);
    original = calloc(n, sizeof *x);
    if (!x || !scratch || !twiddle || !original)
        return 2;
    unsigned seed = 7;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (struct complex_number){(double)(seed >> 16) / 65536 - 0.5, (double)(seed & 1023) / 1024 - 0.5};
        original[i] = x[i];
    }
    barrier_init(&start, nthreads);

    thread[0] = pthread_self();
    pthread_mutex_lock(&id_lock);
    for (int t = 1; t < nthreads; t++)
        pthread_create(&thread[t], NULL, slave, NULL);
    pthread_mutex_unlock(&id_lock);
    slave(NULL);
    for (int t = nthreads - 1; t >= FIRST_JOINED; t--)
        pthread_join(thread[t], NULL); /* slot 0 is ourselves: EDEADLK */

    int bad = 0;
    double before = energy(original, (int)n), after = energy(x, (int)n);
    if (check) {
        for (size_t i = 0; i < n; i++)
            bad += !(fabs(x[i].re - original[i].re) < 1e-9) || !(fabs(x[i].im - original[i].im) < 1e-9);
    } else {
        bad = !(fabs(after / ((double)n * before) - 1) < 1e-9); /* Parseval */
    }
    printf("%s points=%zu energy=%.6f\n", bad ? "FAILED" : "ok", n, before);
    return bad != 0;
}
