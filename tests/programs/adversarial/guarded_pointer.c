// A branch tests memory behind a pointer that is null or freed for some inputs; nobody may read it there.
// run: 0 => 0
// run: 1 => 1
// run: 2 => 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    int flag;
};

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct node *node;
static int total;

static void *worker(void *unused) {
    (void)unused;
    if (node != NULL && node->flag) {
        pthread_mutex_lock(&m);
        total++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    if (n > 0) {
        node = malloc(sizeof *node);
        node->flag = 1;
    }
    pthread_t t;
    for (int i = 0; i < 2; i++) {
        pthread_create(&t, NULL, worker, NULL);
        pthread_join(t, NULL);
        if (i == 0 && n == 1) {
            free(node);
            node = NULL;
        }
    }
    printf("%d\n", total);
    return 0;
}
