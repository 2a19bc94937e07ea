// The lock is chosen through a union, a cast and a sign extension.
// run: 0 => 2 0
// run: 1 => 0 2
// run: -1 => 0 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int counts[2];
static union {
    int word;
    signed char bytes[4];
} choice;

static void *worker(void *unused) {
    (void)unused;
    short low;
    memcpy(&low, choice.bytes, 2);
    int k = (choice.bytes[0] < 0 ? -low : low) & 1;
    pthread_mutex_lock(&locks[k]);
    counts[k]++;
    pthread_mutex_unlock(&locks[k]);
    return NULL;
}

int main(int argc, char **argv) {
    choice.word = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("%d %d\n", counts[0], counts[1]);
    return 0;
}
