// Two locks are taken in the order of their addresses, which nobody knows before the program runs.
// any way: addresses differ between runs
// run: 0 => 4 4
// run: 1 => 4 4
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

static struct account *one, *other;

static void move(struct account *from, struct account *to) {
    struct account *low = (uintptr_t)from < (uintptr_t)to ? from : to;
    struct account *high = low == from ? to : from;
    pthread_mutex_lock(&low->lock);
    pthread_mutex_lock(&high->lock);
    from->balance--;
    to->balance++;
    pthread_mutex_unlock(&high->lock);
    pthread_mutex_unlock(&low->lock);
}

static void *forth(void *unused) {
    move(one, other);
    return unused;
}

static void *back(void *unused) {
    move(other, one);
    return unused;
}

int main(int argc, char **argv) {
    int swapped = argc > 1 && atoi(argv[1]) == 1;
    struct account *first = calloc(1, sizeof *first), *second = calloc(1, sizeof *second);
    if (first == NULL || second == NULL)
        return 1;
    one = swapped ? second : first;
    other = swapped ? first : second;
    pthread_mutex_init(&one->lock, NULL);
    pthread_mutex_init(&other->lock, NULL);
    one->balance = other->balance = 4;
    pthread_t a, b;
    pthread_create(&a, NULL, forth, NULL);
    pthread_create(&b, NULL, back, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d %d\n", one->balance, other->balance);
    return 0;
}
