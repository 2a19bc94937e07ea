/* elastic: N optional critical sections, each guarded by its own input bit.
 *
 * Skeleton:  main and one worker pass N guarded sections `if (x[i]) { lock(l[i]) ... }`.
 * Governs:   the bits of argv[2..]: 2^N combinations natively.
 * Teaches:   an optional, balanced critical section needs no decision: one schedule serves
 *            both outcomes. Deciding each bit gives 2^32 schedules at N = 32.
 *
 * Usage: elastic BITS [BITS]        BITS is a string of 0 and 1, one per section
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifndef N
#define N 32
#endif

static pthread_mutex_t lock[N];
static int wanted[2][N];
static int counter[N];

static void pass(const int *mine)
{
    for (int i = 0; i < N; i++)
        if (mine[i]) {
            pthread_mutex_lock(&lock[i]);
            counter[i]++;
            pthread_mutex_unlock(&lock[i]);
        }
}

static void *worker(void *arg)
{
    pass(arg);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t other;
    int expected = 0, sum = 0;
    for (int t = 0; t < 2 && t + 1 < argc; t++)
        for (int i = 0; i < N && argv[t + 1][i] != '\0'; i++) {
            wanted[t][i] = argv[t + 1][i] == '1';
            expected += wanted[t][i];
        }
    for (int i = 0; i < N; i++)
        pthread_mutex_init(&lock[i], NULL);
    pthread_create(&other, NULL, worker, wanted[1]);
    pass(wanted[0]);
    pthread_join(other, NULL);
    for (int i = 0; i < N; i++)
        sum += counter[i];
    printf("%s sections=%d\n", sum == expected ? "ok" : "FAILED", sum);
    return sum != expected;
}
