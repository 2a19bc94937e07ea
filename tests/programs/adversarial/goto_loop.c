// Backward and forward jumps; one backward jump only for one input.
// run: 0 => 2
// run: 1 => 4
// run: 2 => 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int again, total;

static void *worker(void *unused) {
    (void)unused;
    int turn = 0;
repeat:
    if (turn > 1)
        goto out;
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    turn++;
    if (again == 1)
        goto repeat;
out:
    return NULL;
}

int main(int argc, char **argv) {
    again = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
