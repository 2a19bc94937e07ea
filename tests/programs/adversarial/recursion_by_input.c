// An input decides how deep a recursion locks.
// run: 0 => 0
// run: 1 => 2
// run: 3 => 6
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int depth, total;

static void dive(int n) {
    if (n == 0)
        return;
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    dive(n - 1);
}

static void *worker(void *unused) {
    (void)unused;
    dive(depth);
    return NULL;
}

int main(int argc, char **argv) {
    depth = argc > 1 ? atoi(argv[1]) & 3 : 0;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    dive(depth);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
