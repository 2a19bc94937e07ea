// A mutex is destroyed and another one made in the same place; the second life must not inherit from the first.
// run: 0 => 7 1
// run: 1 => 7 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct box {
    pthread_mutex_t lock;
    int value;
};

static struct box *box;

static void *bump(void *by) {
    pthread_mutex_lock(&box->lock);
    box->value += (int)(long)by;
    pthread_mutex_unlock(&box->lock);
    return NULL;
}

static int life(int n, long by) {
    pthread_t t[2];
    box = malloc(sizeof *box);
    pthread_mutex_init(&box->lock, NULL);
    box->value = 0;
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, bump, (void *)by);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    int value = box->value;
    pthread_mutex_destroy(&box->lock);
    free(box);
    return value;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    int first = life(1, 7);
    printf("%d %d\n", first, life(n == 1 ? 2 : 1, 1));
    return 0;
}
