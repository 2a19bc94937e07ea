// Handles lie in memory that is overwritten, swapped and copied before the threads are joined.
// run: 0 => 12 0
// run: 1 => 12 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total, first_was;

static void *add(void *by) {
    pthread_mutex_lock(&m);
    total += (int)(long)by;
    pthread_mutex_unlock(&m);
    return by;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t handle[2], copy[2];
    void *result;
    pthread_create(&handle[0], NULL, add, (void *)2L);
    memcpy(&copy[0], &handle[0], sizeof copy[0]);
    pthread_create(&handle[0], NULL, add, (void *)10L);
    copy[1] = handle[0];
    handle[0] = copy[n != 0];
    handle[1] = copy[n == 0];
    memset(copy, 0, sizeof copy);
    pthread_join(handle[0], &result);
    first_was = (long)result == 10;
    pthread_join(handle[1], NULL);
    printf("%d %d\n", total, first_was);
    return 0;
}
