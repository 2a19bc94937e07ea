// A condition variable is destroyed and made again between two uses; who waited on the first was woken on the first.
// run: 0 => 1
// run: 1 => 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c;
static int ready, done;

static void *waiter(void *unused) {
    pthread_mutex_lock(&m);
    while (!ready)
        pthread_cond_wait(&c, &m);
    done++;
    pthread_mutex_unlock(&m);
    return unused;
}

static void life(void) {
    pthread_t t;
    pthread_cond_init(&c, NULL);
    ready = 0;
    pthread_create(&t, NULL, waiter, NULL);
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
    pthread_cond_destroy(&c);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    life();
    if (n == 1)
        life();
    printf("%d\n", done);
    return 0;
}
