/* blockzip: block compressor: one producer, P consumers, an ordered writer.
 *
 * Skeleton:  main produces: lock queue, wait notFull, add, signal, and with the queue lock
 *            still held count progress under a second lock. Consumers: take, encode, then
 *            wait until they are not too far ahead of the writer, store by number. The
 *            writer takes blocks in order. Shutdown by a flag with its own mutex, read with
 *            the queue lock held.
 * Governs:   P, the number of blocks, and with -DTIMED the outcome of timed waits.
 * Teaches:   nested locks in a fixed order (queue > progress, queue > done); a bounded
 *            window; -DTIMED: the writer polls with a timed wait, so time is an input.
 *
 * Usage: blockzip P BLOCKS
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_THREADS 32
#define CAPACITY 4
#define WINDOW 4
#define MAX_BLOCKS 4096
#define BLOCK_BYTES 64

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER, progress_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER, out_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static pthread_cond_t head_ready = PTHREAD_COND_INITIALIZER, not_too_far = PTHREAD_COND_INITIALIZER;
static int queue[CAPACITY], queue_count, queue_first;
static int nblocks, produced, all_produced, written;
static int stored[WINDOW]; /* length + 1 of block number i at i mod WINDOW, 0 when absent */
static long total_length;

static void fill(unsigned char *bytes, int block)
{
    unsigned h = (unsigned)block * 2654435761u;
    for (int i = 0; i < BLOCK_BYTES; i++)
        bytes[i] = (unsigned char)((h >> (i / 8 % 4 * 4)) & 3);
}

static int run_lengths(int block)
{
    unsigned char bytes[BLOCK_BYTES];
    int runs = 1;
    fill(bytes, block);
    for (int i = 1; i < BLOCK_BYTES; i++)
        runs += bytes[i] != bytes[i - 1];
    return 2 * runs;
}

static int is_done(void)
{
    pthread_mutex_lock(&done_lock);
    int done = all_produced;
    pthread_mutex_unlock(&done_lock);
    return done;
}

static void produce(int block)
{
    pthread_mutex_lock(&queue_lock);
    while (queue_count == CAPACITY)
        pthread_cond_wait(&not_full, &queue_lock);
    queue[(queue_first + queue_count) % CAPACITY] = block;
    queue_count++;
    pthread_cond_signal(&not_empty);
    pthread_mutex_lock(&progress_lock);
    produced++;
    pthread_mutex_unlock(&progress_lock);
    pthread_mutex_unlock(&queue_lock);
}

static int take(void)
{
    int block = -1;
    pthread_mutex_lock(&queue_lock);
    while (queue_count == 0 && !is_done())
        pthread_cond_wait(&not_empty, &queue_lock);
    if (queue_count > 0) {
        block = queue[queue_first];
        queue_first = (queue_first + 1) % CAPACITY;
        queue_count--;
        pthread_cond_signal(&not_full);
    }
    pthread_mutex_unlock(&queue_lock);
    return block;
}

static void *consumer(void *unused)
{
    int block;
    while ((block = take()) >= 0) {
        int length = run_lengths(block);
        pthread_mutex_lock(&out_lock);
        while (block >= written + WINDOW)
            pthread_cond_wait(&not_too_far, &out_lock);
        stored[block % WINDOW] = length + 1;
        pthread_cond_signal(&head_ready);
        pthread_mutex_unlock(&out_lock);
    }
    return unused;
}

static void wait_for_head(void)
{
#ifdef TIMED
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&head_ready, &out_lock, &until);
#else
    pthread_cond_wait(&head_ready, &out_lock);
#endif
}

static void *writer(void *unused)
{
    for (int next = 0; next < nblocks; next++) {
        pthread_mutex_lock(&out_lock);
        while (stored[next % WINDOW] == 0)
            wait_for_head();
        int length = stored[next % WINDOW] - 1;
        stored[next % WINDOW] = 0;
        pthread_mutex_unlock(&out_lock);
        total_length += length;
        pthread_mutex_lock(&out_lock);
        written = next + 1;
        pthread_cond_broadcast(&not_too_far);
        pthread_mutex_unlock(&out_lock);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS], out;
    if (argc < 3)
        return 2;
    int p = atoi(argv[1]);
    nblocks = atoi(argv[2]);
    if (p < 1 || p > MAX_THREADS || nblocks < 0 || nblocks > MAX_BLOCKS)
        return 2;
    pthread_create(&out, NULL, writer, NULL);
    for (int t = 0; t < p; t++)
        pthread_create(&thread[t], NULL, consumer, NULL);
    for (int b = 0; b < nblocks; b++)
        produce(b);
    pthread_mutex_lock(&queue_lock);
    pthread_mutex_lock(&done_lock);
    all_produced = 1;
    pthread_mutex_unlock(&done_lock);
    pthread_cond_broadcast(&not_empty);
    pthread_mutex_unlock(&queue_lock);
    for (int t = 0; t < p; t++)
        pthread_join(thread[t], NULL);
    pthread_join(out, NULL);
    long want = 0;
    for (int b = 0; b < nblocks; b++)
        want += run_lengths(b);
    int good = want == total_length && produced == nblocks;
    printf("%s blocks=%d length=%ld\n", good ? "ok" : "FAILED", written, total_length);
    return !good;
}
