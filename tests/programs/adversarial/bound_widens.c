// Two ways into a loop bring small numbers, a third one any number at all: nothing may be concluded from the first two.
// data: 0
// run: data => 0
// data: 1
// run: data => 0 | [deadlock]
// data: 2
// run: data => 1 | [deadlock]
// data: 3
// run: data => 0 | [deadlock]
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct cell {
    pthread_mutex_t m;
    struct cell *next;
};

static struct cell *cells;
static unsigned input;
static int total;

static struct cell *cell(unsigned k) {
    struct cell *c = cells;
    while (k-- != 0u)
        c = c->next;
    return c;
}

static void *first(void *unused) {
    if (input != 0u) {
        pthread_mutex_lock(&cell(0)->m);
        pthread_mutex_lock(&cell(1)->m);
        pthread_mutex_unlock(&cell(1)->m);
        pthread_mutex_unlock(&cell(0)->m);
    }
    return unused;
}

static void *second(void *unused) {
    pthread_mutex_lock(&cell(1)->m);
    for (unsigned i = input; i != 0u; i--) {
        pthread_mutex_lock(&cell(0)->m);
        pthread_mutex_unlock(&cell(0)->m);
    }
    pthread_mutex_unlock(&cell(1)->m);
    pthread_mutex_lock(&cell(1)->m);
    if (input == 2u) {
        pthread_mutex_lock(&cell(0)->m);
        total++;
        pthread_mutex_unlock(&cell(0)->m);
    }
    pthread_mutex_unlock(&cell(1)->m);
    return unused;
}

int main(int argc, char **argv) {
    unsigned char digit = '0';
    int file = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    for (int k = 0; k < 2; k++) {
        struct cell *c = calloc(1, sizeof *c);
        if (c == NULL)
            return 9;
        pthread_mutex_init(&c->m, NULL);
        c->next = cells;
        cells = c;
    }
    if (pread(file, &digit, 1, 0) == 1)
        input = (unsigned)(digit - '0');
    if (input == 1u) {
        pthread_mutex_lock(&cell(1)->m);
        pthread_mutex_unlock(&cell(1)->m);
    }
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", total);
    return 0;
}
