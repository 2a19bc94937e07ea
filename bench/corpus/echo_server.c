/* echo_server: a worker pool that serves connections over loopback sockets, in one process.
 *
 * Skeleton:  main listens; P workers take accepted sockets from a bounded queue and echo
 *            lines back; a client thread opens N connections one after the other and checks
 *            the answers; main accepts N and then closes the queue.
 * Governs:   P, N, and what comes over the wire.
 * Teaches:   blocking system calls between synchronization (accept, read): the order of
 *            gates must not wait for the network; results of system calls as inputs.
 *
 * Usage: echo_server P N
 */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_THREADS 16
#define CAPACITY 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static int queue[CAPACITY], count, first, closed, served;
static struct sockaddr_in address;
static int connections, good_answers;

static void put(int fd)
{
    pthread_mutex_lock(&lock);
    while (count == CAPACITY)
        pthread_cond_wait(&not_full, &lock);
    queue[(first + count++) % CAPACITY] = fd;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
}

static int get(void)
{
    int fd = -1;
    pthread_mutex_lock(&lock);
    while (count == 0 && !closed)
        pthread_cond_wait(&not_empty, &lock);
    if (count > 0) {
        fd = queue[first];
        first = (first + 1) % CAPACITY;
        count--;
        served++;
        pthread_cond_signal(&not_full);
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

static void *worker(void *unused)
{
    int fd;
    char buffer[64];
    while ((fd = get()) >= 0) {
        ssize_t n;
        while ((n = read(fd, buffer, sizeof buffer)) > 0)
            if (write(fd, buffer, (size_t)n) != n)
                break;
        close(fd);
    }
    return unused;
}

static void *client(void *unused)
{
    for (int i = 0; i < connections; i++) {
        char line[32], answer[32];
        size_t got = 0;
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
            exit(2);
        int length = snprintf(line, sizeof line, "hello %d", i);
        if (write(fd, line, (size_t)length) != length)
            exit(2);
        shutdown(fd, SHUT_WR);
        ssize_t n;
        while ((n = read(fd, answer + got, sizeof answer - got)) > 0)
            got += (size_t)n;
        good_answers += got == (size_t)length && memcmp(line, answer, got) == 0;
        close(fd);
    }
    return unused;
}

static int listen_on_loopback(void)
{
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 8) != 0)
        exit(2);
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        exit(2);
    return fd;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS], caller;
    if (argc < 3)
        return 2;
    int p = atoi(argv[1]);
    connections = atoi(argv[2]);
    if (p < 1 || p > MAX_THREADS || connections < 0)
        return 2;
    int listener = listen_on_loopback();
    for (int t = 0; t < p; t++)
        pthread_create(&thread[t], NULL, worker, NULL);
    pthread_create(&caller, NULL, client, NULL);
    for (int i = 0; i < connections; i++) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            exit(2);
        put(fd);
    }
    pthread_mutex_lock(&lock);
    closed = 1;
    pthread_cond_broadcast(&not_empty);
    pthread_mutex_unlock(&lock);
    for (int t = 0; t < p; t++)
        pthread_join(thread[t], NULL);
    pthread_join(caller, NULL);
    int good = good_answers == connections && served == connections;
    printf("%s served=%d\n", good ? "ok" : "FAILED", served);
    return !good;
}
