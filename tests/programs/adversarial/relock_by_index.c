// Which lock a thread takes second depends on what it reads: it may be the one that it holds.
// data: 01
// run: => 0 0
// data: 10
// run: => 0 0
// data: 11
// run: => 16 0
// data: 00
// run: => 16 0
// data: 02
// run: => 0 0
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                               PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int second, other;

static void *worker(void *unused) {
    (void)unused;
    other = pthread_mutex_lock(&m[3]);
    pthread_mutex_unlock(&m[3]);
    return NULL;
}

int main(void) {
    FILE *file = fopen("data", "r");
    int i = file ? fgetc(file) - '0' : 0, j = file ? fgetc(file) - '0' : 1;
    if (i < 0 || i > 2 || j < 0 || j > 2)
        return 2;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_mutex_lock(&m[i]);
    second = pthread_mutex_trylock(&m[j]);
    if (second == 0)
        pthread_mutex_unlock(&m[j]);
    pthread_mutex_unlock(&m[i]);
    pthread_join(t, NULL);
    printf("%d %d\n", second, other);
    return 0;
}
