/* cells: particles in a row of cells; a lock only for cells on a border, behind a double.
 *
 * Skeleton:  P workers own blocks of cells. Per frame: barrier; rebuild (border cell: lock,
 *            insert, unlock); barrier; densities: for near pairs, when closer than h, add to
 *            both (lock when the cell is on a border); barrier; move; barrier.
 * Governs:   P, frames, and comparisons of doubles for every lock.
 * Teaches:   locks that are optional for two reasons at once; sections that commute.
 *
 * Usage: cells P CELLS PARTICLES FRAMES
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 32
#define MAX_CELLS 1024
#define ROOM 64

struct cell {
    pthread_mutex_t lock;
    int count, border; /* border: the first or last cell of a thread's block */
    int member[ROOM];
    int old_count, old_member[ROOM];
};

static struct cell cell[MAX_CELLS];
static pthread_barrier_t phase;
static int nthreads, ncells, nparticles, frames;
static double *position, *velocity;
static long *density; /* in units of 2^-16: integer sums do not depend on the order */

static int cell_of(double x)
{
    int c = (int)floor(x);
    return c < 0 ? 0 : c >= ncells ? ncells - 1 : c;
}

static void insert(int particle)
{
    struct cell *c = &cell[cell_of(position[particle])];
    if (c->border) {
        pthread_mutex_lock(&c->lock);
        c->member[c->count++] = particle;
        pthread_mutex_unlock(&c->lock);
    } else {
        c->member[c->count++] = particle;
    }
}

static void retire(struct cell *c)
{
    for (int m = 0; m < c->count; m++)
        c->old_member[m] = c->member[m];
    c->old_count = c->count;
    c->count = 0;
}

/* A particle moves by less than a cell a frame, so only neighbours insert into a cell. */
static void rebuild(int first, int last)
{
    for (int c = first; c < last; c++)
        for (int m = 0; m < cell[c].old_count; m++) {
            density[cell[c].old_member[m]] = 0;
            insert(cell[c].old_member[m]);
        }
}

static void add_density(struct cell *c, int particle, long amount)
{
    if (c->border) {
        pthread_mutex_lock(&c->lock);
        density[particle] += amount;
        pthread_mutex_unlock(&c->lock);
    } else {
        density[particle] += amount;
    }
}

static void pair(struct cell *a, struct cell *b, int i, int j)
{
    double d = position[i] - position[j], h = 0.6;
    if (d * d < h * h) {
        long amount = (long)((h * h - d * d) * 65536);
        add_density(a, i, amount);
        add_density(b, j, amount);
    }
}

static void densities(int first, int last)
{
    for (int c = first; c < last; c++)
        for (int m = 0; m < cell[c].count; m++) {
            for (int k = m + 1; k < cell[c].count; k++)
                pair(&cell[c], &cell[c], cell[c].member[m], cell[c].member[k]);
            for (int k = 0; c + 1 < ncells && k < cell[c + 1].count; k++)
                pair(&cell[c], &cell[c + 1], cell[c].member[m], cell[c + 1].member[k]);
        }
}

static void move(int first, int last)
{
    for (int c = first; c < last; c++)
        for (int m = 0; m < cell[c].count; m++) {
            int p = cell[c].member[m];
            position[p] += velocity[p] * 0.05;
            if (position[p] < 0 || position[p] >= ncells) {
                velocity[p] = -velocity[p];
                position[p] += velocity[p] * 0.1;
            }
        }
}

static void *worker(void *arg)
{
    int t = *(int *)arg;
    int first = t * ncells / nthreads, last = (t + 1) * ncells / nthreads;
    for (int f = 0; f < frames; f++) {
        for (int c = first; c < last; c++)
            retire(&cell[c]);
        pthread_barrier_wait(&phase);
        rebuild(first, last);
        pthread_barrier_wait(&phase);
        densities(first, last);
        pthread_barrier_wait(&phase);
        move(first, last);
        pthread_barrier_wait(&phase);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int id[MAX_THREADS];
    if (argc < 5)
        return 2;
    nthreads = atoi(argv[1]);
    ncells = atoi(argv[2]);
    nparticles = atoi(argv[3]);
    frames = atoi(argv[4]);
    if (nthreads < 1 || nthreads > MAX_THREADS || ncells < nthreads || ncells > MAX_CELLS)
        return 2;
    if (nparticles < 0 || nparticles > ncells * 4 || frames < 0)
        return 2;
    position = calloc((size_t)nparticles + 1, sizeof *position);
    velocity = calloc((size_t)nparticles + 1, sizeof *velocity);
    density = calloc((size_t)nparticles + 1, sizeof *density);
    if (!position || !velocity || !density)
        return 2;
    for (int c = 0; c < ncells; c++)
        pthread_mutex_init(&cell[c].lock, NULL);
    for (int t = 0; t < nthreads; t++) {
        cell[t * ncells / nthreads].border = 1;
        cell[(t + 1) * ncells / nthreads - 1].border = 1;
    }
    for (int p = 0; p < nparticles; p++) {
        position[p] = ncells * (p + 0.5) / nparticles;
        velocity[p] = (double)((unsigned)p * 2654435761u >> 22) / 512 - 1;
        struct cell *c = &cell[cell_of(position[p])];
        c->member[c->count++] = p;
    }
    pthread_barrier_init(&phase, NULL, (unsigned)nthreads);
    for (int t = 0; t < nthreads; t++) {
        id[t] = t;
        pthread_create(&thread[t], NULL, worker, &id[t]);
    }
    for (int t = 0; t < nthreads; t++)
        pthread_join(thread[t], NULL);
    int members = 0;
    long sum = 0;
    for (int c = 0; c < ncells; c++)
        members += cell[c].count;
    for (int p = 0; p < nparticles; p++)
        sum += density[p];
    int good = members == nparticles && sum >= 0;
    printf("%s particles=%d density=%ld\n", good ? "ok" : "FAILED", members, sum);
    return !good;
}
