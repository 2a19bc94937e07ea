// A freed cell may come back at the same address: a comparison with the old pointer goes either way.
// any way: addresses differ between runs
// run: 0 => 1 | 2
// run: 1 => 2
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total, same;

static void *worker(void *unused) {
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    if (!same) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    return unused;
}

int main(int argc, char **argv) {
    int keep = argc > 1 && atoi(argv[1]) == 1;
    void *old = malloc(24);
    uintptr_t was = (uintptr_t)old;
    if (!keep)
        free(old);
    void *new = malloc(24);
    same = (uintptr_t)new == was;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
