/* rwcache: a small cache under a readers-writer lock.
 *
 * Skeleton:  P workers answer a list of requests; read lock, look up, unlock; on a miss write
 *            lock, look again, insert, unlock.
 * Governs:   P and the requests (digits of argv[2]).
 * Teaches:   read locks that share, the upgrade by release and second look, requests as input.
 *
 * Usage: rwcache P DIGITS
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 32

static pthread_rwlock_t cache_lock;
static long cache[10];
static int filled[10], misses; /* all under the write lock */
static const char *requests;
static int nrequests, nthreads;
static long sum[MAX_THREADS];

static long compute(int key)
{
    long v = 1;
    for (int i = 0; i < 10; i++)
        v = v * (key + 3) % 10007;
    return v;
}

static long lookup(int key)
{
    pthread_rwlock_rdlock(&cache_lock);
    int hit = filled[key];
    long value = cache[key];
    pthread_rwlock_unlock(&cache_lock);
    if (hit)
        return value;
    pthread_rwlock_wrlock(&cache_lock);
    if (!filled[key]) { /* somebody may have been faster */
        cache[key] = compute(key);
        filled[key] = 1;
        misses++;
    }
    value = cache[key];
    pthread_rwlock_unlock(&cache_lock);
    return value;
}

static void *worker(void *arg)
{
    int id = *(int *)arg;
    for (int i = id; i < nrequests; i += nthreads)
        sum[id] += lookup(requests[i] - '0');
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int id[MAX_THREADS], distinct = 0, seen[10] = {0};
    long total = 0, want = 0;
    if (argc < 3)
        return 2;
    nthreads = atoi(argv[1]);
    requests = argv[2];
    nrequests = (int)strspn(requests, "0123456789");
    if (nthreads < 1 || nthreads > MAX_THREADS)
        return 2;
    pthread_rwlock_init(&cache_lock, NULL);
    for (int t = 0; t < nthreads; t++) {
        id[t] = t;
        pthread_create(&thread[t], NULL, worker, &id[t]);
    }
    for (int t = 0; t < nthreads; t++) {
        pthread_join(thread[t], NULL);
        total += sum[t];
    }
    for (int i = 0; i < nrequests; i++) {
        want += compute(requests[i] - '0');
        distinct += !seen[requests[i] - '0']++;
    }
    int good = total == want && misses == distinct;
    printf("%s requests=%d misses=%d\n", good ? "ok" : "FAILED", nrequests, misses);
    return !good;
}
