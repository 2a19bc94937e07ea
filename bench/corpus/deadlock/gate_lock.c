/* gate_lock: two locks in both orders, under a third one.
 *
 * Skeleton:  two workers; one takes left then right, the other right then left.
 * Governs:   nothing.
 * Teaches:   a cycle in the order of locks that cannot close, because -DFIXED holds a gate
 *            around both: reporting it is a false alarm. Without the gate it is a deadlock.
 *
 * Usage: gate_lock
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
#ifdef FIXED
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
#endif
static int moves;

static void enter(void)
{
#ifdef FIXED
    pthread_mutex_lock(&gate);
#endif
}

static void leave(void)
{
#ifdef FIXED
    pthread_mutex_unlock(&gate);
#endif
}

static void *eastward(void *unused)
{
    enter();
    pthread_mutex_lock(&left);
    pthread_mutex_lock(&right);
    moves++;
    pthread_mutex_unlock(&right);
    pthread_mutex_unlock(&left);
    leave();
    return unused;
}

static void *westward(void *unused)
{
    enter();
    pthread_mutex_lock(&right);
    pthread_mutex_lock(&left);
    moves++;
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&right);
    leave();
    return unused;
}

int main(void)
{
    pthread_t east, west;
    pthread_create(&east, NULL, eastward, NULL);
    pthread_create(&west, NULL, westward, NULL);
    pthread_join(east, NULL);
    pthread_join(west, NULL);
    printf("%s moves=%d\n", moves == 2 ? "ok" : "FAILED", moves);
    return moves != 2;
}
