// Which work is done depends on a variable that can be read early; what is synchronized does not: one schedule a round.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds, step = 2, total;

static void add(int amount) {
    pthread_mutex_lock(&lock);
    total += amount;
    pthread_mutex_unlock(&lock);
}

static void *worker(void *unused) {
    for (int i = 0; i < rounds; i++) {
        if (step > 3)
            add(step);
        else
            add(-step);
    }
    return unused;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : 3;
    step = argc > 2 ? atoi(argv[2]) : 2;
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    worker(NULL);
    pthread_join(thread, NULL);
    printf("%d\n", total);
    return 0;
}
