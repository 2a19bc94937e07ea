/* Main sits in read(2) until the worker has gone through ROUNDS epochs: nobody waits for main at their boundaries. */
#include "heddle.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], rounds_done;

static void *worker(void *argument) {
  for (int i = 0; i < ROUNDS; i++) {
    heddle_marker(30);
    heddle_pthread_mutex_lock(&lock, 10);
    rounds_done++;
    heddle_pthread_mutex_unlock(&lock, 11);
  }
  if (write(ends[1], "x", 1) != 1)
    exit(6);
  return argument;
}

HEDDLE_PROGRAM(0);

int main(void) {
  heddle_enter_main(0);
  pthread_t thread;
  char byte = 0;
  if (pipe(ends) != 0)
    return 9;
  heddle_pthread_create(&thread, 0, worker, 0, 1);
  if (read(ends[0], &byte, 1) != 1)
    return 9;
  heddle_pthread_join(thread, 0, 5);
  printf("%c %d\n", byte, rounds_done);
  heddle_exit_main();
  return 0;
}
