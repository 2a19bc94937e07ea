// As many locks on the stack as an input says, gone when the function returns and made again for the next call.
// run: 1 => 3
// run: 2 => 5
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int total;

struct job {
    pthread_mutex_t *locks;
    int count;
};

static void *worker(void *p) {
    struct job *job = p;
    for (int i = 0; i < job->count; i++) {
        pthread_mutex_lock(&job->locks[i]);
        total++;
        pthread_mutex_unlock(&job->locks[i]);
    }
    return NULL;
}

static void round_of(int count) {
    pthread_mutex_t locks[count];
    struct job job = {locks, count};
    for (int i = 0; i < count; i++)
        pthread_mutex_init(&locks[i], NULL);
    pthread_t t;
    pthread_create(&t, NULL, worker, &job);
    pthread_join(t, NULL);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1;
    if (n < 1 || n > 3)
        return 2;
    round_of(n);
    round_of(n + 1);
    printf("%d\n", total);
    return 0;
}
