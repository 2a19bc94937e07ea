// A structure is copied as a whole: the copy's pointer leads to the same lock, its flag is its own.
// run: 0 => 2 0 1
// run: 1 => 3 0 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct task {
    pthread_mutex_t *lock;
    int twice;
    int name[6];
};

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct task original, copy;
static int total;

static void *worker(void *p) {
    struct task task = *(struct task *)p;
    pthread_mutex_lock(task.lock);
    total++;
    pthread_mutex_unlock(task.lock);
    if (task.twice) {
        pthread_mutex_lock(task.lock);
        total++;
        pthread_mutex_unlock(task.lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t[2];
    original.lock = &m;
    original.twice = n;
    copy = original;
    original.twice = 0;
    pthread_create(&t[0], NULL, worker, &original);
    pthread_create(&t[1], NULL, worker, &copy);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("%d %d %d\n", total, original.twice, copy.lock == &m);
    return 0;
}
