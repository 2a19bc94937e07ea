/* watersum: pairwise forces into an array of locks, and locked global sums.
 *
 * Skeleton:  P workers; per step: clear own, barrier, for each own pair lock(i mod K), add,
 *            unlock, lock(j mod K), add, unlock; barrier; move own; lock sum, add, unlock;
 *            barrier.
 * Governs:   P, steps, molecules.
 * Teaches:   locks by index in a loop whose bound is input; reductions under a lock.
 *
 * Usage: watersum P MOLECULES STEPS
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 32
#define LOCKS 32

static pthread_mutex_t molecule_lock[LOCKS], sum_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t phase;
static int nthreads, nmolecules, nsteps;
static long *x, *v, *force, energy;

static void add_force(int i, long f)
{
    pthread_mutex_lock(&molecule_lock[i % LOCKS]);
    force[i] += f;
    pthread_mutex_unlock(&molecule_lock[i % LOCKS]);
}

static void *worker(void *arg)
{
    int id = *(int *)arg;
    int lo = id * nmolecules / nthreads, hi = (id + 1) * nmolecules / nthreads;
    for (int s = 0; s < nsteps; s++) {
        for (int i = lo; i < hi; i++)
            force[i] = 0;
        pthread_barrier_wait(&phase);
        for (int i = lo; i < hi; i++)
            for (int j = i + 1; j < nmolecules; j++) {
                long f = (x[j] - x[i]) / 64;
                add_force(i, f);
                add_force(j, -f);
            }
        pthread_barrier_wait(&phase);
        long mine = 0;
        for (int i = lo; i < hi; i++) {
            v[i] += force[i] / 16;
            x[i] += v[i] / 16;
            mine += v[i] / 1024 * (v[i] / 1024);
        }
        pthread_mutex_lock(&sum_lock);
        energy += mine;
        pthread_mutex_unlock(&sum_lock);
        pthread_barrier_wait(&phase);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int id[MAX_THREADS];
    if (argc < 4)
        return 2;
    nthreads = atoi(argv[1]);
    nmolecules = atoi(argv[2]);
    nsteps = atoi(argv[3]);
    if (nthreads < 1 || nthreads > MAX_THREADS || nmolecules < 1 || nsteps < 0)
        return 2;
    x = calloc((size_t)nmolecules, sizeof *x);
    v = calloc((size_t)nmolecules, sizeof *v);
    force = calloc((size_t)nmolecules, sizeof *force);
    if (!x || !v || !force)
        return 2;
    for (int i = 0; i < nmolecules; i++)
        x[i] = (long)((unsigned)i * 2654435761u >> 16);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&molecule_lock[i], NULL);
    pthread_barrier_init(&phase, NULL, (unsigned)nthreads);
    for (int t = 0; t < nthreads; t++) {
        id[t] = t;
        pthread_create(&thread[t], NULL, worker, &id[t]);
    }
    for (int t = 0; t < nthreads; t++)
        pthread_join(thread[t], NULL);
    long momentum = 0; /* forces cancel pairwise; only rounding of the division remains */
    for (int i = 0; i < nmolecules; i++)
        momentum += force[i];
    printf("%s molecules=%d energy=%ld\n", momentum == 0 ? "ok" : "FAILED", nmolecules, energy);
    return momentum != 0;
}
