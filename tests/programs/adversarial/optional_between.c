// A section that may be skipped stands between two that may not: skipping it must not lose their order.
// run: 0 => 8
// run: 1 => 9 | 10 | 12
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int between, n = 2;

static void *always(void *unused) {
    (void)unused;
    pthread_mutex_lock(&m);
    n *= 2;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *sometimes(void *unused) {
    (void)unused;
    if (between) {
        pthread_mutex_lock(&m);
        n++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(int argc, char **argv) {
    between = argc > 1 && atoi(argv[1]) == 1;
    pthread_t t[3];
    pthread_create(&t[0], NULL, always, NULL);
    pthread_create(&t[1], NULL, sometimes, NULL);
    pthread_create(&t[2], NULL, always, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    printf("%d\n", n);
    return 0;
}
