/* Deferred cancellation: of a thread that waits on a condition variable, of one that asks itself, of one that had it disabled;
 * cleanup handlers hold and give up the mutex. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t ready, go;
static int cleaned, disabled_work;

static void give_up(void *what)
{
    cleaned += *(int *)what;
    pthread_mutex_unlock(&lock);
}

static void *waits(void *unused)
{
    int one = 1;
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(give_up, &one);
    sem_post(&ready);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(0);
    return unused;
}

static void note(void *what)
{
    pthread_mutex_lock(&lock);
    cleaned += *(int *)what;
    pthread_mutex_unlock(&lock);
}

static void *asks(void *unused)
{
    int ten = 10, hundred = 100;
    pthread_cleanup_push(note, &hundred);
    pthread_cleanup_push(note, &ten);
    pthread_testcancel();
    sem_post(&ready);
    sem_wait(&go);
    pthread_testcancel();
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return unused;
}

static void *shielded(void *unused)
{
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    sem_post(&ready);
    sem_wait(&go);
    disabled_work = 1;
    pthread_setcancelstate(old, NULL);
    pthread_testcancel();
    disabled_work = 2;
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    void *result;
    int cancelled = 0;
    sem_init(&ready, 0, 0);
    sem_init(&go, 0, 0);
    pthread_create(&threads[0], NULL, waits, NULL);
    pthread_create(&threads[1], NULL, asks, NULL);
    pthread_create(&threads[2], NULL, shielded, NULL);
    for (int i = 0; i < 3; i++)
        sem_wait(&ready);
    for (int i = 0; i < 3; i++)
        pthread_cancel(threads[i]);
    sem_post(&go);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("%d %d %d\n", cancelled, cleaned, disabled_work);
    return 0;
}
