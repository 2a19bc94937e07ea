/* Two threads work out from the same globals how many rounds there are, each for itself, and meet at a barrier in each.
 * They cannot disagree: a loop that is summarized twice from the same beginning ends alike. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int limit, base, total;
static pthread_barrier_t meet;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int rounds(void)
{
    int count = 0;
    for (long reach = 1; reach < limit; reach *= base)
        count++;
    return count > 0 ? count : 1;
}

static void *work(void *unused)
{
    int all = rounds();
    for (int round = 0; round < all; round++) {
        pthread_barrier_wait(&meet);
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t other;
    if (argc < 3)
        return 2;
    limit = atoi(argv[1]);
    base = atoi(argv[2]);
    if (base < 2 || limit < 1)
        return 2;
    pthread_barrier_init(&meet, NULL, 2);
    pthread_create(&other, NULL, work, NULL);
    work(NULL);
    pthread_join(other, NULL);
    printf("%d\n", total);
    return 0;
}
