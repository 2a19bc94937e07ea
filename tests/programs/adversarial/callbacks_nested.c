// Library functions that call back where that synchronizes: through a pointer, inside each other, in two threads at once.
// run: => 0 0 0
// run: 3 1 2 => 3 1 6
// run: 9 1 4 2 5 3 => 6 9 24
// run: 5 5 5 5 => 1 5 5
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int compared, walked, sum;

typedef int (*order)(const void *, const void *);

static int up(const void *a, const void *b) {
    pthread_mutex_lock(&lock);
    compared++;
    pthread_mutex_unlock(&lock);
    return *(const int *)a - *(const int *)b;
}

static int down(const void *a, const void *b) {
    return up(b, a);
}

static int plain(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static void find(const void *node, VISIT which, int depth) {
    (void)depth;
    static int all[] = {1, 2, 3, 4, 5, 9};
    if (which != postorder && which != leaf) return;
    // Calls back while it is called back.
    if (bsearch(*(int *const *)node, all, 6, sizeof *all, up)) {
        pthread_mutex_lock(&lock);
        walked++;
        sum += **(int *const *)node;
        pthread_mutex_unlock(&lock);
    }
}

static void *tree(void *argument) {
    int *numbers = argument;
    void *root = NULL;
    for (int i = 0; numbers[i] >= 0; i++) tsearch(&numbers[i], &root, plain);
    twalk(root, find);
    return NULL;
}

int main(int argc, char **argv) {
    static int mine[8], others[8];
    int count = argc - 1;
    if (count > 7) return 1;
    for (int i = 0; i < count; i++) mine[i] = others[i] = atoi(argv[i + 1]);
    others[count] = -1;
    pthread_t thread;
    pthread_create(&thread, NULL, tree, others);
    order by = count > 4 ? down : up;
    if (count > 1) qsort(mine, count, sizeof *mine, by);
    pthread_join(thread, NULL);
    printf("%d %d %d\n", walked, count > 1 ? mine[0] : 0, sum);
    return 0;
}
