// The remainder of a negative number is negative: the lock before the one in the middle.
// run: 3 => 0 0 2
// run: -1 => 1 1 0
// run: 0 => 0 2 0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t locks[5];
static int counts[5];
static int n;

static void *worker(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        int k = 2 + (i == 0 ? n % 2 : n / 2 % 2);
        pthread_mutex_lock(&locks[k]);
        counts[k]++;
        pthread_mutex_unlock(&locks[k]);
    }
    return NULL;
}

int main(int argc, char **argv) {
    n = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 5; i++)
        pthread_mutex_init(&locks[i], NULL);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_mutex_lock(&locks[0]);
    counts[0]++;
    pthread_mutex_unlock(&locks[0]);
    pthread_join(t, NULL);
    printf("%d %d %d\n", counts[1], counts[2], counts[3]);
    return 0;
}
