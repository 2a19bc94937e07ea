/* philosophers: the dining philosophers.
 *
 * Skeleton:  N threads in a ring share N mutexes; each takes its left fork, then its right.
 * Governs:   N.
 * Teaches:   a cycle through all N locks. -DFIXED: the lower-numbered fork first, so the
 *            last philosopher reaches to the other side.
 *
 * Usage: philosophers [N] [MEALS]
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_SEATS 16

static pthread_mutex_t fork_lock[MAX_SEATS];
static int eaten[MAX_SEATS]; /* [i] belongs to philosopher i */
static int seats = 3, meals = 1;

static void *philosopher(void *arg)
{
    int i = *(int *)arg, left = i, right = (i + 1) % seats;
#ifdef FIXED
    int first = left < right ? left : right, second = left < right ? right : left;
#else
    int first = left, second = right;
#endif
    for (int m = 0; m < meals; m++) {
        pthread_mutex_lock(&fork_lock[first]);
        pthread_mutex_lock(&fork_lock[second]);
        eaten[i]++;
        pthread_mutex_unlock(&fork_lock[second]);
        pthread_mutex_unlock(&fork_lock[first]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_SEATS];
    int id[MAX_SEATS], total = 0;
    if (argc > 1)
        seats = atoi(argv[1]);
    if (argc > 2)
        meals = atoi(argv[2]);
    if (seats < 2 || seats > MAX_SEATS || meals < 0)
        return 2;
    for (int i = 0; i < seats; i++)
        pthread_mutex_init(&fork_lock[i], NULL);
    for (int i = 0; i < seats; i++) {
        id[i] = i;
        pthread_create(&thread[i], NULL, philosopher, &id[i]);
    }
    for (int i = 0; i < seats; i++) {
        pthread_join(thread[i], NULL);
        total += eaten[i];
    }
    printf("%s meals=%d\n", total == seats * meals ? "ok" : "FAILED", total);
    return total != seats * meals;
}
