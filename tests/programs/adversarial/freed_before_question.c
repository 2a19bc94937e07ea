// Round after round a branch asks memory that is freed, and unmapped, as soon as the flag before it says so.
// run: 0 => 0
// run: 1 => 1
// run: 3 => 3
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int *page, valid, rounds, total;

static void *worker(void *unused) {
    (void)unused;
    for (int i = 0; i < rounds + 2; i++) {
        if (valid && *page > i) {
            pthread_mutex_lock(&m);
            total++;
            pthread_mutex_unlock(&m);
        } else if (valid) {
            valid = 0;
            munmap(page, 4096);
        }
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : 0;
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 1;
    *page = rounds;
    valid = 1;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("%d\n", total);
    return 0;
}
