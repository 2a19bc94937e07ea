// A loop begins with the lock for which its thread waits: at one place a thread stands before the epoch's marker and, an epoch later, behind it.
// run: 0 0 => 0 1
// run: 1 1 => 1 1
// run: 2 3 => 2 3
// run: 5 1 => 5 1
// run: 0 4 => 0 4
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t inner = PTHREAD_RWLOCK_INITIALIZER;
static int rounds, turns, left;

static void *worker(void *unused) {
    pthread_mutex_lock(&m);
    for (int i = 0; i < rounds; i++) {
        pthread_rwlock_wrlock(&inner);
        turns++;
        pthread_rwlock_unlock(&inner);
    }
    pthread_mutex_unlock(&m);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc < 3)
        return 2;
    left = atoi(argv[1]);
    int asked = left;
    rounds = atoi(argv[2]) + (atoi(argv[2]) == 0);
    pthread_create(&thread, NULL, worker, NULL);
    for (;;) {
        pthread_mutex_lock(&m);
        if (left <= 0) {
            pthread_mutex_unlock(&m);
            break;
        }
        left--;
        pthread_mutex_unlock(&m);
    }
    pthread_join(thread, NULL);
    printf("%d %d\n", asked - left, turns);
    return 0;
}
