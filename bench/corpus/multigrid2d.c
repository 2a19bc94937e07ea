/* multigrid2d: relaxation on a pyramid of grids; floating point decides the next barrier.
 *
 * Skeleton:  main is a worker. Every round: error reset by thread 0, barrier, red cells,
 *            barrier, black cells, error merged under a lock, barrier, read, barrier; then
 *            all threads go down a level, up a level, or end.
 * Governs:   P, the size and a comparison of values computed by all threads: the same value
 *            in every thread, but not a function of the inputs that anybody would solve.
 * Teaches:   a late decision on a double read from shared memory; early exit when the work
 *            limit is reached. -DFIXED_POINT: the same with 64-bit integers.
 *
 * Usage: multigrid2d P LEVELS TOLERANCE_EXPONENT       grids of 2^k+1 points, k <= LEVELS
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 32
#define MAX_LEVELS 7
#define WORK_LIMIT 4000

#ifdef FIXED_POINT
typedef long value; /* units of 2^-20 */
#define ONE (1L << 20)
#define MUL(a, num, den) ((a) * (num) / (den))
#else
typedef double value;
#define ONE 1.0
#define MUL(a, num, den) ((a) * (num) / (den))
#endif

static pthread_barrier_t phase;
static pthread_mutex_t id_lock = PTHREAD_MUTEX_INITIALIZER, error_lock = PTHREAD_MUTEX_INITIALIZER;
static int nthreads, next_id, levels;
static value *grid[MAX_LEVELS + 1], *force[MAX_LEVELS + 1];
static value tolerance[MAX_LEVELS + 1];
static value error;
static int rounds_done;

static int size_of(int level)
{
    return (1 << level) + 1;
}

static value magnitude(value v)
{
    return v < 0 ? -v : v;
}

/* Relaxes the cells of one colour in this thread's rows; returns the largest change. */
static value relax(int level, int colour, int id)
{
    int n = size_of(level);
    value *g = grid[level], *f = force[level], worst = 0;
    for (int i = 1 + id; i < n - 1; i += nthreads)
        for (int j = 1 + (i + colour) % 2; j < n - 1; j += 2) {
            value sum = g[(i - 1) * n + j] + g[(i + 1) * n + j] + g[i * n + j - 1] + g[i * n + j + 1] - f[i * n + j];
            value change = MUL(sum, 1, 4) - g[i * n + j];
            g[i * n + j] += change;
            if (magnitude(change) > worst)
                worst = magnitude(change);
        }
    return worst;
}

static void restrict_down(int level, int id)
{
    int n = size_of(level), m = size_of(level - 1);
    for (int i = 1 + id; i < m - 1; i += nthreads)
        for (int j = 1; j < m - 1; j++) {
            grid[level - 1][i * m + j] = grid[level][2 * i * n + 2 * j];
            force[level - 1][i * m + j] = force[level][2 * i * n + 2 * j] * 4;
        }
}

static void interpolate_up(int level, int id)
{
    int n = size_of(level), m = size_of(level + 1);
    for (int i = 1 + id; i < m - 1; i += nthreads)
        for (int j = 1; j < m - 1; j++) {
            value a = grid[level][i / 2 * n + j / 2], b = grid[level][(i + 1) / 2 * n + (j + 1) / 2];
            grid[level + 1][i * m + j] = MUL(a + b, 1, 2);
        }
}

static value one_round(int level, int id)
{
    if (id == 0)
        error = 0;
    pthread_barrier_wait(&phase);
    value mine = relax(level, 0, id);
    pthread_barrier_wait(&phase);
    value black = relax(level, 1, id);
    if (black > mine)
        mine = black;
    pthread_mutex_lock(&error_lock);
    if (mine > error)
        error = mine;
    pthread_mutex_unlock(&error_lock);
    pthread_barrier_wait(&phase);
    value all = error;
    pthread_barrier_wait(&phase);
    return all;
}

static void solve(int id)
{
    int level = levels, work = 0;
    value previous = ONE * 1000, limit[MAX_LEVELS + 1];
    for (int l = 0; l <= levels; l++)
        limit[l] = tolerance[l];
    for (;;) {
        value e = one_round(level, id);
        work++;
        if (e >= limit[level]) {
            if (work > WORK_LIMIT) {
                if (id == 0)
                    printf("FAILED: no convergence\n");
                exit(1);
            }
            if (e >= MUL(previous, 6, 10) && level > 1) {
                restrict_down(level, id);
                pthread_barrier_wait(&phase);
                level--;
                limit[level] = MUL(e, 3, 10);
                previous = ONE * 1000;
            } else {
                previous = e;
            }
        } else if (level == levels) {
            break;
        } else {
            interpolate_up(level, id);
            pthread_barrier_wait(&phase);
            level++;
            previous = ONE * 1000;
            limit[level] = tolerance[level] * (1 + work / 64); /* never ping-pong for ever */
        }
    }
    if (id == 0)
        rounds_done = work;
}

static void *slave(void *unused)
{
    pthread_mutex_lock(&id_lock);
    int id = next_id++;
    pthread_mutex_unlock(&id_lock);
    pthread_barrier_wait(&phase);
    solve(id);
    pthread_barrier_wait(&phase);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    if (argc < 4)
        return 2;
    nthreads = atoi(argv[1]);
    levels = atoi(argv[2]);
    int exponent = atoi(argv[3]);
    if (nthreads < 1 || nthreads > MAX_THREADS || levels < 1 || levels > MAX_LEVELS || exponent < 1 || exponent > 12)
        return 2;
    for (int l = 0; l <= levels; l++) {
        size_t cells = (size_t)size_of(l) * (size_t)size_of(l);
        grid[l] = calloc(cells, sizeof(value));
        force[l] = calloc(cells, sizeof(value));
        if (!grid[l] || !force[l])
            return 2;
        tolerance[l] = MUL(ONE, 1, (value)(1 << exponent));
    }
    int n = size_of(levels);
    for (int i = 0; i < n; i++) { /* a warm upper edge, a source in the middle */
        grid[levels][i] = ONE;
        force[levels][n / 2 * n + i] = MUL(ONE, -1, n);
    }
    for (int l = 0; l < levels; l++)
        for (int i = 0; i < size_of(l); i++)
            grid[l][i] = ONE;
    pthread_barrier_init(&phase, NULL, (unsigned)nthreads);
    for (int t = 1; t < nthreads; t++)
        pthread_create(&thread[t], NULL, slave, NULL);
    slave(NULL);
    for (int t = 1; t < nthreads; t++)
        pthread_join(thread[t], NULL);

    int bad = rounds_done < 1; /* the maximum principle: nothing leaves the range of edge and source */
    for (int i = 0; i < n * n; i++)
        bad += grid[levels][i] < -ONE * 4 || grid[levels][i] > ONE * 4;
    printf("%s rounds=%d middle=%.4f\n", bad ? "FAILED" : "ok", rounds_done, (double)grid[levels][n / 2 * n + n / 2] / (double)ONE);
    return bad != 0;
}
