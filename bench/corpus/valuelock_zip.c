/* valuelock_zip: a compressor built on "a lock with a number": mutex + condvar + long.
 *
 * Skeleton:  main reads blocks; it launches the writer first, then up to P compressors
 *            lazily, one per block until P exist. Each block is a job with a lock of its own.
 *            The compress list's number is its length, the write list's number is the first
 *            sequence number in it. At the end a job with sequence -1 is passed on.
 * Governs:   P and the number of blocks.
 * Teaches:   wait-until helpers called through small wrappers; objects initialised and
 *            destroyed while others run, at addresses that malloc reuses; broadcast at every
 *            change; threads made only when needed; once and thread-specific data.
 *
 * Usage: valuelock_zip P BLOCKS
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 32

struct valuelock {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    long value;
};

enum relation { IS, IS_NOT };

struct job {
    long sequence, sum, length;
    struct valuelock checked;
    struct job *next;
};

static struct valuelock compress_list, write_list;
static struct job *compress_head, **compress_tail = &compress_head, *write_head;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t name_key;
static long written, total_length, total_sum;

static void value_init(struct valuelock *v, long value)
{
    pthread_mutex_init(&v->mutex, NULL);
    pthread_cond_init(&v->cond, NULL);
    v->value = value;
}

static void acquire(struct valuelock *v)
{
    pthread_mutex_lock(&v->mutex);
}

static void release(struct valuelock *v)
{
    pthread_mutex_unlock(&v->mutex);
}

static void set_and_release(struct valuelock *v, long value)
{
    v->value = value;
    pthread_cond_broadcast(&v->cond);
    pthread_mutex_unlock(&v->mutex);
}

static void wait_until(struct valuelock *v, enum relation relation, long value)
{
    while (relation == IS ? v->value != value : v->value == value)
        pthread_cond_wait(&v->cond, &v->mutex);
}

static void value_destroy(struct valuelock *v)
{
    pthread_cond_destroy(&v->cond);
    pthread_mutex_destroy(&v->mutex);
}

static void make_key(void)
{
    pthread_key_create(&name_key, NULL);
}

static void compress_job(struct job *j)
{
    unsigned h = (unsigned)j->sequence * 2654435761u + 1;
    for (int i = 0; i < 64; i++) {
        h = h * 1664525u + 1013904223u;
        j->length += h >> 31;
    }
}

static void *compressor(void *arg)
{
    pthread_once(&once, make_key);
    pthread_setspecific(name_key, arg);
    for (;;) {
        acquire(&compress_list);
        wait_until(&compress_list, IS_NOT, 0);
        struct job *j = compress_head;
        if (j->sequence == -1) { /* leave it for the others */
            release(&compress_list);
            return pthread_getspecific(name_key);
        }
        compress_head = j->next;
        if (!compress_head)
            compress_tail = &compress_head;
        set_and_release(&compress_list, compress_list.value - 1);
        compress_job(j);
        acquire(&write_list);
        struct job **at = &write_head;
        while (*at && (*at)->sequence < j->sequence)
            at = &(*at)->next;
        j->next = *at;
        *at = j;
        set_and_release(&write_list, write_head->sequence);
        j->sum = j->sequence * 3 + 1; /* the checksum comes after the block is in the list */
        acquire(&j->checked);
        set_and_release(&j->checked, 1);
    }
}

static void *writer(void *arg)
{
    long last = *(long *)arg;
    for (long sequence = 0; sequence < last; sequence++) {
        acquire(&write_list);
        wait_until(&write_list, IS, sequence);
        struct job *j = write_head;
        write_head = j->next;
        set_and_release(&write_list, write_head ? write_head->sequence : -1);
        written++;
        total_length += j->length;
        acquire(&j->checked);
        wait_until(&j->checked, IS, 1);
        release(&j->checked);
        total_sum += j->sum;
        value_destroy(&j->checked);
        free(j);
    }
    return NULL;
}

static void append(long sequence)
{
    struct job *j = calloc(1, sizeof *j);
    if (!j)
        exit(2);
    j->sequence = sequence;
    value_init(&j->checked, 0);
    acquire(&compress_list);
    *compress_tail = j;
    compress_tail = &j->next;
    set_and_release(&compress_list, compress_list.value + 1);
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS], out;
    if (argc < 3)
        return 2;
    int p = atoi(argv[1]), launched = 0;
    long blocks = atol(argv[2]);
    if (p < 1 || p > MAX_THREADS || blocks < 0)
        return 2;
    value_init(&compress_list, 0);
    value_init(&write_list, -1);
    pthread_create(&out, NULL, writer, &blocks);
    for (long b = 0; b < blocks; b++) {
        append(b);
        if (launched < p) {
            pthread_create(&thread[launched], NULL, compressor, NULL);
            launched++;
        }
    }
    append(-1);
    for (int t = 0; t < launched; t++)
        pthread_join(thread[t], NULL);
    pthread_join(out, NULL);
    int good = written == blocks && total_sum == 3 * (blocks * (blocks - 1) / 2) + blocks;
    printf("%s blocks=%ld length=%ld\n", good ? "ok" : "FAILED", written, total_length);
    return !good;
}
