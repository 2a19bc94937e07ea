// An input decides which of two locks each of several threads takes: two schedules, one per outcome.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
static int use_left;
static int total;

static void *worker(void *argument) {
    int amount = *(int *)argument;
    if (use_left) {
        pthread_mutex_lock(&left);
        total += amount;
        pthread_mutex_unlock(&left);
    } else {
        pthread_mutex_lock(&right);
        total += amount;
        pthread_mutex_unlock(&right);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[3];
    int amounts[3] = {1, 10, 100};
    use_left = argc > 1 && atoi(argv[1]) > 0;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, worker, &amounts[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%s %d\n", use_left ? "left" : "right", total);
    return 0;
}
