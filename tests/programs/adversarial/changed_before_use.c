// The value a branch tests is changed after the program has read it once: early knowledge of it would be stale.
// run: 0 => 1
// run: 1 => 2
// run: 2 => 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int mode, total;

static void *worker(void *unused) {
    (void)unused;
    if (mode) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    mode = n == 1;
    pthread_mutex_lock(&m);
    if (mode == 0 && n == 2)
        mode = 1;
    pthread_mutex_unlock(&m);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
