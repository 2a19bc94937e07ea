// Six threads that meet: all alive at once.
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t all;
static int arrived;

static void *worker(void *unused) {
    pthread_barrier_wait(&all);
    return unused;
}

int main(void) {
    pthread_t threads[5];
    pthread_barrier_init(&all, NULL, 6);
    for (int i = 0; i < 5; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    pthread_barrier_wait(&all);
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", arrived + 6);
    return 0;
}
