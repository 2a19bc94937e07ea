/* bank: transfers between accounts, a lock per account.
 *
 * Skeleton:  N tellers; teller i moves money from account i to account i+1 (mod N), holding
 *            the locks of both.
 * Governs:   N.
 * Teaches:   lock objects inside structures reached by pointer; source first, destination
 *            second makes a cycle. -DFIXED: by account number.
 *
 * Usage: bank [N] [AMOUNT]
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_TELLERS 16

struct account {
    int number;
    pthread_mutex_t lock;
    long balance;
};

struct teller {
    struct account *from, *to;
};

static struct account account[MAX_TELLERS];
static long amount = 10;

static void transfer(struct account *from, struct account *to, long sum)
{
    struct account *first = from, *second = to;
#ifdef FIXED
    if (from->number > to->number) {
        first = to;
        second = from;
    }
#endif
    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    if (from->balance >= sum) {
        from->balance -= sum;
        to->balance += sum;
    }
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
}

static void *teller(void *arg)
{
    struct teller *t = arg;
    transfer(t->from, t->to, amount);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_TELLERS];
    struct teller job[MAX_TELLERS];
    int n = argc > 1 ? atoi(argv[1]) : 3;
    long total = 0;
    if (argc > 2)
        amount = atol(argv[2]);
    if (n < 2 || n > MAX_TELLERS || amount < 0)
        return 2;
    for (int i = 0; i < n; i++) {
        account[i].number = i;
        account[i].balance = 100;
        pthread_mutex_init(&account[i].lock, NULL);
    }
    for (int i = 0; i < n; i++) {
        job[i].from = &account[i];
        job[i].to = &account[(i + 1) % n];
        pthread_create(&thread[i], NULL, teller, &job[i]);
    }
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < n; i++)
        total += account[i].balance;
    printf("%s total=%ld\n", total == 100L * n ? "ok" : "FAILED", total);
    return total != 100L * n;
}
