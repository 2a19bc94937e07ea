// A list whose length is an input; each element has its lock; two threads walk it.
// run: 0 => 0
// run: 1 => 2
// run: 3 => 6
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct item {
    pthread_mutex_t lock;
    int visits;
    struct item *next;
};

static struct item *head;

static void *walk(void *unused) {
    (void)unused;
    for (struct item *i = head; i != NULL; i = i->next) {
        pthread_mutex_lock(&i->lock);
        i->visits++;
        pthread_mutex_unlock(&i->lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) & 3 : 0;
    for (int i = 0; i < n; i++) {
        struct item *item = malloc(sizeof *item);
        pthread_mutex_init(&item->lock, NULL);
        item->visits = 0;
        item->next = head;
        head = item;
    }
    pthread_t t;
    pthread_create(&t, NULL, walk, NULL);
    walk(NULL);
    pthread_join(t, NULL);
    int total = 0;
    for (struct item *i = head; i != NULL; i = i->next)
        total += i->visits;
    printf("%d\n", total);
    return 0;
}
