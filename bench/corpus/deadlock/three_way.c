/* three_way: three threads, three mutexes, each thread holds one and wants the next.
 *
 * Skeleton:  fork of three different entry functions, join.
 * Governs:   nothing: one input class.
 * Teaches:   a cycle of length three across three functions. -DFIXED: the third function
 *            locks a before c.
 *
 * Usage: three_way
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
static int visits[3];

static void *first(void *unused)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    visits[0]++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return unused;
}

static void *second(void *unused)
{
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&c);
    visits[1]++;
    pthread_mutex_unlock(&c);
    pthread_mutex_unlock(&b);
    return unused;
}

static void *third(void *unused)
{
#ifdef FIXED
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&c);
#else
    pthread_mutex_lock(&c);
    pthread_mutex_lock(&a);
#endif
    visits[2]++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&c);
    return unused;
}

int main(void)
{
    void *(*entry[3])(void *) = {first, second, third};
    pthread_t thread[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, entry[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    int sum = visits[0] + visits[1] + visits[2];
    printf("%s visits=%d\n", sum == 3 ? "ok" : "FAILED", sum);
    return sum != 3;
}
