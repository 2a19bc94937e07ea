// A library function calls back into code that locks, as often as it likes.
// run: 0 => 1 2 3 ok
// run: 1 => 1 2 3 ok
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int comparisons;

static int compare(const void *a, const void *b) {
    pthread_mutex_lock(&m);
    comparisons++;
    pthread_mutex_unlock(&m);
    return *(const int *)a - *(const int *)b;
}

static void *worker(void *array) {
    qsort(array, 3, sizeof(int), compare);
    return NULL;
}

int main(int argc, char **argv) {
    int one[3] = {3, 1, 2}, two[3] = {2, 3, 1};
    if (argc > 1 && atoi(argv[1]) == 1)
        two[0] = 1, two[1] = 2, two[2] = 3;
    pthread_t t;
    pthread_create(&t, NULL, worker, one);
    worker(two);
    pthread_join(t, NULL);
    printf("%d %d %d %s\n", one[0], two[1], two[2], comparisons > 3 ? "ok" : "few");
    return 0;
}
