/* Time-outs by a named clock, signal masks, and a signal whose handler does not synchronize. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready;
static pthread_cond_t other = PTHREAD_COND_INITIALIZER;
static sem_t empty;
static int full;
static volatile sig_atomic_t signals;

static void count(int number)
{
    signals += number == SIGUSR1;
}

static struct timespec in(long milliseconds, clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_nsec += milliseconds * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static void *producer(void *unused)
{
    pthread_mutex_lock(&lock);
    full = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_condattr_t attr;
    sigset_t set, old;
    signal(SIGUSR1, count);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&ready, &attr);
    sem_init(&empty, 0, 0);
    pthread_create(&thread, NULL, producer, NULL);
    pthread_kill(thread, 0);
    pthread_kill(pthread_self(), SIGUSR1);
    pthread_mutex_lock(&lock);
    struct timespec far = in(60000, CLOCK_MONOTONIC);
    while (!full)
        pthread_cond_timedwait(&ready, &lock, &far);
    struct timespec soon = in(5, CLOCK_MONOTONIC);
    int first = pthread_cond_clockwait(&other, &lock, CLOCK_MONOTONIC, &soon);
    pthread_mutex_unlock(&lock);
    soon = in(5, CLOCK_MONOTONIC);
    int second = sem_clockwait(&empty, CLOCK_MONOTONIC, &soon);
    far = in(60000, CLOCK_REALTIME);
    int third = pthread_mutex_clocklock(&lock, CLOCK_REALTIME, &far);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    printf("%d %d %d %d %d\n", first == ETIMEDOUT, second, third, full, (int)signals);
    return 0;
}
