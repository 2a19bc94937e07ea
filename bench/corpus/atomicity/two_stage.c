/* two_stage: two variables with a lock each must change together.
 *
 * Skeleton:  the writer sets first under lock A, then second under lock B; the reader takes A,
 *            copies, releases, takes B, and expects second == first + 1.
 * Governs:   nothing but the order.
 * Teaches:   race-free, yet a reader between the two stages sees half a change. -DFIXED: both
 *            under A. The reader skips while nothing is written.
 *
 * Usage: two_stage
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int first, second, good = 1;

static void *writer(void *unused)
{
    pthread_mutex_lock(&a);
    first = 1;
#ifdef FIXED
    second = first + 1;
    pthread_mutex_unlock(&a);
#else
    pthread_mutex_unlock(&a);
    pthread_mutex_lock(&b);
    second = 2;
    pthread_mutex_unlock(&b);
#endif
    return unused;
}

static void *reader(void *unused)
{
    pthread_mutex_lock(&a);
    int seen = first;
#ifdef FIXED
    int then = second;
    pthread_mutex_unlock(&a);
#else
    pthread_mutex_unlock(&a);
    if (seen == 0)
        return unused;
    pthread_mutex_lock(&b);
    int then = second;
    pthread_mutex_unlock(&b);
#endif
    if (seen != 0)
        good = then == seen + 1;
    return unused;
}

int main(void)
{
    pthread_t w, r;
    pthread_create(&w, NULL, writer, NULL);
    pthread_create(&r, NULL, reader, NULL);
    pthread_join(w, NULL);
    pthread_join(r, NULL);
    (void)b;
    printf("%s\n", good ? "ok" : "FAILED");
    return !good;
}
