// What a thread returned decides what main locks next.
// run: 0 => 0 1
// run: 1 => 1 0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int input, counts[2];

static void *worker(void *unused) {
    (void)unused;
    return input == 1 ? &locks[0] : &locks[1];
}

int main(int argc, char **argv) {
    input = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t;
    void *chosen;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, &chosen);
    pthread_mutex_lock(chosen);
    counts[(pthread_mutex_t *)chosen - locks]++;
    pthread_mutex_unlock(chosen);
    printf("%d %d\n", counts[0], counts[1]);
    return 0;
}
