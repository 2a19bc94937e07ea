// Two cells are the same one only if a thread reads an index between two writes of another; what hangs on it shows in no other order.
// run: => done | [deadlock]
// run: 1 => done
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, end = PTHREAD_MUTEX_INITIALIZER;
static int cells[2], k, three = 3;

static int get(const int *from) {
    pthread_mutex_lock(&m);
    int value = *from;
    pthread_mutex_unlock(&m);
    return value;
}

static void set(int *to, int value) {
    pthread_mutex_lock(&m);
    *to = value;
    pthread_mutex_unlock(&m);
}

static void *twice(void *unused) {
    set(&cells[0], three);
    set(&cells[0], 0);
    return unused;
}

static void *through(void *unused) {
    int i = get(&k);
    int j = get(&cells[i % 2]);
    set(&cells[j % 2], 1);
    return unused;
}

static void *looks(void *unused) {
    set(&k, three);
    get(&k);
    int z = get(&cells[1]);
    if (z == 1) {
        pthread_mutex_lock(&end);
        pthread_mutex_lock(&end);
    }
    return unused;
}

int main(int argc, char **argv) {
    (void)argv;
    three = argc > 1 ? 2 : 3;
    pthread_t t[3];
    pthread_create(&t[0], NULL, twice, NULL);
    pthread_create(&t[1], NULL, through, NULL);
    pthread_create(&t[2], NULL, looks, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    puts("done");
    return 0;
}
