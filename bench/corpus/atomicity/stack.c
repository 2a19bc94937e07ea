/* stack: a bounded stack whose test for emptiness stands outside the lock.
 *
 * Skeleton:  one thread pushes N items, another pops until it has seen N or finds it empty.
 * Governs:   N.
 * Teaches:   a data race on the height, and pop of an empty stack. -DFIXED: tested inside.
 *
 * Usage: stack N
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ROOM 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int item[ROOM], height, n, popped, pushed;

static void *pusher(void *unused)
{
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(&lock);
        if (height < ROOM) {
            item[height++] = i + 1;
            pushed += i + 1;
        }
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *popper(void *unused)
{
    for (int i = 0; i < n; i++) {
#ifdef FIXED
        pthread_mutex_lock(&lock);
        if (height > 0)
            popped += item[--height];
        pthread_mutex_unlock(&lock);
#else
        if (height > 0) {
            pthread_mutex_lock(&lock);
            popped += item[--height];
            pthread_mutex_unlock(&lock);
        }
#endif
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t a, b;
    if (argc < 2)
        return 2;
    n = atoi(argv[1]);
    if (n < 0 || n > ROOM)
        return 2;
    pthread_create(&a, NULL, pusher, NULL);
    pthread_create(&b, NULL, popper, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    int rest = 0;
    for (int i = 0; i < height; i++)
        rest += item[i];
    int good = popped + rest == pushed;
    printf("%s\n", good ? "ok" : "FAILED");
    return !good;
}
