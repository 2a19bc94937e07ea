/* What is decided here need not be: the same follows whichever way it goes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int sum, reports;

static void *worker(void *unused) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        sum += 10;
        pthread_mutex_unlock(&m);
    }
    return unused;
}

/* Only the first round synchronizes, so nobody need know whether there is a second one. */
static int step(int round, int luck) {
    if (round == 0) {
        pthread_mutex_lock(&m);
        sum++;
        pthread_mutex_unlock(&m);
    }
    return luck;
}

int main(int argc, char **argv) {
    pthread_t thread;
    int way = argc > 1 ? atoi(argv[1]) : 0;
    pthread_create(&thread, NULL, worker, NULL);
    int luck = getpid() & 1;
    for (int round = 0; round < 2; round++)
        if (step(round, luck))
            break;
    /* All but one of five ways go on alike, but only here is known which one it is. */
    switch (way) {
    case 1: reports += 1; break;
    case 2: reports += 2; break;
    case 3:
        pthread_join(thread, NULL);
        printf("joined early\n");
        return sum != 21;
    case 4: fprintf(stderr, "%s", ""); break;
    default: reports = 0;
    }
    pthread_join(thread, NULL);
    printf("%d %d\n", sum, reports);
    return 0;
}
