// Readers overlap, a writer excludes; an input turns a reader into a writer.
// run: 0 => 0 0
// run: 1 => 2 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int writing, value;

static void *worker(void *out) {
    if (writing) {
        pthread_rwlock_wrlock(&lock);
        value++;
        pthread_rwlock_unlock(&lock);
    }
    pthread_rwlock_rdlock(&lock);
    *(int *)out = value > 0;
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv) {
    writing = argc > 1 && atoi(argv[1]) == 1;
    int seen[2] = {0, 0};
    pthread_t t;
    pthread_create(&t, NULL, worker, &seen[0]);
    worker(&seen[1]);
    pthread_join(t, NULL);
    printf("%d %d\n", value, seen[0] + seen[1]);
    return 0;
}
