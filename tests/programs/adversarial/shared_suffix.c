// Three ways lead into one suffix, two of them alike; the third must not be taken for covered by them.
// run: 0 => 10
// run: 1 => 110
// run: 2 => 111
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int p, total;

static void add(int by) {
    pthread_mutex_lock(&m);
    total += by;
    pthread_mutex_unlock(&m);
}

static void *worker(void *unused) {
    (void)unused;
    int x = 0;
    if (p == 0)
        goto seven;
    if (p != 1)
        x = 3;
    add(100);
seven:
    if (x == 3)
        add(1);
    add(10);
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
