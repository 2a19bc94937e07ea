// Which lock a thread takes depends on a cell that another thread stores twice, through an index that a third one chose.
// run: 0 => 1 0 | 0 1
// run: 1 => 1 0 | 0 1
// run: 3 => 1 0 | 0 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static unsigned cell[2], k, input;
static int counts[2];

static void *storer(void *unused) {
    (void)unused;
    pthread_mutex_lock(&guard);
    cell[0] = 3;
    pthread_mutex_unlock(&guard);
    pthread_mutex_lock(&guard);
    cell[0] = 0;
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void *taker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&guard);
    unsigned i = k % 2;
    pthread_mutex_unlock(&guard);
    pthread_mutex_lock(&guard);
    unsigned j = cell[i] % 2;
    pthread_mutex_unlock(&guard);
    pthread_mutex_lock(&locks[j]);
    counts[j]++;
    pthread_mutex_unlock(&locks[j]);
    return NULL;
}

static void *chooser(void *unused) {
    (void)unused;
    pthread_mutex_lock(&guard);
    k = input;
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(int argc, char **argv) {
    input = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    pthread_t a, b, c;
    pthread_create(&a, NULL, storer, NULL);
    pthread_create(&b, NULL, taker, NULL);
    pthread_create(&c, NULL, chooser, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    printf("%d %d\n", counts[0], counts[1]);
    return 0;
}
