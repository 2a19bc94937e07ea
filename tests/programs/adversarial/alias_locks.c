// Two lock pointers are the same lock for some inputs; the program knows and does not relock.
// run: 0 => 10
// run: 1 => 10
// run: 2 => 10
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int from, to, total;

static void *move(void *unused) {
    (void)unused;
    pthread_mutex_t *a = &locks[from], *b = &locks[to];
    pthread_mutex_t *first = a < b ? a : b, *second = a < b ? b : a;
    pthread_mutex_lock(first);
    if (a != b)
        pthread_mutex_lock(second);
    total += 5;
    if (a != b)
        pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    from = n & 1;
    to = n == 2 ? 1 : 0;
    // Either way both threads hold lock 0 when they add, or both hold the same single lock.
    if (from == 1 && to == 0)
        to = 0;
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, move, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("%d\n", total);
    return 0;
}
