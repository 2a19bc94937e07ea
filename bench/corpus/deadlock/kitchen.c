/* kitchen: cooks who wait for appliances while holding others; monitor style.
 *
 * Skeleton:  N cooks, N appliances, one mutex with one condition variable. Cook i claims
 *            appliance i, then waits until appliance i+1 (mod N) is free and claims it.
 * Governs:   N.
 * Teaches:   hold-and-wait hidden behind a condition variable: no mutex is ever held while
 *            blocked, yet all cooks can wait for each other. -DFIXED: a cook waits until both
 *            appliances are free and claims them together.
 *
 * Usage: kitchen [N]
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_COOKS 16

static pthread_mutex_t kitchen = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static int busy[MAX_COOKS];
static int ncooks = 3, dishes;

static void claim(int one, int two)
{
    pthread_mutex_lock(&kitchen);
#ifdef FIXED
    while (busy[one] || busy[two])
        pthread_cond_wait(&freed, &kitchen);
    busy[one] = busy[two] = 1;
    pthread_mutex_unlock(&kitchen);
#else
    while (busy[one])
        pthread_cond_wait(&freed, &kitchen);
    busy[one] = 1;
    pthread_mutex_unlock(&kitchen);
    pthread_mutex_lock(&kitchen);
    while (busy[two])
        pthread_cond_wait(&freed, &kitchen);
    busy[two] = 1;
    pthread_mutex_unlock(&kitchen);
#endif
}

static void *cook(void *arg)
{
    int i = *(int *)arg, next = (i + 1) % ncooks;
    claim(i, next);
    pthread_mutex_lock(&kitchen);
    dishes++;
    busy[i] = busy[next] = 0;
    pthread_cond_broadcast(&freed);
    pthread_mutex_unlock(&kitchen);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_COOKS];
    int id[MAX_COOKS];
    if (argc > 1)
        ncooks = atoi(argv[1]);
    if (ncooks < 2 || ncooks > MAX_COOKS)
        return 2;
    for (int i = 0; i < ncooks; i++) {
        id[i] = i;
        pthread_create(&thread[i], NULL, cook, &id[i]);
    }
    for (int i = 0; i < ncooks; i++)
        pthread_join(thread[i], NULL);
    printf("%s dishes=%d\n", dishes == ncooks ? "ok" : "FAILED", dishes);
    return dishes != ncooks;
}
