// What a thread does depends on the order of earlier sections: any order is right, but later sections must follow from it.
// run: 0 => first=1 1 | first=2 2
// run: 1 => first=1 1 | first=2 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int first, result;

static void *worker(void *id) {
    int me = (int)(long)id;
    pthread_mutex_lock(&m);
    if (first == 0)
        first = me;
    int winner = first;
    pthread_mutex_unlock(&m);
    if (winner == me) {
        pthread_mutex_t *mine = me == 1 ? &a : &b;
        pthread_mutex_lock(mine);
        result = me;
        pthread_mutex_unlock(mine);
    }
    return NULL;
}

int main(int argc, char **argv) {
    long x = argc > 1 && atoi(argv[1]) == 1 ? 1 : 2;
    pthread_t t[2];
    pthread_create(&t[0], NULL, worker, (void *)x);
    pthread_create(&t[1], NULL, worker, (void *)(3 - x));
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    printf("first=%d %d\n", first, result);
    return 0;
}
