// The initializer of a once locks, and an input decides who calls it first.
// run: 0 => 1 2
// run: 1 => 1 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int initialized, total;

static void init(void) {
    pthread_mutex_lock(&m);
    initialized++;
    pthread_mutex_unlock(&m);
}

static void *worker(void *unused) {
    (void)unused;
    pthread_once(&once, init);
    pthread_mutex_lock(&m);
    total += initialized;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1 && atoi(argv[1]) == 1)
        pthread_once(&once, init);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
    printf("%d %d\n", initialized, total);
    return 0;
}
