/* C11 threads. */
#include "heddle.h"

static mtx_t lock;
static cnd_t ready;
static once_flag flag = ONCE_FLAG_INIT;
static int turns;

static void first(void) { turns = 10; }

static int worker(void *argument) {
  heddle_call_once(&flag, first, 3);
  heddle_mtx_lock(&lock, 4);
  turns += *(int *)argument;
  heddle_cnd_signal(&ready, 5);
  heddle_mtx_unlock(&lock, 6);
  if (turns > 100)
    return 1;
  heddle_thrd_exit(-7, 7);
}

HEDDLE_PROGRAM(0);

int main(void) {
  heddle_enter_main(0);
  thrd_t thread;
  int five = 5, result;
  struct timespec past = {0, 0};
  printf("%d %d ", heddle_mtx_init(&lock, mtx_timed, 1), heddle_cnd_init(&ready, 1));
  heddle_mtx_lock(&lock, 8);
  printf("%d ", heddle_thrd_create(&thread, worker, &five, 2));
  printf("%d ", heddle_mtx_trylock(&lock, 9) == thrd_busy);
  printf("%d ", heddle_mtx_timedlock(&lock, &past, 16) == thrd_timedout);
  printf("%d ", heddle_cnd_wait(&ready, &lock, 10));
  printf("%d ", heddle_cnd_timedwait(&ready, &lock, &past, 11) == thrd_timedout);
  heddle_mtx_unlock(&lock, 12);
  heddle_thrd_join(thread, &result, 13);
  heddle_call_once(&flag, first, 14);
  printf("%d %d\n", result, turns);
  heddle_cnd_destroy(&ready, 15);
  heddle_mtx_destroy(&lock, 15);
  heddle_exit_main();
  return 0;
}
