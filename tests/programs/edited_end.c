// A loop that synchronizes as often as an input says, and a last function that only the end of the program runs.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds, total;

static int report(int sum);

static void *worker(void *unused) {
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&lock);
        total += i;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : 3;
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    worker(NULL);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&lock);
    int sum = total;
    pthread_mutex_unlock(&lock);
    printf("%d\n", report(sum));
    return 0;
}

static int report(int sum) {
    pthread_mutex_lock(&lock);
    int result = sum + 1;
    pthread_mutex_unlock(&lock);
    return result;
}
