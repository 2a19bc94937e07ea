// A timed lock gives up because its time is over before it begins.
// run: 0 => timeout 1
// run: 1 => locked 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total;
static const char *result;

static void *worker(void *unused) {
    (void)unused;
    struct timespec past = {0, 0};
    if (pthread_mutex_timedlock(&m, &past) == 0) {
        total++;
        pthread_mutex_unlock(&m);
        result = "locked";
    } else {
        result = "timeout";
    }
    return NULL;
}

int main(int argc, char **argv) {
    int released = argc > 1 && atoi(argv[1]) == 1;
    pthread_mutex_lock(&m);
    total++;
    if (released)
        pthread_mutex_unlock(&m);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    if (!released)
        pthread_mutex_unlock(&m);
    printf("%s %d\n", result, total);
    return 0;
}
