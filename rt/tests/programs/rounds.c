/* Three threads, two rounds of a barrier: exactly one serial thread a round, the one that the schedule names. */
#include "heddle.h"

static pthread_barrier_t barrier;
static int before[2][3];
static char log_[3][64];

static void *worker(void *argument) {
  int id = (int)(intptr_t)argument;
  for (int round = 0; round < 2; round++) {
    before[round][id] = 1;
    int result = heddle_pthread_barrier_wait(&barrier, 4);
    int sum = before[round][0] + before[round][1] + before[round][2];
    sprintf(log_[id] + strlen(log_[id]), " %s%d", name(result), sum);
  }
  return 0;
}

HEDDLE_PROGRAM(0);

int main(void) {
  heddle_enter_main(0);
  pthread_t threads[2];
  heddle_pthread_barrier_init(&barrier, 0, 3, 1);
  for (intptr_t i = 0; i < 2; i++)
    heddle_pthread_create(&threads[i], 0, worker, (void *)(i + 1), 2);
  worker(0);
  for (int i = 0; i < 2; i++)
    heddle_pthread_join(threads[i], 0, 3);
  say(heddle_pthread_barrier_destroy(&barrier, 5));
  printf("%s%s%s\n", log_[0], log_[1], log_[2]);
  heddle_exit_main();
  return 0;
}
