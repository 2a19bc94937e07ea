/* phases: two locks in both orders, but never at the same time.
 *
 * Skeleton:  first a loader takes index then data; then a cleaner takes data then index.
 * Governs:   nothing.
 * Teaches:   with -DFIXED the loader has been joined before the cleaner begins, so the orders
 *            never meet: reporting them is a false alarm. Without it both run at once.
 *
 * Usage: phases
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER, data_lock = PTHREAD_MUTEX_INITIALIZER;
static int loaded, cleaned;

static void *loader(void *unused)
{
    pthread_mutex_lock(&index_lock);
    pthread_mutex_lock(&data_lock);
    loaded++;
    pthread_mutex_unlock(&data_lock);
    pthread_mutex_unlock(&index_lock);
    return unused;
}

static void *cleaner(void *unused)
{
    pthread_mutex_lock(&data_lock);
    pthread_mutex_lock(&index_lock);
    cleaned++;
    pthread_mutex_unlock(&index_lock);
    pthread_mutex_unlock(&data_lock);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, loader, NULL);
#ifdef FIXED
    pthread_join(first, NULL);
    pthread_create(&second, NULL, cleaner, NULL);
#else
    pthread_create(&second, NULL, cleaner, NULL);
    pthread_join(first, NULL);
#endif
    pthread_join(second, NULL);
    printf("%s phases=%d\n", loaded + cleaned == 2 ? "ok" : "FAILED", loaded + cleaned);
    return loaded + cleaned != 2;
}
