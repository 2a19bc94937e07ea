/* Which lock a thread takes is what it kept for itself: set on one side of a branch, and kept over the rounds of a loop. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_key_t mine;
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int rounds, counts[2];

static void *work(void *choice)
{
    pthread_setspecific(mine, &locks[0]);
    if (*(int *)choice)
        pthread_setspecific(mine, &locks[1]);
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_t *own = pthread_getspecific(mine);
        pthread_mutex_lock(own);
        counts[own == &locks[1]]++;
        pthread_mutex_unlock(own);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    int choices[2];
    if (argc < 3)
        return 2;
    rounds = atoi(argv[1]);
    choices[0] = atoi(argv[2]);
    choices[1] = 1;
    pthread_key_create(&mine, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &choices[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d %d\n", counts[0], counts[1]);
    return 0;
}
