// An array of locks grows and moves while nobody uses it; pointers into the old one are gone.
// run: 1 => 1 1
// run: 9 => 9 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct slot {
    pthread_mutex_t lock;
    int value;
};

static struct slot *slots;
static int count;

static void grow(int to) {
    struct slot *bigger = realloc(slots, (size_t)to * sizeof *slots);
    if (bigger == NULL)
        exit(1);
    slots = bigger;
    for (; count < to; count++) {
        pthread_mutex_init(&slots[count].lock, NULL);
        slots[count].value = 0;
    }
}

static void *worker(void *index) {
    struct slot *slot = &slots[(long)index];
    pthread_mutex_lock(&slot->lock);
    slot->value++;
    pthread_mutex_unlock(&slot->lock);
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t t[2];
    grow(1);
    if (n > 1)
        grow(n);
    pthread_create(&t[0], NULL, worker, (void *)0L);
    pthread_create(&t[1], NULL, worker, (void *)(long)(n - 1));
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    printf("%d %d\n", count, slots[0].value + (n > 1 ? slots[n - 1].value : 0) - 1);
    return 0;
}
