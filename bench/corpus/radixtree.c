/* radixtree: parallel radix sort; digit counts are combined over a tree of semaphores.
 *
 * Skeleton:  main is a worker (see fft6). Body: id under a lock; 2 rounds of one barrier;
 *            per digit: histogram, barrier, up-sweep and down-sweep over a binary tree with
 *            a semaphore per node, 2 more barriers, permute, barrier; 1 barrier.
 * Governs:   P (a power of two) and the number of digits ceil(log_R max).
 * Teaches:   happens-before from a post to the wait that it feeds; semaphores that count:
 *            one post per digit is never waited for, so values grow; two barriers on two
 *            objects. -DCONDVAR_BARRIER: mutex and condition variable as the barrier.
 *
 * Usage: radixtree P KEYS RADIX MAXKEY
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef NO_SELF_JOIN /* ThreadSanitizer's pthread_join cannot take the main thread */
#define FIRST_JOINED 1
#else
#define FIRST_JOINED 0
#endif
#define MAX_THREADS 32
#define MAX_RADIX 1024

struct barrier {
#ifdef CONDVAR_BARRIER
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    int count;
#else
    pthread_barrier_t posix;
#endif
};

struct node {
    sem_t ready;
    int count[MAX_RADIX]; /* keys of each digit in this subtree */
    int before[MAX_RADIX]; /* keys of each digit left of this subtree */
};

static pthread_t thread[MAX_THREADS];
static pthread_mutex_t id_lock;
static struct barrier key_barrier, rank_barrier;
static struct node *tree; /* a heap of 2P-1 nodes, leaves from P-1, and one above the root */
static int nthreads, next_id, nkeys, radix, log_radix, maxkey;
static int *from, *to, *input;

static void barrier_init(struct barrier *b)
{
#ifdef CONDVAR_BARRIER
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->all_here, NULL);
    b->count = 0;
#else
    pthread_barrier_init(&b->posix, NULL, (unsigned)nthreads);
#endif
}

static void barrier_wait(struct barrier *b)
{
#ifdef CONDVAR_BARRIER
    pthread_mutex_lock(&b->lock);
    if (++b->count == nthreads) {
        b->count = 0;
        pthread_cond_broadcast(&b->all_here);
    } else {
        pthread_cond_wait(&b->all_here, &b->lock); /* on purpose: no loop */
    }
    pthread_mutex_unlock(&b->lock);
#else
    pthread_barrier_wait(&b->posix);
#endif
}

static int digit_count(void)
{
    int digits = 0;
    for (long reach = 1; reach < maxkey; reach *= radix)
        digits++;
    return digits > 0 ? digits : 1;
}

/* The right child of a pair combines it; the left child only announces itself. */
static void up_sweep(int id)
{
    int node = nthreads - 1 + id, index = id;
    while (index % 2 == 1) {
        int parent = (node - 1) / 2;
        sem_wait(&tree[parent].ready);
        for (int d = 0; d < radix; d++)
            tree[parent].count[d] = tree[2 * parent + 1].count[d] + tree[2 * parent + 2].count[d];
        node = parent;
        index /= 2;
    }
    /* Whoever completes the root announces it too, though nobody waits above it. */
    int above = node > 0 ? (node - 1) / 2 : 2 * nthreads - 1;
    sem_post(&tree[above].ready);
}

static void down_sweep(int id)
{
    int top = nthreads - 1 + id, index = id;
    while (index % 2 == 1 && top > 0) {
        top = (top - 1) / 2;
        index /= 2;
    }
    if (id != nthreads - 1)
        sem_wait(&tree[top].ready); /* posted by the right sibling's owner */
    int node = nthreads - 1 + id;
    for (index = id; index % 2 == 1; index /= 2) {
        sem_post(&tree[node - 1].ready);
        node = (node - 1) / 2;
    }
    for (int d = 0; d < radix; d++) {
        int before = 0;
        for (node = nthreads - 1 + id; node > 0; node = (node - 1) / 2)
            if (node % 2 == 0)
                before += tree[node - 1].count[d];
        tree[nthreads - 1 + id].before[d] = before;
    }
}

