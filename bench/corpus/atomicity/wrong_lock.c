/* wrong_lock: one variable, two mutexes.
 *
 * Skeleton:  adders protect the counter by lock A, subtracters by lock B. -DFIXED: all by A.
 * Governs:   P.
 * Teaches:   every access is under a lock, and it is a race all the same.
 *
 * Usage: wrong_lock P
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 16

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void add(pthread_mutex_t *lock, long amount)
{
    pthread_mutex_lock(lock);
    counter += amount;
    pthread_mutex_unlock(lock);
}

static void *adder(void *unused)
{
    add(&a, 3);
    return unused;
}

static void *subtracter(void *unused)
{
#ifdef FIXED
    add(&a, -1);
#else
    add(&b, -1);
#endif
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t plus[MAX_THREADS], minus[MAX_THREADS];
    int p = argc > 1 ? atoi(argv[1]) : 1;
    if (p < 1 || p > MAX_THREADS)
        return 2;
    (void)b;
    for (int t = 0; t < p; t++) {
        pthread_create(&plus[t], NULL, adder, NULL);
        pthread_create(&minus[t], NULL, subtracter, NULL);
    }
    for (int t = 0; t < p; t++) {
        pthread_join(plus[t], NULL);
        pthread_join(minus[t], NULL);
    }
    printf("%s counter=%ld\n", counter == 2L * p ? "ok" : "FAILED", counter);
    return counter != 2L * p;
}
