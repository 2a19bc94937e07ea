// The mutex and the data are locals of main; the thread has their address.
// run: 0 => 3
// run: 1 => 5
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct shared {
    pthread_mutex_t lock;
    int value;
};

static void *worker(void *argument) {
    struct shared *shared = argument;
    pthread_mutex_lock(&shared->lock);
    shared->value += 2;
    pthread_mutex_unlock(&shared->lock);
    return NULL;
}

static int with_threads(int n) {
    struct shared shared = {PTHREAD_MUTEX_INITIALIZER, 1};
    pthread_t t[2];
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, worker, &shared);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    return shared.value;
}

int main(int argc, char **argv) {
    printf("%d\n", with_threads(argc > 1 && atoi(argv[1]) == 1 ? 2 : 1));
    return 0;
}
