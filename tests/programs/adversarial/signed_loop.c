// A loop counts up in steps and leaves when a sum wraps or a limit that shrinks meanwhile is reached.
// run: 0 => 0
// run: 3 => 2
// run: 250 => 8
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static unsigned char n;
static int total;

static void *worker(void *unused) {
    unsigned char limit = n;
    for (unsigned char i = 0; i < limit; i = (unsigned char)(i + 1 + i * 100)) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
        limit--;
    }
    return unused;
}

int main(int argc, char **argv) {
    n = (unsigned char)(argc > 1 ? atoi(argv[1]) : 0);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
