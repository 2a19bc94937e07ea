// Two waiters with different predicates share a condition variable: a broadcast wakes both, one goes back to sleep.
// run: 0 => ready 1 2
// run: 1 => ready 1 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int stage, seen_by_low, seen_by_high;

static void *low(void *unused) {
    (void)unused;
    pthread_mutex_lock(&m);
    while (stage < 1)
        pthread_cond_wait(&c, &m);
    seen_by_low = 1;
    stage = 2;
    pthread_cond_broadcast(&c);
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *high(void *unused) {
    (void)unused;
    pthread_mutex_lock(&m);
    while (stage < 2)
        pthread_cond_wait(&c, &m);
    seen_by_high = 2;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    int order = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t[2];
    pthread_create(&t[0], NULL, order ? high : low, NULL);
    pthread_create(&t[1], NULL, order ? low : high, NULL);
    pthread_mutex_lock(&m);
    stage = 1;
    pthread_cond_broadcast(&c);
    pthread_mutex_unlock(&m);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    printf("ready %d %d\n", seen_by_low, seen_by_high);
    return 0;
}
