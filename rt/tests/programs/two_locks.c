/* Two threads append to a log under a lock; the schedule says in which order. */
#include "heddle.h"

#ifndef FIRST_LOCK
#define FIRST_LOCK 3
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char log_[64];

static void *worker(void *name) {
  for (int i = 0; i < 3; i++) {
    heddle_pthread_mutex_lock(&lock, FIRST_LOCK);
    strcat(log_, name);
    heddle_pthread_mutex_unlock(&lock, 4);
  }
  return name;
}

HEDDLE_PROGRAM(0);

int main(void) {
  heddle_enter_main(0);
  pthread_t a, b;
  heddle_pthread_create(&a, 0, worker, "a", 1);
  heddle_pthread_create(&b, 0, worker, "b", 2);
  void *result;
  heddle_pthread_join(a, &result, 5);
  heddle_pthread_join(b, &result, 6);
  puts(log_);
  heddle_exit_main();
  return 0;
}
