// What cannot happen on the first way through happens on the second: nothing may be learned from the impossible side.
// run: 0 => 1
// run: 1 => 11
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int p, total;

static void *worker(void *unused) {
    (void)unused;
    int x;
    if (p == 0)
        x = 0;
    else
        x = 1;
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    if (x == 1) {
        pthread_mutex_lock(&m);
        total += 5;
        pthread_mutex_unlock(&m);
        pthread_mutex_lock(&m);
        total += 5;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(int argc, char **argv) {
    p = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
