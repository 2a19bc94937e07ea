// Deadlocks exactly when the first argument is 7: the report must name that input.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char **argv) {
    int level = argc > 1 ? atoi(argv[1]) : 0;
    pthread_mutex_lock(&lock);
    if (level == 7)
        pthread_mutex_lock(&lock);
    puts("in");
    pthread_mutex_unlock(&lock);
    return 0;
}
