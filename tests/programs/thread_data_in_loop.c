/* A loop that nobody executes round by round leaves data behind: what a thread kept before it does not count any more. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_key_t mine;
static pthread_mutex_t locks[8];
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static int inputs[8], taken[8], first;

static void *work(void *rounds)
{
    pthread_setspecific(mine, &locks[0]);
    for (int i = 0; i < *(int *)rounds; i++)
        if (inputs[i % 8])
            pthread_setspecific(mine, &locks[i % 8]);
    pthread_mutex_t *own = pthread_getspecific(mine);
    pthread_mutex_lock(own);
    taken[own - locks]++;
    pthread_mutex_unlock(own);
    if (own == &locks[0]) {
        pthread_mutex_lock(&other);
        first++;
        pthread_mutex_unlock(&other);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int rounds = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 8; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (int i = 2; i < argc && i < 10; i++)
        inputs[i - 2] = atoi(argv[i]);
    pthread_key_create(&mine, NULL);
    pthread_create(&thread, NULL, work, &rounds);
    work(&rounds);
    pthread_join(thread, NULL);
    for (int i = 0; i < 8; i++)
        printf("%d", taken[i]);
    printf(" %d\n", first);
    return 0;
}