static void permute(const struct node *leaf, int lo, int hi, int shift)
{
    int place[MAX_RADIX], total = 0;
    for (int d = 0; d < radix; d++) {
        place[d] = total + leaf->before[d];
        total += tree[0].count[d];
    }
    for (int i = lo; i < hi; i++)
        to[place[(from[i] >> shift) & (radix - 1)]++] = from[i];
}

static void sort_digits(int id, int lo, int hi)
{
    struct node *leaf = &tree[nthreads - 1 + id];
    int digits = digit_count();
    for (int pass = 0; pass < digits; pass++) {
        int shift = pass * log_radix;
        for (int d = 0; d < radix; d++)
            leaf->count[d] = 0;
        for (int i = lo; i < hi; i++)
            leaf->count[(from[i] >> shift) & (radix - 1)]++;
        barrier_wait(&rank_barrier);
        up_sweep(id);
        barrier_wait(&rank_barrier);
        down_sweep(id);
        permute(leaf, lo, hi, shift);
        barrier_wait(&rank_barrier);
        if (id == 0) {
            int *t = from;
            from = to;
            to = t;
        }
        barrier_wait(&rank_barrier);
    }
}

static void *slave(void *unused)
{
    pthread_mutex_lock(&id_lock);
    int id = next_id++;
    pthread_mutex_unlock(&id_lock);
    int share = nkeys / nthreads;
    int lo = id * share, hi = id == nthreads - 1 ? nkeys : lo + share;
    for (int i = lo; i < hi; i++)
        from[i] = input[i] = (int)(((unsigned)i * 2654435761u >> 7) % (unsigned)maxkey);
    barrier_wait(&key_barrier);
    barrier_wait(&key_barrier);
    sort_digits(id, lo, hi);
    barrier_wait(&rank_barrier);
    return unused;
}

static int verify(void)
{
    unsigned long sum = 0, want = 0;
    int bad = 0;
    for (int i = 0; i < nkeys; i++) {
        sum += (unsigned long)from[i] * (unsigned long)from[i];
        want += (unsigned long)input[i] * (unsigned long)input[i];
        bad += i > 0 && from[i - 1] > from[i];
    }
    return bad + (sum != want);
}

static int setup(int argc, char **argv)
{
    if (argc < 5)
        return 0;
    nthreads = atoi(argv[1]);
    nkeys = atoi(argv[2]);
    radix = atoi(argv[3]);
    maxkey = atoi(argv[4]);
    if (nthreads < 1 || nthreads > MAX_THREADS || (nthreads & (nthreads - 1)) != 0)
        return 0;
    if (radix < 2 || radix > MAX_RADIX || (radix & (radix - 1)) != 0 || maxkey < 1 || nkeys < nthreads)
        return 0;
    while (1 << log_radix < radix)
        log_radix++;
    from = calloc((size_t)nkeys, sizeof *from);
    to = calloc((size_t)nkeys, sizeof *to);
    input = calloc((size_t)nkeys, sizeof *input);
    tree = calloc((size_t)(2 * nthreads), sizeof *tree);
    if (!from || !to || !input || !tree)
        return 0;
    for (int i = 0; i < 2 * nthreads; i++)
        sem_init(&tree[i].ready, 0, 0);
    barrier_init(&key_barrier);
    barrier_init(&rank_barrier);
    return 1;
}

int main(int argc, char **argv)
{
    if (!setup(argc, argv)) {
        fprintf(stderr, "usage: radixtree P KEYS RADIX MAXKEY (P, RADIX powers of two)\n");
        return 2;
    }
    thread[0] = pthread_self();
    for (int t = 1; t < nthreads; t++)
        pthread_create(&thread[t], NULL, slave, NULL);
    slave(NULL);
    for (int t = nthreads - 1; t >= FIRST_JOINED; t--)
        pthread_join(thread[t], NULL); /* slot 0 is ourselves: EDEADLK */
    int bad = verify();
    printf("%s keys=%d digits=%d median=%d\n", bad ? "FAILED" : "ok", nkeys, digit_count(), from[nkeys / 2]);
    return bad != 0;
}
