/* Delays that provoke an order: linked into a program as it is, in front of its thread functions.
 *
 * HEDDLE_TURNS is a list of threads (0 is the main thread, others count as they are created). Before its n-th call of a thread
 * function a thread waits until everything in front of its n-th place in the list has been done, but never longer than a second at one
 * place: this is the program itself, only later here and there. A call counts as done when it has returned, a wait on a condition
 * variable or barrier and a join when they begin. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define PATIENCE 1000 /* milliseconds at one place */

static const char *turns;
static _Atomic(long) done;
static atomic_int created;
static _Thread_local int self;
static _Thread_local const char *mine;

__attribute__((constructor)) static void begin(void)
{
    turns = getenv("HEDDLE_TURNS");
    if (!turns)
        turns = "";
    mine = turns;
}

/* The place of this thread's next call in the list. Behind its last one: the list's end, so that nobody runs ahead. */
static long next_place(void)
{
    static _Thread_local long place = -1;
    if (!mine)
        mine = turns;
    while (*mine) {
        char *rest;
        long who = strtol(mine, &rest, 10);
        mine = *rest ? rest + 1 : rest;
        place++;
        if (who == self)
            return place;
    }
    return place + 1;
}

static long before(void)
{
    long place = next_place();
    struct timespec moment = {0, 1000000};
    for (int waited = 0; done < place && waited < PATIENCE; waited++)
        nanosleep(&moment, NULL);
    return place;
}

static void after(long place)
{
    if (done <= place)
        done = place + 1;
}

#define RETURNS(name, parameters, arguments)                                                        \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters                                                                   \
    {                                                                                              \
        long place = before();                                                                     \
        int result = __real_##name arguments;                                                      \
        after(place);                                                                              \
        return result;                                                                             \
    }

#define BEGINS(name, parameters, arguments)                                                         \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters                                                                   \
    {                                                                                              \
        after(before());                                                                           \
        return __real_##name arguments;                                                            \
    }

RETURNS(pthread_mutex_init, (pthread_mutex_t *a, const pthread_mutexattr_t *b), (a, b))
RETURNS(pthread_mutex_destroy, (pthread_mutex_t *a), (a))
RETURNS(pthread_mutex_lock, (pthread_mutex_t *a), (a))
RETURNS(pthread_mutex_trylock, (pthread_mutex_t *a), (a))
RETURNS(pthread_mutex_unlock, (pthread_mutex_t *a), (a))
RETURNS(pthread_cond_init, (pthread_cond_t *a, const pthread_condattr_t *b), (a, b))
RETURNS(pthread_cond_destroy, (pthread_cond_t *a), (a))
RETURNS(pthread_cond_signal, (pthread_cond_t *a), (a))
RETURNS(pthread_cond_broadcast, (pthread_cond_t *a), (a))
BEGINS(pthread_cond_wait, (pthread_cond_t *a, pthread_mutex_t *b), (a, b))
RETURNS(pthread_barrier_init, (pthread_barrier_t *a, const pthread_barrierattr_t *b, unsigned c), (a, b, c))
RETURNS(pthread_barrier_destroy, (pthread_barrier_t *a), (a))
BEGINS(pthread_barrier_wait, (pthread_barrier_t *a), (a))
RETURNS(pthread_rwlock_init, (pthread_rwlock_t *a, const pthread_rwlockattr_t *b), (a, b))
RETURNS(pthread_rwlock_destroy, (pthread_rwlock_t *a), (a))
RETURNS(pthread_rwlock_rdlock, (pthread_rwlock_t *a), (a))
RETURNS(pthread_rwlock_wrlock, (pthread_rwlock_t *a), (a))
RETURNS(pthread_rwlock_unlock, (pthread_rwlock_t *a), (a))
RETURNS(pthread_spin_init, (pthread_spinlock_t *a, int b), (a, b))
RETURNS(pthread_spin_destroy, (pthread_spinlock_t *a), (a))
RETURNS(pthread_spin_lock, (pthread_spinlock_t *a), (a))
RETURNS(pthread_spin_unlock, (pthread_spinlock_t *a), (a))
RETURNS(sem_init, (sem_t *a, int b, unsigned c), (a, b, c))
RETURNS(sem_destroy, (sem_t *a), (a))
RETURNS(sem_wait, (sem_t *a), (a))
RETURNS(sem_trywait, (sem_t *a), (a))
RETURNS(sem_post, (sem_t *a), (a))
RETURNS(pthread_detach, (pthread_t a), (a))
BEGINS(pthread_join, (pthread_t a, void **b), (a, b))

struct start {
    void *(*entry)(void *);
    void *argument;
    int number;
};

static void *run(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    self = start.number;
    return start.entry(start.argument);
}

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*entry)(void *), void *argument)
{
    long place = before();
    struct start *start = malloc(sizeof *start);
    *start = (struct start){entry, argument, ++created};
    int result = __real_pthread_create(thread, attr, run, start);
    after(place);
    return result;
}
