/* Items go one by one from a producer to a consumer. */
#include "micro.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
static int slot;
static long sum;

static void *producer(void *unused) {
  begin_measuring(0);
  for (int i = 1; i <= ITEMS; i++) {
    work(WORK);
    SYNC(pthread_mutex_lock, 3, &lock);
    while (slot != 0)
      SYNC(pthread_cond_wait, 4, &empty, &lock);
    slot = i;
    SYNC(pthread_cond_signal, 5, &full);
    SYNC(pthread_mutex_unlock, 6, &lock);
  }
  end_measuring(0);
  return unused;
}

static void *consumer(void *unused) {
  begin_measuring(1);
  for (int i = 1; i <= ITEMS; i++) {
    SYNC(pthread_mutex_lock, 7, &lock);
    while (slot == 0)
      SYNC(pthread_cond_wait, 8, &full, &lock);
    sum += slot;
    slot = 0;
    SYNC(pthread_cond_signal, 9, &empty);
    SYNC(pthread_mutex_unlock, 10, &lock);
    work(WORK);
  }
  end_measuring(1);
  return unused;
}

PROGRAM(0);

int main(void) {
  BEGIN();
  calibrate();
  pthread_barrier_init(&together, 0, 2);
  pthread_t threads[2];
  SYNC(pthread_create, 1, &threads[0], 0, producer, 0);
  SYNC(pthread_create, 1, &threads[1], 0, consumer, 0);
  SYNC(pthread_join, 2, threads[0], 0);
  SYNC(pthread_join, 2, threads[1], 0);
  if (sum != (long)ITEMS * (ITEMS + 1) / 2)
    abort();
  printf("%f\n", elapsed(2) / ITEMS);
  END();
  return 0;
}
