// A volatile is read twice: both reads are made, and the second may not be taken from the first.
// run: 0 => 1 1
// run: 1 => 2 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static volatile int flag;
static int in_a, in_b;

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&a);
    in_a += flag ? 2 : 1;
    flag = !flag;
    pthread_mutex_unlock(&a);
    pthread_mutex_t *second = flag ? &a : &b;
    pthread_mutex_lock(second);
    in_b += flag ? 1 : 2;
    pthread_mutex_unlock(second);
    return NULL;
}

int main(int argc, char **argv) {
    flag = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d %d\n", in_a, in_b);
    return 0;
}
