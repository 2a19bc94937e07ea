// The same argument read twice is the same number, also where a helper looks only if it is there: what would need two is no deadlock.
// run: => 0
// run: 5 => 1
// run: 6 => 0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int the_argc, first, count;
static char **the_argv;

static int number(int k) {
    if (the_argc <= 1 + k)
        return 0;
    return atoi(the_argv[1 + k]);
}

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&m);
    if (first == 5) {
        if (number(0) == 6)
            pthread_mutex_lock(&m);
        count++;
    }
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t t;
    the_argc = argc;
    the_argv = argv;
    first = number(0);
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", count);
    return 0;
}
