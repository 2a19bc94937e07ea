// The signal comes before anybody waits; the predicate remembers it.
// run: 0 => 5
// run: 1 => 5
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready, value;

static void *consumer(void *unused) {
    (void)unused;
    pthread_mutex_lock(&m);
    while (!ready)
        pthread_cond_wait(&c, &m);
    value = 5;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void produce(void) {
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_mutex_unlock(&m);
    pthread_cond_signal(&c);
}

int main(int argc, char **argv) {
    int early = argc > 1 && atoi(argv[1]) == 1;
    pthread_t t;
    if (early)
        produce();
    pthread_create(&t, NULL, consumer, NULL);
    if (!early)
        produce();
    pthread_join(t, NULL);
    printf("%d\n", value);
    return 0;
}
