// The same buffer read twice holds two numbers, and what `localtime` or `errno` pointed to is changed by later calls.
// run: 1 2 => 2 2
// run: 7 7 => 0 2
// run: 7 x => 2 2
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int a, b, first_year, second_year, numbers, changes;

static void *worker(void *unused) {
    (void)unused;
    int *error = &errno;
    *error = 0;
    int before = *error;
    close(-1);
    if (a != b) {
        pthread_mutex_lock(&m);
        numbers++;
        pthread_mutex_unlock(&m);
    }
    if (*error != before && first_year != second_year) {
        pthread_mutex_lock(&m);
        changes++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(int argc, char **argv) {
    char text[16] = "";
    int ends[2];
    if (argc < 3 || pipe(ends) != 0)
        return 1;
    dprintf(ends[1], "%-8.8s%-8.8s", argv[1], argv[2]);
    if (read(ends[0], text, 8) != 8)
        return 1;
    a = atoi(text);
    if (read(ends[0], text, 8) != 8)
        return 1;
    b = atoi(text);
    time_t when = 0;
    struct tm *tm = gmtime(&when);
    first_year = tm->tm_year;
    when = 1000000000;
    gmtime(&when);
    second_year = tm->tm_year;
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
    printf("%d %d\n", numbers, changes);
    return 0;
}
