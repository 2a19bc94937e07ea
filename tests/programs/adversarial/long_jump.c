// A jump leaves a loop of sections from the inside.
// run: 0 => 3
// run: 1 => 2
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int jump_at, total;

static void step(jmp_buf out, int i) {
    pthread_mutex_lock(&m);
    total++;
    pthread_mutex_unlock(&m);
    if (i == 1 && jump_at)
        longjmp(out, 1);
}

static void *worker(void *unused) {
    (void)unused;
    jmp_buf out;
    if (setjmp(out) == 0)
        for (int i = 0; i < 3; i++)
            step(out, i);
    return NULL;
}

int main(int argc, char **argv) {
    jump_at = argc > 1 && atoi(argv[1]) == 1;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
