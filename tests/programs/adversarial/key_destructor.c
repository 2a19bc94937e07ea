// The destructor of thread-specific data locks when its thread ends.
// run: 0 => 0
// run: 1 => 5
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static int use, total;

static void destroy(void *value) {
    pthread_mutex_lock(&m);
    total += *(int *)value;
    pthread_mutex_unlock(&m);
}

static void *worker(void *unused) {
    static int five = 5;
    (void)unused;
    if (use)
        pthread_setspecific(key, &five);
    return NULL;
}

int main(int argc, char **argv) {
    use = argc > 1 && atoi(argv[1]) == 1;
    pthread_key_create(&key, destroy);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
