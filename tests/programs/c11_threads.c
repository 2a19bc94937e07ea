// The C11 names: thread, mutex, condition variable, once. One schedule.
#include <stdio.h>
#include <threads.h>

static mtx_t lock;
static cnd_t ready_now;
static once_flag once = ONCE_FLAG_INIT;
static int ready, total;

static void begin(void) {
    total = 100;
}

static int worker(void *argument) {
    int amount = *(int *)argument;
    call_once(&once, begin);
    mtx_lock(&lock);
    while (!ready)
        cnd_wait(&ready_now, &lock);
    total += amount;
    mtx_unlock(&lock);
    return amount;
}

int main(void) {
    int amounts[2] = {1, 2}, result, sum = 0;
    thrd_t threads[2];
    mtx_init(&lock, mtx_plain);
    cnd_init(&ready_now);
    for (int i = 0; i < 2; i++)
        thrd_create(&threads[i], worker, &amounts[i]);
    mtx_lock(&lock);
    ready = 1;
    cnd_broadcast(&ready_now);
    mtx_unlock(&lock);
    for (int i = 0; i < 2; i++) {
        thrd_join(threads[i], &result);
        sum += result;
    }
    printf("%d %d\n", total, sum);
    return 0;
}
