// Locked in one function, unlocked in another, both under the same condition.
// run: 0 => 2
// run: 1 => 4
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int guarded, total;

static void enter(void) {
    if (guarded)
        pthread_mutex_lock(&m);
}

static void leave(void) {
    if (guarded)
        pthread_mutex_unlock(&m);
}

static void *worker(void *unused) {
    (void)unused;
    enter();
    pthread_mutex_lock(&other);
    total += guarded ? 2 : 1;
    pthread_mutex_unlock(&other);
    leave();
    return NULL;
}

int main(int argc, char **argv) {
    guarded = argc > 1 && atoi(argv[1]) == 1;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
