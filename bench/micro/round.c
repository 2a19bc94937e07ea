/* Rounds of a barrier with WORK nanoseconds of work between them. */
#include "micro.h"

static pthread_barrier_t barrier;

static void *worker(void *argument) {
  int id = (int)(intptr_t)argument;
  begin_measuring(id);
  for (int i = 0; i < ROUNDS; i++) {
    work(WORK);
    SYNC(pthread_barrier_wait, 3, &barrier);
  }
  end_measuring(id);
  return 0;
}

PROGRAM(0);

int main(void) {
  BEGIN();
  calibrate();
  pthread_barrier_init(&together, 0, THREADS);
  SYNC(pthread_barrier_init, 4, &barrier, 0, THREADS);
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++)
    SYNC(pthread_create, 1, &threads[i], 0, worker, (void *)i);
  for (int i = 0; i < THREADS; i++)
    SYNC(pthread_join, 2, threads[i], 0);
  printf("%f\n", elapsed(THREADS) / ROUNDS);
  END();
  return 0;
}
