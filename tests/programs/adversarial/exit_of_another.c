// A thread ends the process for one input while another one, which tests the same input, may be in its own section.
// run: 0 =>
// run: 1 => 0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x, n;

static void *ends(void *unused) {
    (void)unused;
    if (x == 0)
        exit(0);
    return NULL;
}

static void *locks(void *unused) {
    (void)unused;
    if (x == 0) {
        pthread_mutex_lock(&m);
        n++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(int argc, char **argv) {
    x = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t[2];
    pthread_create(&t[0], NULL, ends, NULL);
    pthread_create(&t[1], NULL, locks, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("%d\n", n);
    return 0;
}
