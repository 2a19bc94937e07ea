/* Time-outs whose outcome is decided while the program runs. argv[1]: milliseconds that the holder works,
   argv[2]: milliseconds until the deadline. With MONOTONIC the deadline names its clock. */
#include "heddle.h"

#ifdef MONOTONIC
#define CLOCK CLOCK_MONOTONIC
#else
#define CLOCK CLOCK_REALTIME
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#ifdef COND
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
#endif

static void *holder(void *milliseconds) {
#ifdef COND
  usleep(1000 * atoi(milliseconds));
  heddle_pthread_mutex_lock(&lock, 3);
  heddle_pthread_cond_signal(&done, 4);
  heddle_pthread_mutex_unlock(&lock, 5);
#else
  heddle_pthread_mutex_lock(&lock, 3);
  usleep(1000 * atoi(milliseconds));
  heddle_pthread_mutex_unlock(&lock, 5);
#endif
  return 0;
}

HEDDLE_PROGRAM(0);

int main(int argc, char **argv) {
  heddle_enter_main(0);
  pthread_t thread;
  (void)argc;
  struct timespec until = in(CLOCK, atoi(argv[2])), end;
#ifdef COND
  heddle_pthread_mutex_lock(&lock, 7);
  heddle_pthread_create(&thread, 0, holder, argv[1], 1);
#ifdef MONOTONIC
  int result = heddle_pthread_cond_clockwait(&done, &lock, CLOCK, &until, 8);
#else
  int result = heddle_pthread_cond_timedwait(&done, &lock, &until, 8);
#endif
  heddle_pthread_mutex_unlock(&lock, 9);
#else
  heddle_pthread_create(&thread, 0, holder, argv[1], 1);
#ifdef MONOTONIC
  int result = heddle_pthread_mutex_clocklock(&lock, CLOCK, &until, 8);
#else
  int result = heddle_pthread_mutex_timedlock(&lock, &until, 8);
#endif
  heddle_decide(10, result != 0);
  if (result == 0)
    heddle_pthread_mutex_unlock(&lock, 9);
#endif
  end = in(CLOCK, 0);
  int late = end.tv_sec > until.tv_sec || (end.tv_sec == until.tv_sec && end.tv_nsec >= until.tv_nsec);
  heddle_pthread_join(thread, 0, 2);
  /* "Timed out" is never said too early. */
  printf("%s%s\n", name(result), result == ETIMEDOUT && !late ? " too early" : "");
  heddle_exit_main();
  return 0;
}
