// Lock order AB in one thread, BA in the other: can deadlock natively, cannot under its schedule.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static int balance_a = 100;
static int balance_b = 100;

static void *a_to_b(void *unused) {
    (void)unused;
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    balance_a -= 30;
    balance_b += 30;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return NULL;
}

static void *b_to_a(void *unused) {
    (void)unused;
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    balance_b -= 10;
    balance_a += 10;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return NULL;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, a_to_b, NULL);
    pthread_create(&second, NULL, b_to_a, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("a=%d b=%d\n", balance_a, balance_b);
    return 0;
}
