/* Wrong arguments end the process two functions further out, before anything synchronizes: no schedule of their own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock;
static int sum;

static int set_up(int argc, char **argv)
{
    if (argc < 3)
        return 0;
    sum = atoi(argv[1]);
    if (sum < 0)
        return 0;
    if (atoi(argv[2]) != 7)
        return 0;
    pthread_mutex_init(&lock, NULL);
    return 1;
}

static void *add(void *unused)
{
    pthread_mutex_lock(&lock);
    sum++;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t other;
    if (!set_up(argc, argv)) {
        fprintf(stderr, "usage: bad_arguments NUMBER 7\n");
        return 2;
    }
    pthread_create(&other, NULL, add, NULL);
    add(NULL);
    pthread_join(other, NULL);
    printf("%d\n", sum);
    return 0;
}
