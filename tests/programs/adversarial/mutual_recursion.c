// Two functions call each other, each holding its lock for every level: as deep as an input says.
// run: 0 => 1 0
// run: 1 => 1 1
// run: 3 => 2 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t a, b;
static int as, bs;

static void even(int depth);

static void odd(int depth) {
    pthread_mutex_lock(&b);
    bs++;
    if (depth > 0)
        even(depth - 1);
    pthread_mutex_unlock(&b);
}

static void even(int depth) {
    pthread_mutex_lock(&a);
    as++;
    if (depth > 0)
        odd(depth - 1);
    pthread_mutex_unlock(&a);
}

static void *worker(void *depth) {
    even((int)(long)depth);
    return NULL;
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atoi(argv[1]) : 0;
    if (n < 0 || n > 3)
        return 2;
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&a, &recursive);
    pthread_mutex_init(&b, &recursive);
    pthread_t t;
    pthread_create(&t, NULL, worker, (void *)n);
    pthread_join(t, NULL);
    printf("%d %d\n", as, bs);
    return 0;
}
