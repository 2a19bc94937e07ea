// An index is computed in 64 bits, cut to 16 and then to 8.
// run: 0 => 2 0
// run: 1 => 0 2
// run: 65536 => 2 0
// run: 65537 => 0 2
// run: 256 => 2 0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int counts[2];
static unsigned long long wide;

static void *worker(void *unused) {
    (void)unused;
    unsigned short narrow = (unsigned short)(wide * 3);
    unsigned char k = (unsigned char)narrow & 1;
    pthread_mutex_lock(&locks[k]);
    counts[k]++;
    pthread_mutex_unlock(&locks[k]);
    return NULL;
}

int main(int argc, char **argv) {
    wide = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
    printf("%d %d\n", counts[0], counts[1]);
    return 0;
}
