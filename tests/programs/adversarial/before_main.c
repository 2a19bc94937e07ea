// Locks and a flag are used before main begins and after it has returned.
// run: 0 => 7
// run: 1 => 8
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total, chosen;

__attribute__((constructor)) static void before(void) {
    pthread_mutex_lock(&m);
    total += 4;
    pthread_mutex_unlock(&m);
}

static void after(void) {
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    if (chosen) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    printf("%d\n", total);
}

static void *worker(void *unused) {
    pthread_mutex_lock(&m);
    total += 2;
    pthread_mutex_unlock(&m);
    return unused;
}

int main(int argc, char **argv) {
    chosen = argc > 1 && atoi(argv[1]) == 1;
    atexit(after);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    return 0;
}
