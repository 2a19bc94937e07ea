// One thread spins on a plain variable that the other writes: order by other means than the primitives.
#include <pthread.h>
#include <stdio.h>

static volatile int ready;
static int value;

static void *producer(void *unused) {
    value = 42;
    ready = 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, producer, NULL);
    while (!ready)
        ;
    printf("%d\n", value);
    pthread_join(thread, NULL);
    return 0;
}
