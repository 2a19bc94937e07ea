// A lock depends on errno after a call that fails.
// run: 0 => 1
// run: 1 => 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static const char *name;
static int total;

static void *worker(void *unused) {
    (void)unused;
    errno = 0;
    FILE *file = fopen(name, "r");
    if (file == NULL && errno == ENOENT) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    if (file != NULL)
        fclose(file);
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    name = argc > 1 && atoi(argv[1]) == 1 ? "no-such-file-anywhere" : "/dev/null";
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
