// The process ends while another thread waits for ever.
// run: 0 => bye
// run: 1 => bye
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int never;

static void *sleeper(void *unused) {
    (void)unused;
    pthread_mutex_lock(&m);
    while (!never)
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t t;
    pthread_create(&t, NULL, sleeper, NULL);
    pthread_mutex_lock(&m);
    puts("bye");
    pthread_mutex_unlock(&m);
    if (argc > 1 && atoi(argv[1]) == 1)
        exit(0);
    return 0;
}
