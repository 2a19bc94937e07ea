/* Thread-specific data: a destructor that locks, one of the C library's, one that sets another key again, a key that is
 * deleted, and data that only some inputs set. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

static pthread_key_t account, scratch, late;
static tss_t plain;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total, rounds;

static void settle(void *data)
{
    pthread_mutex_lock(&lock);
    total += *(int *)data;
    pthread_mutex_unlock(&lock);
    free(data);
}

/* Runs in the first round and gives itself a second one. */
static void again(void *data)
{
    pthread_mutex_lock(&lock);
    rounds++;
    pthread_mutex_unlock(&lock);
    if (data == &total)
        pthread_setspecific(late, &rounds);
}

static void *work(void *number)
{
    int *own = malloc(sizeof *own);
    *own = *(int *)number;
    pthread_setspecific(account, own);
    pthread_setspecific(scratch, malloc(8));
    pthread_setspecific(late, &total);
    tss_set(plain, number);
    int *mine = pthread_getspecific(account);
    *mine += tss_get(plain) == number;
    if (*(int *)number > 1)
        pthread_exit(NULL);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    int numbers[2] = {1, 20};
    pthread_key_t short_lived;
    pthread_key_create(&account, settle);
    pthread_key_create(&scratch, free);
    pthread_key_create(&late, again);
    pthread_key_create(&short_lived, settle);
    pthread_key_delete(short_lived);
    tss_create(&plain, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d %d\n", total, rounds);
    return 0;
}
