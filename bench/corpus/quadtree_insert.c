/* quadtree_insert: bodies into a shared quadtree; locks by cell number modulo a table.
 *
 * Skeleton:  P workers; each inserts its bodies, walking down from the root and locking
 *            lock[cell mod K] at every step; barrier; masses are summed bottom-up, a cell
 *            waits for each of its children on the child's own condition variable; barrier.
 * Governs:   P and the positions (doubles): the path down the tree.
 * Teaches:   two nodes may share one mutex while each has its own condition variable;
 *            nodes are made while others run; the waits go through locks chosen by hash.
 *
 * Usage: quadtree_insert P BODIES [SEED]
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 32
#define LOCKS 16
#define MAX_DEPTH 24

struct node {
    int number, owner, is_leaf, done;
    double x, y, half; /* centre and half width; a leaf: its body's position */
    double mass;
    struct node *child[4];
    pthread_cond_t summed;
    struct node *next_made; /* by the same thread, newest first */
};

static pthread_mutex_t cell_lock[LOCKS];
static pthread_mutex_t number_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t phase;
static struct node *root;
static int nthreads, nbodies, next_number;
static double *px, *py;
static struct node *made[MAX_THREADS];

static pthread_mutex_t *lock_of(const struct node *n)
{
    return &cell_lock[n->number % LOCKS];
}

static struct node *new_node(int owner, int is_leaf, double x, double y, double half)
{
    struct node *n = calloc(1, sizeof *n);
    if (!n)
        exit(2);
    pthread_mutex_lock(&number_lock);
    n->number = next_number++;
    pthread_mutex_unlock(&number_lock);
    n->owner = owner;
    n->is_leaf = is_leaf;
    n->x = x;
    n->y = y;
    n->half = half;
    n->mass = is_leaf ? 1 : 0;
    pthread_cond_init(&n->summed, NULL);
    n->next_made = made[owner];
    made[owner] = n;
    return n;
}

static int quadrant(const struct node *cell, double x, double y)
{
    return (x >= cell->x) + 2 * (y >= cell->y);
}

static struct node *new_cell_inside(const struct node *cell, int q, int owner)
{
    double half = cell->half / 2;
    return new_node(owner, 0, cell->x + (q & 1 ? half : -half), cell->y + (q & 2 ? half : -half), half);
}

static void insert(int owner, double x, double y)
{
    struct node *cell = root;
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
        int q = quadrant(cell, x, y);
        pthread_mutex_t *lock = lock_of(cell);
        pthread_mutex_lock(lock);
        struct node *slot = cell->child[q];
        if (slot == NULL) {
            cell->child[q] = new_node(owner, 1, x, y, 0);
            pthread_mutex_unlock(lock);
            return;
        }
        if (slot->is_leaf) { /* split it, allocating inside the lock, and go down */
            struct node *split = new_cell_inside(cell, q, owner);
            split->child[quadrant(split, slot->x, slot->y)] = slot;
            cell->child[q] = split;
            slot = split;
        }
        pthread_mutex_unlock(lock);
        cell = slot;
    }
    printf("FAILED: two bodies at one place\n");
    exit(1);
}

/* Own nodes, newest first: a cell's children are newer or somebody else's. */
static void sum_masses(int id)
{
    for (struct node *n = made[id]; n; n = n->next_made) {
        double mass = n->is_leaf ? n->mass : 0;
        for (int q = 0; q < 4 && !n->is_leaf; q++) {
            struct node *c = n->child[q];
            if (!c)
                continue;
            pthread_mutex_lock(lock_of(c));
            while (!c->done)
                pthread_cond_wait(&c->summed, lock_of(c));
            mass += c->mass;
            pthread_mutex_unlock(lock_of(c));
        }
        pthread_mutex_lock(lock_of(n));
        n->mass = mass;
        n->done = 1;
        pthread_cond_broadcast(&n->summed);
        pthread_mutex_unlock(lock_of(n));
    }
}

/* A split makes a cell newer than the leaf below it: leaves first, then cells. */
static void leaves_first(int id)
{
    struct node *cells = NULL, *leaves = NULL, **tail = &leaves, **cell_tail = &cells;
    for (struct node *n = made[id]; n; n = n->next_made) {
        struct node ***end = n->is_leaf ? &tail : &cell_tail;
        **end = n;
        *end = &n->next_made;
    }
    *cell_tail = NULL;
    *tail = cells;
    made[id] = leaves ? leaves : cells;
}

static void *worker(void *arg)
{
    int id = *(int *)arg;
    for (int i = id; i < nbodies; i += nthreads)
        insert(id, px[i], py[i]);
    pthread_barrier_wait(&phase);
    leaves_first(id);
    sum_masses(id);
    pthread_barrier_wait(&phase);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int id[MAX_THREADS];
    if (argc < 3)
        return 2;
    nthreads = atoi(argv[1]);
    nbodies = atoi(argv[2]);
    unsigned seed = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    if (nthreads < 1 || nthreads > MAX_THREADS || nbodies < 0 || nbodies > 1000000)
        return 2;
    px = calloc((size_t)nbodies + 1, sizeof *px);
    py = calloc((size_t)nbodies + 1, sizeof *py);
    if (!px || !py)
        return 2;
    for (int i = 0; i < nbodies; i++) {
        seed = seed * 1664525u + 1013904223u;
        px[i] = (double)(seed >> 8) / 8388608 - 1;
        seed = seed * 1664525u + 1013904223u;
        py[i] = (double)(seed >> 8) / 8388608 - 1;
    }
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&cell_lock[i], NULL);
    pthread_barrier_init(&phase, NULL, (unsigned)nthreads);
    root = new_node(0, 0, 0, 0, 1);
    for (int t = 0; t < nthreads; t++) {
        id[t] = t;
        pthread_create(&thread[t], NULL, worker, &id[t]);
    }
    for (int t = 0; t < nthreads; t++)
        pthread_join(thread[t], NULL);
    int good = fabs(root->mass - nbodies) < 1e-9;
    printf("%s bodies=%d mass=%.0f\n", good ? "ok" : "FAILED", nbodies, root->mass);
    return !good;
}
