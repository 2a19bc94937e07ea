/* A program that forks while a thread lives, with a handler for the child. The child has no schedule. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count, in_child;

static void renew(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = fresh;
    in_child = 7;
}

static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread;
    int status = 0;
    pthread_atfork(NULL, NULL, renew);
    pthread_create(&thread, NULL, work, NULL);
    pid_t child = fork();
    if (child == 0) {
        work(NULL);
        _exit(in_child);
    }
    waitpid(child, &status, 0);
    pthread_join(thread, NULL);
    printf("%d %d\n", WEXITSTATUS(status), count);
    return 0;
}
