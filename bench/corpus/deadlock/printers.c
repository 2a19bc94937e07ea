/* printers: tasks that each need a scanner and a printer, both counted by semaphores.
 *
 * Skeleton:  N tasks, one scanner, one printer. Even tasks take a scanner and then a
 *            printer, odd ones the other way round.
 * Governs:   N.
 * Teaches:   a cycle of semaphores, which no lock-order tool sees. -DFIXED: scanner first.
 *
 * Usage: printers [N]
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_TASKS 16

static sem_t scanner, printer;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *task(void *arg)
{
    int i = *(int *)arg;
#ifdef FIXED
    sem_t *first = &scanner, *second = &printer;
    (void)i;
#else
    sem_t *first = i % 2 == 0 ? &scanner : &printer;
    sem_t *second = i % 2 == 0 ? &printer : &scanner;
#endif
    sem_wait(first);
    sem_wait(second);
    pthread_mutex_lock(&done_lock);
    done++;
    pthread_mutex_unlock(&done_lock);
    sem_post(second);
    sem_post(first);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_TASKS];
    int id[MAX_TASKS], n = argc > 1 ? atoi(argv[1]) : 3;
    if (n < 2 || n > MAX_TASKS)
        return 2;
    sem_init(&scanner, 0, 1);
    sem_init(&printer, 0, 1);
    for (int i = 0; i < n; i++) {
        id[i] = i;
        pthread_create(&thread[i], NULL, task, &id[i]);
    }
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    printf("%s done=%d\n", done == n ? "ok" : "FAILED", done);
    return done != n;
}
