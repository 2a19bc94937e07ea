// Neighbouring bit fields share a word: writing one must not change the other, and a signed one of one bit is minus one.
// run: 0 => 0 3
// run: 1 => 1 3
// run: 3 => 1 3
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    int odd : 1;
    unsigned kind : 3;
    unsigned rest : 4;
} flags;

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int seen, kind;

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&m);
    kind = flags.kind;
    pthread_mutex_unlock(&m);
    if (flags.odd == -1) {
        pthread_mutex_lock(&m);
        seen++;
        pthread_mutex_unlock(&m);
    }
    if (flags.odd == 1) {
        pthread_mutex_lock(&m);
        pthread_mutex_lock(&m);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    flags.kind = 3;
    flags.rest = (unsigned)n;
    flags.odd = n;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d %d\n", seen, kind);
    return 0;
}
