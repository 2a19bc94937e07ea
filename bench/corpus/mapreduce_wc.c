/* mapreduce_wc: word count in two phases of fork and join.
 *
 * Skeleton:  create P mappers, join them; create P reducers, join them.
 * Governs:   P and whether there is any text: an empty text ends before the first phase.
 * Teaches:   the same thread slots used twice; phases that never overlap (locks of
 *            disjoint phases cannot deadlock); -DLOCKED: reducers also count under a lock.
 *
 * Usage: mapreduce_wc P TEXT
 */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 16
#define BUCKETS 64

static const char *text;
static size_t length;
static int nthreads;
static int mapped[MAX_THREADS][BUCKETS], reduced[BUCKETS];
#ifdef LOCKED
static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
#endif

static size_t word_start(size_t at) /* the first word that begins at or after `at` */
{
    while (at > 0 && at < length && isalpha((unsigned char)text[at]) && isalpha((unsigned char)text[at - 1]))
        at++;
    return at;
}

static void *mapper(void *arg)
{
    int id = *(int *)arg;
    size_t at = word_start(length * (size_t)id / (size_t)nthreads);
    size_t end = word_start(length * ((size_t)id + 1) / (size_t)nthreads);
    while (at < end) {
        unsigned h = 0;
        size_t first = at;
        for (; at < length && isalpha((unsigned char)text[at]); at++)
            h = h * 31 + (unsigned)tolower((unsigned char)text[at]);
        if (at > first)
            mapped[id][h % BUCKETS]++;
        else
            at++;
    }
    return NULL;
}

static void *reducer(void *arg)
{
    int id = *(int *)arg;
    for (int b = id; b < BUCKETS; b += nthreads)
        for (int t = 0; t < nthreads; t++)
            reduced[b] += mapped[t][b];
#ifdef LOCKED
    for (int b = id; b < BUCKETS; b += nthreads) {
        pthread_mutex_lock(&total_lock);
        total += reduced[b];
        pthread_mutex_unlock(&total_lock);
    }
#endif
    return NULL;
}

static void phase(void *(*body)(void *))
{
    pthread_t thread[MAX_THREADS];
    int id[MAX_THREADS];
    for (int t = 0; t < nthreads; t++) {
        id[t] = t;
        pthread_create(&thread[t], NULL, body, &id[t]);
    }
    for (int t = 0; t < nthreads; t++)
        pthread_join(thread[t], NULL);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    nthreads = atoi(argv[1]);
    text = argv[2];
    length = strlen(text);
    if (nthreads < 1 || nthreads > MAX_THREADS)
        return 2;
    if (length == 0) {
        printf("ok words=0\n");
        return 0;
    }
    phase(mapper);
    phase(reducer);
    int sum = 0, want = 0;
    for (int b = 0; b < BUCKETS; b++)
        sum += reduced[b];
    for (size_t i = 0; i < length; i++)
        want += isalpha((unsigned char)text[i]) && (i == 0 || !isalpha((unsigned char)text[i - 1]));
#ifdef LOCKED
    if (total != sum)
        want = -1;
#endif
    printf("%s words=%d\n", sum == want ? "ok" : "FAILED", sum);
    return sum != want;
}
