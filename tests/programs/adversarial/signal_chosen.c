// Which condition variable is signalled depends on what is read in between; one of them has a waiter.
// data: 0
// run: => 1 1
// data: 1
// run: => 1 1
// data: 2
// run: => 1 1
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed[3] = {
    PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static sem_t ready[2];
static int ticket[3], taken, woken;

static void *waiter(void *unused) {
    (void)unused;
    pthread_mutex_lock(&m);
    while (ticket[1] == 0)
        pthread_cond_wait(&changed[1], &m);
    taken++;
    pthread_mutex_unlock(&m);
    sem_wait(&ready[taken]);
    woken++;
    return NULL;
}

static void give(int which) {
    pthread_mutex_lock(&m);
    ticket[which]++;
    pthread_cond_signal(&changed[which]);
    pthread_mutex_unlock(&m);
}

int main(void) {
    FILE *file = fopen("data", "r");
    sem_init(&ready[0], 0, 0);
    sem_init(&ready[1], 0, 0);
    pthread_t t;
    pthread_create(&t, NULL, waiter, NULL);
    int which = file ? fgetc(file) - '0' : 0;
    if (which < 0 || which > 2)
        return 2;
    give(which);
    sem_post(&ready[which % 2]);
    if (which != 1) {
        give(1);
        sem_post(&ready[1]);
    }
    pthread_join(t, NULL);
    printf("%d %d\n", taken, woken);
    return 0;
}
