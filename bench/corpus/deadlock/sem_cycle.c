/* sem_cycle: two threads wait for each other's post.
 *
 * Skeleton:  ping waits for `a` and posts `b`; pong waits for `b` and posts `a`.
 * Governs:   nothing: the broken twin always hangs.
 * Teaches:   starvation of semaphores: nobody posts first. -DFIXED: `a` starts at one.
 *
 * Usage: sem_cycle [ROUNDS]
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t a, b;
static int rounds = 2, turns;

static void *ping(void *unused)
{
    for (int r = 0; r < rounds; r++) {
        sem_wait(&a);
        turns++;
        sem_post(&b);
    }
    return unused;
}

static void *pong(void *unused)
{
    for (int r = 0; r < rounds; r++) {
        sem_wait(&b);
        turns++;
        sem_post(&a);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t one, two;
    if (argc > 1)
        rounds = atoi(argv[1]);
    if (rounds < 1)
        return 2;
#ifdef FIXED
    sem_init(&a, 0, 1);
#else
    sem_init(&a, 0, 0);
#endif
    sem_init(&b, 0, 0);
    pthread_create(&one, NULL, ping, NULL);
    pthread_create(&two, NULL, pong, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    printf("%s turns=%d\n", turns == 2 * rounds ? "ok" : "FAILED", turns);
    return turns != 2 * rounds;
}
