// The body of a loop changes its own bound.
// run: 0 => 2
// run: 1 => 4
// run: 2 => 6
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int more, total;

static void *worker(void *unused) {
    (void)unused;
    int limit = 1;
    for (int i = 0; i < limit; i++) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
        if (i < more)
            limit++;
    }
    return NULL;
}

int main(int argc, char **argv) {
    more = argc > 1 ? atoi(argv[1]) & 3 : 0;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
