// Six threads alive at once.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *worker(void *unused) {
    pthread_mutex_lock(&lock);
    total++;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t threads[5];
    for (int i = 0; i < 5; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", total);
    return 0;
}
