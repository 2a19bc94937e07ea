// One thread passes on what a second has written, a third hangs on it: only one order of all three shows that.
// run: => 0 | 5 | [deadlock]
// run: 1 => 0
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t of_y = PTHREAD_MUTEX_INITIALIZER, of_a = PTHREAD_MUTEX_INITIALIZER;
static int y, a, five = 5;

static void *passes_on(void *unused) {
    pthread_mutex_lock(&of_y);
    int t = y;
    pthread_mutex_unlock(&of_y);
    pthread_mutex_lock(&of_a);
    a = t;
    pthread_mutex_unlock(&of_a);
    return unused;
}

static void *hangs(void *unused) {
    pthread_mutex_lock(&of_a);
    int r = a;
    pthread_mutex_unlock(&of_a);
    if (r == 5) {
        pthread_mutex_lock(&of_a);
        pthread_mutex_lock(&of_a);
    }
    return unused;
}

static void *writes(void *unused) {
    pthread_mutex_lock(&of_y);
    y = five;
    pthread_mutex_unlock(&of_y);
    return unused;
}

int main(int argc, char **argv) {
    (void)argv;
    five = argc > 1 ? 0 : 5;
    pthread_t t[3];
    pthread_create(&t[0], NULL, passes_on, NULL);
    pthread_create(&t[1], NULL, hangs, NULL);
    pthread_create(&t[2], NULL, writes, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    printf("%d\n", a);
    return 0;
}
