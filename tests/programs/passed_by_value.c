// What a function writes into a structure that it got by value is its own, and decides which locks it takes.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct large {
    int at[16];
};

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int taken;

__attribute__((noinline)) static void fill(struct large given, int count) {
    for (int i = 0; i < count; i++)
        given.at[i] = i + 1;
    if (given.at[0]) {
        pthread_mutex_lock(&first);
        taken += 1;
        pthread_mutex_unlock(&first);
    }
    if (given.at[2]) {
        pthread_mutex_lock(&second);
        taken += 10;
        pthread_mutex_unlock(&second);
    }
}

static void *worker(void *count) {
    struct large mine = {{0}};
    fill(mine, *(int *)count);
    return mine.at[0] ? count : NULL;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t thread;
    void *changed;
    pthread_create(&thread, NULL, worker, &count);
    pthread_join(thread, &changed);
    printf("%d %d\n", taken, changed != NULL);
    return 0;
}
