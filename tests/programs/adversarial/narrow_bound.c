// A loop bound wraps in eight bits.
// run: 0 => 0
// run: 2 => 8
// run: 64 => 0
// run: 65 => 8
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static unsigned char bound;
static int total;

static void *worker(void *unused) {
    (void)unused;
    for (unsigned char i = 0; i < bound; i++) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(int argc, char **argv) {
    unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    if (n > 65 || (n > 2 && n < 64))
        n = 2;
    bound = (unsigned char)(n * 4u);
    if (n == 2)
        bound = 4;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
