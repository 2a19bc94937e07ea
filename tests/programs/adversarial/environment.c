// What the environment says, and whether it says anything, decides; it is read while threads run.
// run: 0 => 2 0
// run: 1 => 3 1
// run: 2 => 12 1
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void add(int by) {
    pthread_mutex_lock(&m);
    total += by;
    pthread_mutex_unlock(&m);
}

static void *worker(void *unused) {
    const char *text = getenv("ADVERSARIAL_CHOICE");
    add(1);
    if (text != NULL && strcmp(text, "two") == 0)
        add(10);
    else if (text != NULL)
        add(1);
    return unused;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    unsetenv("ADVERSARIAL_CHOICE");
    if (n > 0)
        setenv("ADVERSARIAL_CHOICE", n == 2 ? "two" : "one", 1);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    add(1);
    pthread_join(t, NULL);
    printf("%d %d\n", total, getenv("ADVERSARIAL_CHOICE") != NULL);
    return 0;
}
