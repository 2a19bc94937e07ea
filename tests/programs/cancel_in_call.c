/* A thread may be in a system call when it is cancelled: nothing says where in it. The archive is incomplete there. */
#include <pthread.h>
#include <unistd.h>

static void *sleeper(void *unused)
{
    sleep(100);
    pthread_testcancel();
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, sleeper, NULL);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    return 0;
}
