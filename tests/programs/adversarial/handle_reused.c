// One pthread_t variable names two threads one after the other.
// run: 0 => 11
// run: 1 => 21
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *add(void *by) {
    pthread_mutex_lock(&m);
    total += (int)(long)by;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t, kept;
    pthread_create(&t, NULL, add, (void *)10L);
    if (n == 1) {
        kept = t;
        pthread_create(&t, NULL, add, (void *)10L);
        pthread_join(kept, NULL);
    }
    pthread_join(t, NULL);
    pthread_create(&t, NULL, add, (void *)1L);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
