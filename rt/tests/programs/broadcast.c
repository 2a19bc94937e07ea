/* Two threads wait, one broadcast wakes both, in the order that the schedule gives. */
#include "heddle.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER;
static char log_[64];

static void *worker(void *name) {
  heddle_pthread_mutex_lock(&lock, 3);
  heddle_pthread_cond_wait(&go, &lock, 4);
  strcat(log_, name);
  heddle_pthread_mutex_unlock(&lock, 5);
  return 0;
}

HEDDLE_PROGRAM(0);

int main(void) {
  heddle_enter_main(0);
  pthread_t a, b;
  heddle_pthread_create(&a, 0, worker, "a", 1);
  heddle_pthread_create(&b, 0, worker, "b", 2);
  heddle_pthread_mutex_lock(&lock, 6);
  heddle_pthread_mutex_unlock(&lock, 7);
  heddle_pthread_cond_broadcast(&go, 8);
  heddle_pthread_join(a, 0, 9);
  heddle_pthread_join(b, 0, 10);
  puts(log_);
  say(heddle_pthread_cond_destroy(&go, 11));
  puts("");
  heddle_exit_main();
  return 0;
}
