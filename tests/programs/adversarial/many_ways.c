// A switch with many ways, some of which fall into the next, and a default.
// run: 0 => 1
// run: 1 => 110
// run: 2 => 100
// run: 5 => 1000
// run: -7 => 3000
// run: 99 => 1000
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n, total;

static void add(int by) {
    pthread_mutex_lock(&m);
    total += by;
    pthread_mutex_unlock(&m);
}

static void *worker(void *unused) {
    switch (n) {
    case 0:
        total++;
        break;
    case 1:
        add(10);
        /* fall through */
    case 2:
    case 3:
        add(100);
        break;
    case -7:
        add(1000);
        add(1000);
        /* fall through */
    default:
        add(1000);
    }
    return unused;
}

int main(int argc, char **argv) {
    n = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
