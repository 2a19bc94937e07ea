// A handler that runs in the middle sets the flag that decides over the lock.
// run: 0 => 1
// run: 1 => 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t flag;
static int total;

static void on_signal(int unused) {
    (void)unused;
    flag = 1;
}

static void *worker(void *unused) {
    (void)unused;
    if (flag) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    signal(SIGUSR1, on_signal);
    if (argc > 1 && atoi(argv[1]) == 1)
        raise(SIGUSR1);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
