// Preloaded into a program: a random delay behind every lock it takes and before every thread it starts, by DELAYS_SEED.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static _Atomic uint64_t counter;

static uint64_t next_random(void) {
    const char *seed = getenv("DELAYS_SEED");
    uint64_t word = (seed ? strtoull(seed, NULL, 10) : 0) * 0xd1342543de82ef95u + ++counter * 0x9e3779b97f4a7c15u;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

static void delay(void) {
    uint64_t random = next_random();
    if (random % 4 != 0)
        return;
    struct timespec pause = {0, (long)((random >> 8) % 400000)};
    nanosleep(&pause, NULL);
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    static int (*real)(pthread_mutex_t *);
    if (!real)
        real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
    int result = real(mutex);
    delay();
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*entry)(void *), void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real)
        real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    delay();
    return real(thread, attributes, entry, argument);
}
