/* pipeline5: five stages over bounded queues; content decides which way a block takes.
 *
 * Skeleton:  fragment(1) -> refine(N) -> deduplicate(N) -> compress(N) -> reorder(1): 3N+2
 *            threads and main. Queues: mutex, notEmpty, notFull, producers still alive.
 *            A duplicate goes straight to reorder; a new block gets its own mutex and
 *            condition variable, made while others run; reorder waits on it.
 * Governs:   N, the text (block boundaries, duplicates), and batch sizes, which depend on
 *            the schedule.
 * Teaches:   termination by counting producers; sync objects inside heap blocks; locks by
 *            hash bucket.
 *
 * Usage: pipeline5 N TEXT
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORKERS 8
#define CAPACITY 4
#define BUCKETS 8
#define MAX_BLOCKS 512
#define MAX_BLOCK 6

struct block {
    int sequence, duplicate, compressed;
    char text[MAX_BLOCK + 1];
    unsigned digest;
    struct block *first;  /* the block that this one repeats */
    struct block *chain;  /* next in the bucket */
    pthread_mutex_t lock; /* made by deduplicate, for first occurrences only */
    pthread_cond_t ready;
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty, not_full;
    struct block *item[CAPACITY];
    int count, first, producers;
};

static struct queue to_refine, to_dedup, to_compress, to_reorder;
static pthread_mutex_t bucket_lock[BUCKETS];
static struct block *bucket[BUCKETS];
static const char *text;
static int nworkers, nblocks, unique_blocks;
static struct block *in_order[MAX_BLOCKS];

static void queue_init(struct queue *q, int producers)
{
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->not_empty, NULL);
    pthread_cond_init(&q->not_full, NULL);
    q->producers = producers;
}

static void put(struct queue *q, struct block *b)
{
    pthread_mutex_lock(&q->lock);
    while (q->count == CAPACITY)
        pthread_cond_wait(&q->not_full, &q->lock);
    q->item[(q->first + q->count++) % CAPACITY] = b;
    pthread_cond_signal(&q->not_empty);
    pthread_mutex_unlock(&q->lock);
}

/* NULL when the queue is empty and no producer is left. */
static struct block *get(struct queue *q)
{
    struct block *b = NULL;
    pthread_mutex_lock(&q->lock);
    while (q->count == 0 && q->producers > 0)
        pthread_cond_wait(&q->not_empty, &q->lock);
    if (q->count > 0) {
        b = q->item[q->first];
        q->first = (q->first + 1) % CAPACITY;
        q->count--;
        pthread_cond_signal(&q->not_full);
    }
    pthread_mutex_unlock(&q->lock);
    return b;
}

static void terminate(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    if (--q->producers == 0)
        pthread_cond_broadcast(&q->not_empty);
    pthread_mutex_unlock(&q->lock);
}

static void *fragment(void *unused)
{
    size_t at = 0, length = strlen(text);
    while (at < length && nblocks < MAX_BLOCKS) {
        struct block *b = calloc(1, sizeof *b);
        if (!b)
            exit(2);
        size_t end = at + 1; /* a block ends after a full stop, or when it is full */
        while (end < length && end - at < MAX_BLOCK && text[end - 1] != '.')
            end++;
        memcpy(b->text, text + at, end - at);
        b->sequence = nblocks++;
        at = end;
        put(&to_refine, b);
    }
    terminate(&to_refine);
    return unused;
}

static void *refine(void *unused)
{
    struct block *b;
    while ((b = get(&to_refine)) != NULL) {
        b->digest = 2166136261u;
        for (char *c = b->text; *c; c++)
            b->digest = (b->digest ^ (unsigned char)*c) * 16777619u;
        put(&to_dedup, b);
    }
    terminate(&to_dedup);
    return unused;
}

static void *deduplicate(void *unused)
{
    struct block *b;
    while ((b = get(&to_dedup)) != NULL) {
        int h = (int)(b->digest % BUCKETS);
        pthread_mutex_lock(&bucket_lock[h]);
        struct block *seen = bucket[h];
        while (seen && strcmp(seen->text, b->text) != 0)
            seen = seen->chain;
        if (seen) {
            b->duplicate = 1;
            b->first = seen;
        } else {
            pthread_mutex_init(&b->lock, NULL);
            pthread_cond_init(&b->ready, NULL);
            b->chain = bucket[h];
            bucket[h] = b;
        }
        pthread_mutex_unlock(&bucket_lock[h]);
        put(b->duplicate ? &to_reorder : &to_compress, b);
    }
    terminate(&to_compress);
    terminate(&to_reorder);
    return unused;
}

static void *compress(void *unused)
{
    struct block *b;
    while ((b = get(&to_compress)) != NULL) {
        pthread_mutex_lock(&b->lock);
        b->compressed = (int)strlen(b->text);
        pthread_cond_broadcast(&b->ready);
        pthread_mutex_unlock(&b->lock);
        put(&to_reorder, b);
    }
    terminate(&to_reorder);
    return unused;
}

static void *reorder(void *unused)
{
    struct block *b;
    while ((b = get(&to_reorder)) != NULL) {
        struct block *data = b->duplicate ? b->first : b;
        pthread_mutex_lock(&data->lock);
        while (data->compressed == 0)
            pthread_cond_wait(&data->ready, &data->lock);
        pthread_mutex_unlock(&data->lock);
        in_order[b->sequence] = b;
        unique_blocks += !b->duplicate;
    }
    return unused;
}

static int verify(void)
{
    size_t at = 0;
    for (int i = 0; i < nblocks; i++) {
        if (!in_order[i])
            return 1;
        const char *piece = in_order[i]->duplicate ? in_order[i]->first->text : in_order[i]->text;
        if (strncmp(text + at, piece, strlen(piece)) != 0)
            return 1;
        at += strlen(piece);
    }
    return text[at] != '\0' && nblocks < MAX_BLOCKS;
}

int main(int argc, char **argv)
{
    pthread_t one[2], many[3][MAX_WORKERS];
    void *(*stage[3])(void *) = {refine, deduplicate, compress};
    if (argc < 3)
        return 2;
    nworkers = atoi(argv[1]);
    text = argv[2];
    if (nworkers < 1 || nworkers > MAX_WORKERS)
        return 2;
    queue_init(&to_refine, 1);
    queue_init(&to_dedup, nworkers);
    queue_init(&to_compress, nworkers);
    queue_init(&to_reorder, 2 * nworkers);
    for (int i = 0; i < BUCKETS; i++)
        pthread_mutex_init(&bucket_lock[i], NULL);
    pthread_create(&one[0], NULL, fragment, NULL);
    for (int s = 0; s < 3; s++)
        for (int w = 0; w < nworkers; w++)
            pthread_create(&many[s][w], NULL, stage[s], NULL);
    pthread_create(&one[1], NULL, reorder, NULL);
    pthread_join(one[0], NULL);
    for (int s = 0; s < 3; s++)
        for (int w = 0; w < nworkers; w++)
            pthread_join(many[s][w], NULL);
    pthread_join(one[1], NULL);
    int bad = verify();
    printf("%s blocks=%d unique=%d\n", bad ? "FAILED" : "ok", nblocks, unique_blocks);
    return bad;
}
