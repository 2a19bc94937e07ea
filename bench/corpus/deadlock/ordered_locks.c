/* ordered_locks: locks chosen by the input, taken in the order of their places.
 *
 * Skeleton:  two workers; worker i needs the shelves X and Y of the input, worker 1 the other
 *            way around.
 * Governs:   X, Y.
 * Teaches:   locks of one array by index from outside: with -DFIXED the smaller one comes first,
 *            and X == Y takes one lock only, so nothing can happen for any input. Without it
 *            different shelves deadlock, and equal ones are locked twice.
 *
 * Usage: ordered_locks [X Y]      (0..3)
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define SHELVES 4

static pthread_mutex_t shelf[SHELVES] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
};
static int want[2] = {0, 1};
static int moved[2]; /* [i] belongs to worker i */

static void *worker(void *arg)
{
    int i = *(int *)arg, first = want[i], second = want[1 - i];
#ifdef FIXED
    if (first > second) {
        int other = first;
        first = second;
        second = other;
    }
    pthread_mutex_lock(&shelf[first]);
    if (first != second)
        pthread_mutex_lock(&shelf[second]);
    moved[i]++;
    if (first != second)
        pthread_mutex_unlock(&shelf[second]);
    pthread_mutex_unlock(&shelf[first]);
#else
    pthread_mutex_lock(&shelf[first]);
    pthread_mutex_lock(&shelf[second]);
    moved[i]++;
    pthread_mutex_unlock(&shelf[second]);
    pthread_mutex_unlock(&shelf[first]);
#endif
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[2];
    int id[2] = {0, 1};
    if (argc == 3) {
        want[0] = atoi(argv[1]);
        want[1] = atoi(argv[2]);
    }
    for (int i = 0; i < 2; i++)
        if (want[i] < 0 || want[i] >= SHELVES)
            return 2;
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, worker, &id[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    printf("%s moved=%d\n", moved[0] + moved[1] == 2 ? "ok" : "FAILED", moved[0] + moved[1]);
    return moved[0] + moved[1] != 2;
}
