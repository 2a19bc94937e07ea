/* account: deposit and withdrawal, checked in one section and used in another.
 *
 * Skeleton:  P threads withdraw from one account: read the balance under the lock, release,
 *            lock again and subtract.
 * Governs:   P and the opening balance.
 * Teaches:   no data race, yet not atomic: the balance can go below zero. -DFIXED: one section.
 *
 * Usage: account P BALANCE
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long balance, paid;

static void *withdraw(void *unused)
{
    pthread_mutex_lock(&lock);
#ifdef FIXED
    if (balance >= 10) {
        balance -= 10;
        paid += 10;
    }
    pthread_mutex_unlock(&lock);
#else
    long seen = balance;
    pthread_mutex_unlock(&lock);
    if (seen >= 10) {
        pthread_mutex_lock(&lock);
        balance -= 10;
        paid += 10;
        pthread_mutex_unlock(&lock);
    }
#endif
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    if (argc < 3)
        return 2;
    int p = atoi(argv[1]);
    long opening = balance = atol(argv[2]);
    if (p < 1 || p > MAX_THREADS || opening < 0)
        return 2;
    for (int t = 0; t < p; t++)
        pthread_create(&thread[t], NULL, withdraw, NULL);
    for (int t = 0; t < p; t++)
        pthread_join(thread[t], NULL);
    int good = balance >= 0 && balance + paid == opening;
    printf("%s balance=%ld\n", good ? "ok" : "FAILED", balance);
    return !good;
}
