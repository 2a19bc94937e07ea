// A lock is held while threads are created that need it, and by the one who joins a thread that does not.
// run: 0 => 3
// run: 1 => 3
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *needs(void *unused) {
    (void)unused;
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *other(void *unused) {
    (void)unused;
    pthread_mutex_lock(&n);
    pthread_mutex_unlock(&n);
    return NULL;
}

int main(int argc, char **argv) {
    int join_inside = argc > 1 && atoi(argv[1]) == 1;
    pthread_t a, b, c;
    pthread_mutex_lock(&m);
    pthread_create(&a, NULL, needs, NULL);
    pthread_create(&b, NULL, needs, NULL);
    pthread_create(&c, NULL, other, NULL);
    if (join_inside)
        pthread_join(c, NULL);
    total++;
    pthread_mutex_unlock(&m);
    if (!join_inside)
        pthread_join(c, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", total);
    return 0;
}
