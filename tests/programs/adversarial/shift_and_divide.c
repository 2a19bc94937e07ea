// Signed and unsigned shifts and divisions of the same bits choose different locks.
// run: -8 => 1 1 1 0
// run: 8 => 0 2 0 1
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                               PTHREAD_MUTEX_INITIALIZER};
static int counts[4], n;

static void take(int k) {
    pthread_mutex_lock(&m[k]);
    counts[k]++;
    pthread_mutex_unlock(&m[k]);
}

static void *worker(void *unused) {
    if (n >> 2 == n / 4 && n / 3 < 0)
        take(0);
    else
        take(1);
    if ((unsigned)n >> 28 == 15u && (unsigned)n / 4u > (unsigned)INT_MAX / 4u)
        take(2);
    else
        take(1);
    return unused;
}

int main(int argc, char **argv) {
    n = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    if ((signed char)(n * 16) > 0 || (short)n > 0)
        take(3);
    else
        take(1);
    pthread_join(t, NULL);
    printf("%d %d %d %d\n", counts[0], counts[1], counts[2], counts[3]);
    return 0;
}
