// What `getopt` leaves in the library's variables is new after every call.
// run: => 0
// run: -a x -b y => 4
// run: -a x => 2
// run: -ab => 2
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static const char *first, *second;
static int before, after, total;

static void *worker(void *unused) {
    (void)unused;
    if (first != second) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    if (before != after) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(int argc, char **argv) {
    opterr = 0;
    getopt(argc, argv, "a:b:");
    first = optarg;
    before = optind;
    getopt(argc, argv, "a:b:");
    second = optarg;
    after = optind;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
