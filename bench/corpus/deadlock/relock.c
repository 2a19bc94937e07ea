/* relock: a function that locks calls another one that locks the same mutex.
 *
 * Skeleton:  two workers add to a table; when it is full, `add` calls `flush`, which locks.
 * Governs:   the number of entries: the table holds four.
 * Teaches:   relock of a normal mutex, behind an input. -DFIXED: the mutex is recursive.
 *
 * Usage: relock [ENTRIES]
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ROOM 4

static pthread_mutex_t lock;
static int entries = 4, used, flushed;

static void flush(void)
{
    pthread_mutex_lock(&lock);
    flushed += used;
    used = 0;
    pthread_mutex_unlock(&lock);
}

static void *adder(void *arg)
{
    for (int i = 0; i < *(int *)arg; i++) {
        pthread_mutex_lock(&lock);
        if (used == ROOM)
            flush(); /* with the lock held */
        used++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t one, two;
    int share[2];
    pthread_mutexattr_t attr;
    if (argc > 1)
        entries = atoi(argv[1]);
    if (entries < 0)
        return 2;
    share[0] = entries / 2;
    share[1] = entries - share[0];
    pthread_mutexattr_init(&attr);
#ifdef FIXED
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
#else
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_NORMAL);
#endif
    pthread_mutex_init(&lock, &attr);
    pthread_create(&one, NULL, adder, &share[0]);
    pthread_create(&two, NULL, adder, &share[1]);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    flush();
    printf("%s entries=%d\n", flushed == entries ? "ok" : "FAILED", flushed);
    return flushed != entries;
}
