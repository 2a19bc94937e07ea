// A file is read in pieces: how many come, and where it ends, decides how often threads meet.
// data: abc
// run: data => 3
// data: 
// run: data => 0
// data: abcdefg
// run: data => 7
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *worker(void *by) {
    pthread_mutex_lock(&m);
    total += (int)(long)by;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(int argc, char **argv) {
    int file = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (file < 0)
        return 9;
    char piece[3];
    for (int round = 0; round < 3; round++) {
        ssize_t came = read(file, piece, sizeof piece);
        if (came <= 0)
            break;
        pthread_t t;
        pthread_create(&t, NULL, worker, (void *)(long)came);
        if (came < (ssize_t)sizeof piece) {
            pthread_join(t, NULL);
            break;
        }
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
        pthread_join(t, NULL);
    }
    printf("%d\n", total);
    return 0;
}
