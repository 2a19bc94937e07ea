// The bound of a loop that synchronizes overflows on the way to it, signed and unsigned.
// run: 0 => 0 0
// run: 2 => 2 2
// run: 2147483647 => 0 3
// run: 1073741824 => 0 0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static unsigned n;
static int wide, narrow;

static void *worker(void *unused) {
    (void)unused;
    unsigned quadruple = n * 4u;
    unsigned bound = quadruple <= 16u ? quadruple / 4u : 0u;
    for (unsigned i = 0; i != bound; i++) {
        pthread_mutex_lock(&m);
        wide++;
        pthread_mutex_unlock(&m);
    }
    for (unsigned char i = 0; i != (n & 3u); i++) {
        pthread_mutex_lock(&m);
        narrow++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(int argc, char **argv) {
    n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d %d\n", wide, narrow);
    return 0;
}
