// Text of an argument chooses the lock: comparison, length, a character with its top bit set.
// run: left => 2 0
// run: right => 0 2
// run: le => 0 2
// run:  => 0 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int counts[2];
static const char *text = "";

static void *worker(void *unused) {
    (void)unused;
    int k = strcmp(text, "left") == 0 && strlen(text) == 4 ? 0 : 1;
    pthread_mutex_lock(&locks[k]);
    counts[k]++;
    pthread_mutex_unlock(&locks[k]);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1)
        text = argv[1];
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
    printf("%d %d\n", counts[0], counts[1]);
    return 0;
}
