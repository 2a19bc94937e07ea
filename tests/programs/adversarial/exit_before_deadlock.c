// Without the exit the program would stand still, and the exit comes late: nobody may take it for the deadlock.
// run: 0 => [deadlock]
// run: 1 => [3]
// run: 2 => [3]
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int way, ready;

static void *worker(void *unused) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    if (way != 0) {
        usleep(100000);
        exit(3);
    }
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread[2];
    way = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, worker, NULL);
    pthread_mutex_lock(&m);
    while (!ready)
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return 0;
}
