// A floating-point comparison decides over a section.
// run: 0.25 => 1
// run: 0.75 => 2
// run: nan => 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static double level;
static int total;

static void *worker(void *unused) {
    (void)unused;
    if (level * 2.0 > 1.0) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    level = argc > 1 ? atof(argv[1]) : 0.0;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
