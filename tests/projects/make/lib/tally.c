#include "tally.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

void tally_add(int amount) {
    pthread_mutex_lock(&lock);
    total += amount;
    pthread_mutex_unlock(&lock);
}

int tally_total(void) { return total; }

struct job {
    void (*work)(int);
    int number;
};

static void *start(void *argument) {
    struct job *job = argument;
    job->work(job->number);
    return 0;
}

void tally_run(int threads, void (*work)(int)) {
    pthread_t ids[8];
    struct job jobs[8];
    for (int i = 0; i < threads && i < 8; i++) {
        jobs[i] = (struct job){work, i};
        pthread_create(&ids[i], 0, start, &jobs[i]);
    }
    for (int i = 0; i < threads && i < 8; i++)
        pthread_join(ids[i], 0);
}
