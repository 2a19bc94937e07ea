// The address of an object chooses its lock: another one in every run.
// any way: addresses differ between runs
// run: 0 => 6
// run: 3 => 12
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t stripes[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                     PTHREAD_MUTEX_INITIALIZER};
static int *cells[2];
static int by;

static void add(int *cell) {
    pthread_mutex_t *stripe = &stripes[((uintptr_t)cell >> 5) % 4];
    pthread_mutex_lock(stripe);
    *cell += by;
    pthread_mutex_unlock(stripe);
}

static void *worker(void *unused) {
    add(cells[0]);
    add(cells[1]);
    return unused;
}

int main(int argc, char **argv) {
    by = argc > 1 && atoi(argv[1]) == 3 ? 2 : 1;
    for (int i = 0; i < 2; i++) {
        cells[i] = calloc(8, sizeof(int));
        if (cells[i] == NULL)
            return 1;
    }
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    worker(NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("%d\n", *cells[0] + *cells[1]);
    return 0;
}
