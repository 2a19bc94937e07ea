/* A bounded queue between the main thread and one worker: the count stays between nothing and the capacity, so both can never wait. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACES 8

static struct queue {
    pthread_mutex_t lock;
    pthread_cond_t more, less;
    int item[PLACES];
    int capacity, count, first, closed;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 3, 0, 0, 0};
static long sum;

static void put(int item)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.count == queue.capacity)
        pthread_cond_wait(&queue.less, &queue.lock);
    queue.item[(queue.first + queue.count) % queue.capacity] = item;
    queue.count++;
    pthread_mutex_unlock(&queue.lock);
    pthread_cond_signal(&queue.more);
}

static void *work(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&queue.lock);
        while (queue.count == 0 && !queue.closed)
            pthread_cond_wait(&queue.more, &queue.lock);
        if (queue.count == 0) {
            pthread_mutex_unlock(&queue.lock);
            return unused;
        }
        sum += queue.item[queue.first];
        queue.first = (queue.first + 1) % queue.capacity;
        queue.count--;
        pthread_mutex_unlock(&queue.lock);
        pthread_cond_signal(&queue.less);
    }
}

int main(int argc, char **argv)
{
    pthread_t worker;
    int items = argc > 1 ? atoi(argv[1]) : 0;
    pthread_create(&worker, NULL, work, NULL);
    for (int i = 1; i <= items; i++)
        put(i);
    pthread_mutex_lock(&queue.lock);
    queue.closed = 1;
    pthread_mutex_unlock(&queue.lock);
    pthread_cond_signal(&queue.more);
    pthread_join(worker, NULL);
    printf("%ld\n", sum);
    return 0;
}
