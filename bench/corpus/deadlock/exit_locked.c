/* exit_locked: a thread ends while it holds a mutex.
 *
 * Skeleton:  two workers share a budget; a worker that finds it exhausted returns at once.
 * Governs:   the budget.
 * Teaches:   an early return leaks the lock, behind an input: whoever locks next waits for
 *            ever. -DFIXED: unlocks before it returns.
 *
 * Usage: exit_locked [BUDGET]
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int budget = 2, spent;

static void *spender(void *unused)
{
    pthread_mutex_lock(&lock);
    if (budget == 0) {
#ifdef FIXED
        pthread_mutex_unlock(&lock);
#endif
        return unused;
    }
    budget--;
    spent++;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t one, two;
    if (argc > 1)
        budget = atoi(argv[1]);
    int first = budget;
    if (budget < 0)
        return 2;
    pthread_create(&one, NULL, spender, NULL);
    pthread_create(&two, NULL, spender, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    int want = first < 2 ? first : 2;
    printf("%s spent=%d\n", spent == want ? "ok" : "FAILED", spent);
    return spent != want;
}
