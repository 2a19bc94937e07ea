/* treemerge: private trees merged into a shared one, with retries; then bottom-up counters.
 *
 * Skeleton:  P workers each build a private trie of words and merge it recursively:
 *            read the shared slot under its node's lock; if it is empty try to link the own
 *            subtree there (fails when somebody was first: retry), else recurse. Barrier.
 *            Then every thread walks its share of the leaves upward through a function
 *            pointer: add to the parent under its lock, count, broadcast; the thread that
 *            owns a node waits until all of its children have reported.
 * Governs:   P and the words.
 * Teaches:   synchronization in recursion and in retry loops, locks by hash of the address
 *            order number, functions called by pointer.
 *
 * Usage: treemerge P WORDS
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 32
#define LOCKS 8
#define FANOUT 4
#define DEPTH 3

struct node {
    int number, words, children, reported;
    struct node *child[FANOUT], *parent;
    pthread_cond_t changed;
};

static pthread_mutex_t node_lock[LOCKS], number_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t phase;
static struct node *shared_root;
static int nthreads, nwords, next_number, total_words, retries;

static pthread_mutex_t *lock_of(const struct node *n)
{
    return &node_lock[n->number % LOCKS];
}

static struct node *new_node(struct node *parent)
{
    struct node *n = calloc(1, sizeof *n);
    if (!n)
        exit(2);
    pthread_mutex_lock(&number_lock);
    n->number = next_number++;
    pthread_mutex_unlock(&number_lock);
    n->parent = parent;
    pthread_cond_init(&n->changed, NULL);
    return n;
}

static void add_word(struct node *root, unsigned word)
{
    struct node *n = root;
    for (int d = 0; d < DEPTH; d++) {
        struct node **slot = &n->child[word >> (2 * d) & (FANOUT - 1)];
        if (!*slot)
            *slot = new_node(n);
        n = *slot;
    }
    n->words++;
}

/* Returns 1 when `mine` could be linked, 0 when somebody was first. */
static int try_link(struct node *into, int slot, struct node *mine)
{
    int linked = 0;
    pthread_mutex_lock(lock_of(into));
    if (!into->child[slot]) {
        into->child[slot] = mine;
        mine->parent = into;
        linked = 1;
    }
    pthread_mutex_unlock(lock_of(into));
    return linked;
}

static void merge(struct node *into, struct node *mine, int depth)
{
    if (depth == DEPTH) {
        pthread_mutex_lock(lock_of(into));
        into->words += mine->words;
        pthread_mutex_unlock(lock_of(into));
        return;
    }
    for (int s = 0; s < FANOUT; s++) {
        struct node *sub = mine->child[s];
        while (sub) {
            pthread_mutex_lock(lock_of(into));
            struct node *there = into->child[s];
            pthread_mutex_unlock(lock_of(into));
            if (there) {
                merge(there, sub, depth + 1);
                sub = NULL;
            } else if (try_link(into, s, sub)) {
                sub = NULL;
            } else {
                pthread_mutex_lock(&number_lock);
                retries++;
                pthread_mutex_unlock(&number_lock);
            }
        }
    }
}

/* Calls `visit` on every node, children first; the walk itself does not synchronize. */
static void post_order(struct node *n, void (*visit)(struct node *, int), int id)
{
    for (int s = 0; s < FANOUT; s++)
        if (n->child[s])
            post_order(n->child[s], visit, id);
    visit(n, id);
}

static void count_children(struct node *n, int id)
{
    (void)id;
    for (int s = 0; s < FANOUT; s++)
        n->children += n->child[s] != NULL;
}

static void report(struct node *n, int id)
{
    if (n->number % nthreads != id)
        return;
    pthread_mutex_lock(lock_of(n));
    while (n->reported < n->children)
        pthread_cond_wait(&n->changed, lock_of(n));
    int words = n->words;
    pthread_mutex_unlock(lock_of(n));
    if (!n->parent) {
        total_words = words;
        return;
    }
    pthread_mutex_lock(lock_of(n->parent));
    n->parent->words += words;
    n->parent->reported++;
    pthread_cond_broadcast(&n->parent->changed);
    pthread_mutex_unlock(lock_of(n->parent));
}

static void *worker(void *arg)
{
    int id = *(int *)arg;
    struct node *mine = new_node(NULL);
    for (int w = id; w < nwords; w += nthreads)
        add_word(mine, (unsigned)w * 2654435761u >> 9);
    merge(shared_root, mine, 0);
    pthread_barrier_wait(&phase);
    if (id == 0)
        post_order(shared_root, count_children, id);
    pthread_barrier_wait(&phase);
    post_order(shared_root, report, id);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int id[MAX_THREADS];
    if (argc < 3)
        return 2;
    nthreads = atoi(argv[1]);
    nwords = atoi(argv[2]);
    if (nthreads < 1 || nthreads > MAX_THREADS || nwords < 0)
        return 2;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&node_lock[i], NULL);
    pthread_barrier_init(&phase, NULL, (unsigned)nthreads);
    shared_root = new_node(NULL);
    for (int t = 0; t < nthreads; t++) {
        id[t] = t;
        pthread_create(&thread[t], NULL, worker, &id[t]);
    }
    for (int t = 0; t < nthreads; t++)
        pthread_join(thread[t], NULL);
    int good = total_words == nwords;
    printf("%s words=%d\n", good ? "ok" : "FAILED", total_words);
    return !good;
}
