// A thread creates another and ends; main joins the grandchild through a handle it was left.
// run: 0 => 3
// run: 1 => 13
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_t grandchild;
static int deep, total;

static void *leaf(void *unused) {
    (void)unused;
    pthread_mutex_lock(&m);
    total += 10;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *child(void *unused) {
    (void)unused;
    if (deep)
        pthread_create(&grandchild, NULL, leaf, NULL);
    pthread_mutex_lock(&m);
    total += 3;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    deep = argc > 1 && atoi(argv[1]) == 1;
    pthread_t t;
    pthread_create(&t, NULL, child, NULL);
    pthread_join(t, NULL);
    if (deep)
        pthread_join(grandchild, NULL);
    printf("%d\n", total);
    return 0;
}
