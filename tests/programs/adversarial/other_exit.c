// A loop that usually ends by its count ends by a break for one input.
// run: 0 => 8
// run: 1 => 8
// run: 3 => 5
// run: 9 => 8
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int stop_at, total;

static void *worker(void *unused) {
    (void)unused;
    for (int i = 0; i < 4; i++) {
        if (i == stop_at && stop_at == 3)
            break;
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(int argc, char **argv) {
    stop_at = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    for (int i = 4; i > 0; i--) {
        if (stop_at == 3 && i == 2)
            break;
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
