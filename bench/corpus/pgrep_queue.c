/* pgrep_queue: parallel search for a string in files: bounded queue, detached-like workers.
 *
 * Skeleton:  main creates W workers, all through one variable: handles are lost, nobody
 *            joins. It puts every path into a bounded queue, closes the queue, waits until
 *            the count of live workers is zero, and ends the process.
 * Governs:   W, the number of files, the number of matches, files that cannot be read.
 * Teaches:   bounded buffer with two condition variables; signal after unlock; a condition
 *            variable that nobody initialises (it is zero); the last worker's signal races
 *            with process exit; shutdown by flag; a loop around synchronization without
 *            bound.
 * Variants:  -DWALK     arguments are directories, walked by ftw(): a library calls us back
 *            -DLEAK     main puts one more path after closing: put() then returns with the
 *                       lock held and the program hangs
 *            -DINIT_ALL the live-workers condition variable is initialised, signals are sent
 *                       before unlocking
 *
 * Usage: pgrep_queue W PATTERN PATH...
 */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_CAPACITY 72

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t more, less;
    char *item[MAX_CAPACITY];
    int capacity, count, first, closed;
};

static struct queue paths;
static pthread_mutex_t print_lock, match_lock, live_lock;
static pthread_cond_t live_changed; /* never initialised unless INIT_ALL: works because it is zero */
static int live, matches, unreadable, put_count;
static const char *pattern;
static size_t pattern_length;
static size_t skip[256];

static void queue_init(struct queue *q, int capacity)
{
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->more, NULL);
    pthread_cond_init(&q->less, NULL);
    q->capacity = capacity;
}

static int queue_put(struct queue *q, char *item)
{
    pthread_mutex_lock(&q->lock);
    if (q->closed)
        return -1; /* on purpose: the lock is still held */
    while (q->count == q->capacity)
        pthread_cond_wait(&q->less, &q->lock);
    q->item[(q->first + q->count) % q->capacity] = item;
    q->count++;
#ifdef INIT_ALL
    pthread_cond_signal(&q->more);
    pthread_mutex_unlock(&q->lock);
#else
    pthread_mutex_unlock(&q->lock);
    pthread_cond_signal(&q->more);
#endif
    return 0;
}

static int queue_get(struct queue *q, char **item)
{
    pthread_mutex_lock(&q->lock);
    while (q->count == 0 && !q->closed)
        pthread_cond_wait(&q->more, &q->lock);
    if (q->count > 0) {
        *item = q->item[q->first];
        q->first = (q->first + 1) % q->capacity;
        q->count--;
        pthread_mutex_unlock(&q->lock);
        pthread_cond_signal(&q->less);
        return 1;
    }
    pthread_mutex_unlock(&q->lock);
    return 0;
}

static void queue_close(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = 1;
    pthread_mutex_unlock(&q->lock);
    pthread_cond_broadcast(&q->more);
}

/* Horspool's variant of Boyer-Moore. Returns the next match at or after `from`, or -1. */
static long search(const char *text, size_t length, size_t from)
{
    while (from + pattern_length <= length) {
        if (memcmp(text + from, pattern, pattern_length) == 0)
            return (long)from;
        from += skip[(unsigned char)text[from + pattern_length - 1]];
    }
    return -1;
}

static void report(const char *path, long offset)
{
    pthread_mutex_lock(&match_lock);
    matches++;
    pthread_mutex_unlock(&match_lock);
    pthread_mutex_lock(&print_lock);
    printf("%s:%ld\n", path, offset);
    pthread_mutex_unlock(&print_lock);
}

static void scan(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        pthread_mutex_lock(&match_lock);
        unreadable++;
        pthread_mutex_unlock(&match_lock);
        if (fd >= 0)
            close(fd);
        return;
    }
    if (st.st_size > 0) {
        char *text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (text != MAP_FAILED) {
            long at = search(text, (size_t)st.st_size, 0);
            while (at >= 0) {
                report(path, at);
                at = search(text, (size_t)st.st_size, (size_t)at + 1);
            }
            munmap(text, (size_t)st.st_size);
        }
    }
    close(fd);
}

static void *worker(void *unused)
{
    char *path;
    while (queue_get(&paths, &path)) {
        scan(path);
        free(path);
    }
    pthread_mutex_lock(&live_lock);
    live--;
#ifdef INIT_ALL
    pthread_cond_signal(&live_changed);
    pthread_mutex_unlock(&live_lock);
#else
    pthread_mutex_unlock(&live_lock);
    pthread_cond_signal(&live_changed); /* main may already be inside exit() */
#endif
    return unused;
}

static int put_path(const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        exit(2);
    put_count++;
    return queue_put(&paths, copy);
}

#ifdef WALK
static int visit(const char *path, const struct stat *st, int kind)
{
    (void)st;
    if (kind == FTW_F)
        put_path(path);
    return 0;
}
#endif

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 3) {
        fprintf(stderr, "usage: %s W PATTERN PATH...\n", argv[0]);
        return 2;
    }
    int workers = atoi(argv[1]);
    pattern = argv[2];
    pattern_length = strlen(pattern);
    if (workers < 1 || workers + 8 > MAX_CAPACITY || pattern_length == 0)
        return 2;
    for (int c = 0; c < 256; c++)
        skip[c] = pattern_length;
    for (size_t i = 0; i + 1 < pattern_length; i++)
        skip[(unsigned char)pattern[i]] = pattern_length - 1 - i;
    queue_init(&paths, workers + 8);
    pthread_mutex_init(&print_lock, NULL);
    pthread_mutex_init(&match_lock, NULL);
    pthread_mutex_init(&live_lock, NULL);
#ifdef INIT_ALL
    pthread_cond_init(&live_changed, NULL);
#endif
    live = workers;
    for (int w = 0; w < workers; w++)
        pthread_create(&thread, NULL, worker, NULL);
    for (int i = 3; i < argc; i++)
#ifdef WALK
        ftw(argv[i], visit, 16);
#else
        put_path(argv[i]);
#endif
    queue_close(&paths);
#ifdef LEAK
    put_path(argv[0]);
#endif
    pthread_mutex_lock(&live_lock);
    while (live > 0)
        pthread_cond_wait(&live_changed, &live_lock);
    pthread_mutex_unlock(&live_lock);
    printf("ok files=%d matches=%d unreadable=%d\n", put_count, matches, unreadable);
    return 0;
}
