// Memory that nobody wrote decides over a lock; whatever is in it, the program prints the same.
// run: 0 => 0
// run: 5 => 5
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned char *memory;
static int n, total;

static void *worker(void *unused) {
    (void)unused;
    for (int i = 0; i < n; i++) {
        if (memory[i] & 1) {
            pthread_mutex_lock(&m);
            total++;
            pthread_mutex_unlock(&m);
        } else {
            total++;
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    n = argc > 1 ? atoi(argv[1]) : 0;
    if (n > 64)
        return 1;
    memory = malloc(64);
    if (memory == NULL)
        return 1;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
