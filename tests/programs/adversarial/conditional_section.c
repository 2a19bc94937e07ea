// The same condition is tested twice, around lock and unlock, with work between.
// run: 0 => 0
// run: 1 => 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int on, total;

static void *worker(void *unused) {
    (void)unused;
    int mine = on;
    if (mine)
        pthread_mutex_lock(&m);
    for (int i = 0; i < 3 && mine; i++)
        if (i == 1)
            total++;
    if (mine)
        pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    on = argc > 1 && atoi(argv[1]) == 1;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
