// The library calls a comparison that locks, as often as its algorithm likes.
// run: 3 1 2 => 1 2 3
// run: 1 2 3 => 1 2 3
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int compared;

static int compare(const void *a, const void *b) {
    pthread_mutex_lock(&m);
    compared++;
    pthread_mutex_unlock(&m);
    return *(const int *)a - *(const int *)b;
}

static void *worker(void *unused) {
    pthread_mutex_lock(&m);
    compared += 100;
    pthread_mutex_unlock(&m);
    return unused;
}

int main(int argc, char **argv) {
    int values[3] = {0, 0, 0};
    for (int i = 1; i < argc && i < 4; i++)
        values[i - 1] = atoi(argv[i]);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    qsort(values, 3, sizeof *values, compare);
    pthread_join(t, NULL);
    printf("%d %d %d\n", values[0], values[1], values[2]);
    return compared >= 100 ? 0 : 1;
}
