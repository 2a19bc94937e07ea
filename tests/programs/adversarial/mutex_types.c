// A recursive mutex counts, an error-checking one refuses, a try on a held one fails.
// run: 0 => 3 EDEADLK EBUSY EPERM
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>

static pthread_mutex_t recursive, checking, plain = PTHREAD_MUTEX_INITIALIZER;
static int total;

static const char *name(int error) {
    switch (error) {
    case EDEADLK: return "EDEADLK";
    case EBUSY: return "EBUSY";
    case EPERM: return "EPERM";
    default: return "other";
    }
}

static int busy, perm;

static void *worker(void *unused) {
    (void)unused;
    busy = pthread_mutex_trylock(&plain);
    perm = pthread_mutex_unlock(&checking);
    pthread_mutex_lock(&recursive);
    total++;
    pthread_mutex_unlock(&recursive);
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &attr);
    pthread_mutex_lock(&plain);
    pthread_mutex_lock(&checking);
    int relock = pthread_mutex_lock(&checking);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    total += 2;
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    pthread_mutex_unlock(&checking);
    pthread_mutex_unlock(&plain);
    printf("%d %s %s %s\n", total, name(relock), name(busy), name(perm));
    return 0;
}
