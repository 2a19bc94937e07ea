/* ring: a ring buffer between one producer and one consumer.
 *
 * Skeleton:  broken: the indexes are plain variables and both sides spin on them. -DFIXED: a
 *            mutex and two condition variables.
 * Governs:   N items.
 * Teaches:   spinning on plain memory is a data race, and its loop may never see the change.
 *            The broken twin gives up after a while, so that it always ends.
 *
 * Usage: ring N
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ROOM 4

static int item[ROOM], n;
static long sum;
#ifdef FIXED
static unsigned head, tail;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *producer(void *unused)
{
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(&lock);
        while (head - tail == ROOM)
            pthread_cond_wait(&changed, &lock);
        item[head++ % ROOM] = i;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *consumer(void *unused)
{
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(&lock);
        while (head == tail)
            pthread_cond_wait(&changed, &lock);
        sum += item[tail++ % ROOM];
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
#else
static volatile unsigned head, tail; /* volatile does not make it a synchronization */

static void *producer(void *unused)
{
    for (int i = 0; i < n; i++) {
        for (long spins = 0; head - tail == ROOM && spins < 100000000; spins++) {
        }
        item[head % ROOM] = i;
        head = head + 1;
    }
    return unused;
}

static void *consumer(void *unused)
{
    for (int i = 0; i < n; i++) {
        for (long spins = 0; head == tail && spins < 100000000; spins++) {
        }
        sum += item[tail % ROOM];
        tail = tail + 1;
    }
    return unused;
}
#endif

int main(int argc, char **argv)
{
    pthread_t a, b;
    if (argc < 2)
        return 2;
    n = atoi(argv[1]);
    if (n < 0)
        return 2;
    pthread_create(&a, NULL, producer, NULL);
    pthread_create(&b, NULL, consumer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    int good = sum == (long)n * (n - 1) / 2;
    printf("%s sum=%ld\n", good ? "ok" : "FAILED", sum);
    return !good;
}
