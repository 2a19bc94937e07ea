// One of two waiters is woken; the other one is woken by the first.
// run: 0 => 2
// run: 1 => 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int tokens, served;

static void *waiter(void *unused) {
    (void)unused;
    pthread_mutex_lock(&m);
    while (tokens == 0)
        pthread_cond_wait(&c, &m);
    tokens--;
    served++;
    if (tokens > 0)
        pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    int split = argc > 1 && atoi(argv[1]) == 1;
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, waiter, NULL);
    pthread_mutex_lock(&m);
    tokens = split ? 1 : 2;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    if (split) {
        pthread_mutex_lock(&m);
        tokens++;
        pthread_cond_signal(&c);
        pthread_mutex_unlock(&m);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("%d\n", served);
    return 0;
}
