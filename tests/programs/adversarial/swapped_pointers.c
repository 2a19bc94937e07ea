// Lock pointers are exchanged by a thread, under a lock of their own, for some inputs.
// run: 0 => 1 2
// run: 1 => 2 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t top = PTHREAD_MUTEX_INITIALIZER;
static struct account {
    pthread_mutex_t lock;
    int value;
} accounts[2] = {{PTHREAD_MUTEX_INITIALIZER, 0}, {PTHREAD_MUTEX_INITIALIZER, 0}};
static struct account *first = &accounts[0], *second = &accounts[1];
static int swap;

static void *worker(void *unused) {
    (void)unused;
    if (swap) {
        pthread_mutex_lock(&top);
        struct account *old = first;
        first = second;
        second = old;
        pthread_mutex_unlock(&top);
    }
    return NULL;
}

static void pay(struct account *to, int amount) {
    pthread_mutex_lock(&to->lock);
    to->value += amount;
    pthread_mutex_unlock(&to->lock);
}

int main(int argc, char **argv) {
    swap = argc > 1 && atoi(argv[1]) == 1;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    pay(first, 1);
    pay(second, 2);
    printf("%d %d\n", accounts[0].value, accounts[1].value);
    return 0;
}
