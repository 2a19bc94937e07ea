/* kcenter: facility location over a stream of chunks; threads are made anew for each chunk.
 *
 * Skeleton:  per chunk: create P threads, join P. A thread: barrier; cost sums; barrier; then
 *            thread 0 opens centres one by one: lock, open = 1, unlock, broadcast (after the
 *            unlock); the others wait for it; all update; barrier; open = 0; barrier. Then local
 *            search until the gain is small: two barriers a round.
 * Governs:   P, chunks, and comparisons of sums for every round.
 * Teaches:   threads made in a loop; wake-up of a group in a round; floating-point loops over
 *            barriers. -DRACY: partial sums are read before the barrier that publishes them
 *            (tools that join clocks at barriers often miss it), and threads count themselves
 *            without a lock (no tool misses that).
 *
 * Usage: kcenter P POINTS CHUNK
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 32

static pthread_barrier_t phase;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
#ifdef RACY
static int started;
#endif
static int nthreads, chunk_points, is_open, finished;
static double *x, partial[MAX_THREADS], total;
static int *assigned; /* the centre of each point of the chunk */
static int candidate, rounds, centres;

static double distance(int a, int b)
{
    double d = x[a] - x[b];
    return d * d;
}

static double own_cost(int lo, int hi)
{
    double sum = 0;
    for (int i = lo; i < hi; i++)
        sum += distance(i, assigned[i]);
    return sum;
}

static void take_nearer(int lo, int hi, int centre)
{
    for (int i = lo; i < hi; i++)
        if (distance(i, centre) < distance(i, assigned[i]))
            assigned[i] = centre;
}

/* All threads: the sum of the partial costs, computed by thread 0. */
static double reduce(int id, double mine)
{
    partial[id] = mine;
#ifndef RACY
    pthread_barrier_wait(&phase);
#endif
    if (id == 0) {
        total = 0;
        for (int t = 0; t < nthreads; t++)
            total += partial[t];
    }
    pthread_barrier_wait(&phase);
    double all = total;
    pthread_barrier_wait(&phase);
    return all;
}

static void open_centres(int id, int lo, int hi)
{
    if (id == 0) {
        for (int i = 1; i < chunk_points; i++) {
            if (i % 3 != 0)
                continue;
            pthread_mutex_lock(&open_lock);
            candidate = i;
            is_open = 1;
            pthread_mutex_unlock(&open_lock);
            pthread_cond_broadcast(&opened);
            take_nearer(lo, hi, i);
            pthread_barrier_wait(&phase);
            is_open = 0;
            pthread_barrier_wait(&phase);
        }
        pthread_mutex_lock(&open_lock);
        finished = 1;
        is_open = 1;
        pthread_mutex_unlock(&open_lock);
        pthread_cond_broadcast(&opened);
    } else {
        for (;;) {
            pthread_mutex_lock(&open_lock);
            while (!is_open)
                pthread_cond_wait(&opened, &open_lock);
            int leave = finished, centre = candidate;
            pthread_mutex_unlock(&open_lock);
            if (leave)
                break;
            take_nearer(lo, hi, centre);
            pthread_barrier_wait(&phase);
            pthread_barrier_wait(&phase);
        }
    }
}

static void local_search(int id, int lo, int hi, double cost)
{
    for (int round = 0; round < 50; round++) {
        int centre = (round * 7 + 2) % chunk_points;
        double gain = 0;
        for (int i = lo; i < hi; i++) {
            double better = distance(i, assigned[i]) - distance(i, centre);
            gain += better > 0 ? better : 0;
        }
        gain = reduce(id, gain) - 0.01;
        if (gain > 0)
            take_nearer(lo, hi, centre);
        if (id == 0)
            rounds++;
        if (gain <= cost * 0.01)
            break;
        cost -= gain;
    }
}

static void *search(void *arg)
{
    int id = *(int *)arg;
    int lo = id * chunk_points / nthreads, hi = (id + 1) * chunk_points / nthreads;
#ifdef RACY
    started++;
#endif
    pthread_barrier_wait(&phase);
    for (int i = lo; i < hi; i++)
        assigned[i] = 0;
    reduce(id, own_cost(lo, hi));
    open_centres(id, lo, hi);
    pthread_barrier_wait(&phase);
    local_search(id, lo, hi, reduce(id, own_cost(lo, hi)));
    return NULL;
}

static int verify(void)
{
    int bad = 0;
    for (int i = 0; i < chunk_points; i++) {
        bad += assigned[i] < 0 || assigned[i] >= chunk_points;
        bad += distance(i, assigned[i]) > distance(i, 0);
        centres += assigned[i] == i;
    }
    return bad;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int id[MAX_THREADS], bad = 0, chunks = 0;
    if (argc < 4)
        return 2;
    nthreads = atoi(argv[1]);
    int points = atoi(argv[2]), chunk = atoi(argv[3]);
    if (nthreads < 1 || nthreads > MAX_THREADS || points < 0 || chunk < 1)
        return 2;
    x = calloc((size_t)chunk, sizeof *x);
    assigned = calloc((size_t)chunk, sizeof *assigned);
    if (!x || !assigned)
        return 2;
    unsigned seed = 11;
    pthread_barrier_init(&phase, NULL, (unsigned)nthreads);
    for (int done = 0; done < points; done += chunk) {
        chunk_points = points - done < chunk ? points - done : chunk;
        is_open = finished = 0;
        for (int i = 0; i < chunk_points; i++) {
            seed = seed * 1664525u + 1013904223u;
            x[i] = (double)(seed >> 16) / 4096;
        }
        for (int t = 0; t < nthreads; t++) {
            id[t] = t;
            pthread_create(&thread[t], NULL, search, &id[t]);
        }
        for (int t = 0; t < nthreads; t++)
            pthread_join(thread[t], NULL);
        bad += verify();
        chunks++;
    }
    printf("%s chunks=%d rounds=%d centres=%d\n", bad ? "FAILED" : "ok", chunks, rounds, centres);
    return bad != 0;
}
