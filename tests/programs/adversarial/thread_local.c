// Each thread has its own copy of what decides; main's is another one.
// run: 0 => 1 0 1
// run: 1 => 1 1 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static __thread int own = 1;
static int n, total, extra;

static void use(void) {
    if (own > 1) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
}

static void *worker(void *by) {
    use();
    own += (int)(long)by;
    use();
    if (own == 7) {
        pthread_mutex_lock(&m);
        extra++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(int argc, char **argv) {
    n = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t[2];
    own += n;
    pthread_create(&t[0], NULL, worker, (void *)0L);
    pthread_create(&t[1], NULL, worker, (void *)6L);
    use();
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("%d %d %d\n", extra, own - 1, total);
    return 0;
}
