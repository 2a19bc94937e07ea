// On one way every outcome of a branch synchronizes, on the other way one of them does not: the branch is one node for both.
// run: 0 => 12
// run: 1 => 11
// run: 2 => 20
// run: 3 => 21
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static unsigned input;
static int total;

static void add(int by) {
    pthread_mutex_lock(&m);
    total += by;
    pthread_mutex_unlock(&m);
}

static void *worker(void *unused) {
    switch (input) {
    case 2:
        break;
    case 0:
        add(1);
        add(1);
        break;
    default:
        add(1);
    }
    return unused;
}

int main(int argc, char **argv) {
    input = argc > 1 ? (unsigned)atoi(argv[1]) % 4u : 0u;
    if (input < 2u) {
        add(10);
    } else {
        add(20);
    }
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
