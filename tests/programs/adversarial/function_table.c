// The input chooses which function locks what.
// run: 0 => 2 0
// run: 1 => 0 2
// run: 2 => 2 2
// run: 7 => 2 0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int x, y;

static void only_a(void) {
    pthread_mutex_lock(&a);
    x++;
    pthread_mutex_unlock(&a);
}

static void only_b(void) {
    pthread_mutex_lock(&b);
    y++;
    pthread_mutex_unlock(&b);
}

static void both(void) {
    only_a();
    only_b();
}

static void (*const table[])(void) = {only_a, only_b, both};
static void (*chosen)(void);

static void *worker(void *unused) {
    (void)unused;
    chosen();
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    chosen = table[n >= 0 && n < 3 ? n : 0];
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    chosen();
    pthread_join(t, NULL);
    printf("%d %d\n", x, y);
    return 0;
}
