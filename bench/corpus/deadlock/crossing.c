/* crossing: cars at a crossing with N entries, one mutex per quarter of the road.
 *
 * Skeleton:  N cars; a car needs the quarter in front of it and the next one, and drives
 *            through them one after the other, releasing the first before leaving.
 * Governs:   N.
 * Teaches:   locks released in the order of taking, not in reverse. -DFIXED adds a gate: a
 *            policeman's mutex is held while both quarters are taken, so no cycle can close
 *            although the lock order stays circular. -DSEMAPHORE_GATE: the policeman counts
 *            instead, at most N-1 cars are admitted.
 *
 * Usage: crossing [N]
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_CARS 16

static pthread_mutex_t quarter[MAX_CARS];
static int crossed[MAX_CARS];
static int ncars = 3;
#ifdef FIXED
static pthread_mutex_t policeman = PTHREAD_MUTEX_INITIALIZER;
#endif
#ifdef SEMAPHORE_GATE
static sem_t admitted;
#endif

static void *car(void *arg)
{
    int i = *(int *)arg, here = i, next = (i + 1) % ncars;
#ifdef FIXED
    pthread_mutex_lock(&policeman);
#endif
#ifdef SEMAPHORE_GATE
    sem_wait(&admitted);
#endif
    pthread_mutex_lock(&quarter[here]);
    pthread_mutex_lock(&quarter[next]);
#ifdef FIXED
    pthread_mutex_unlock(&policeman);
#endif
    pthread_mutex_unlock(&quarter[here]);
    crossed[i] = 1;
    pthread_mutex_unlock(&quarter[next]);
#ifdef SEMAPHORE_GATE
    sem_post(&admitted);
#endif
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_CARS];
    int id[MAX_CARS], total = 0;
    if (argc > 1)
        ncars = atoi(argv[1]);
    if (ncars < 2 || ncars > MAX_CARS)
        return 2;
#ifdef SEMAPHORE_GATE
    sem_init(&admitted, 0, (unsigned)ncars - 1);
#endif
    for (int i = 0; i < ncars; i++)
        pthread_mutex_init(&quarter[i], NULL);
    for (int i = 0; i < ncars; i++) {
        id[i] = i;
        pthread_create(&thread[i], NULL, car, &id[i]);
    }
    for (int i = 0; i < ncars; i++) {
        pthread_join(thread[i], NULL);
        total += crossed[i];
    }
    printf("%s crossed=%d\n", total == ncars ? "ok" : "FAILED", total);
    return total != ncars;
}
