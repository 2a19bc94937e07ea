/* A lock/unlock pair that nobody contends. ROUNDS epochs of PAIRS pairs. A second thread exists, as in every threaded program: the
   C library is faster without one. Where the archive has a cross edge, it was satisfied long ago. */
#include "micro.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *other(void *unused) {
  SYNC(pthread_mutex_lock, 3, &lock);
  SYNC(pthread_mutex_unlock, 4, &lock);
  MARKER(7);
  pause();
  return unused;
}

PROGRAM(0);

int main(void) {
  BEGIN();
  pthread_t thread;
  SYNC(pthread_create, 1, &thread, 0, other, 0);
  usleep(20000);
  uint64_t begin = now(CLOCK_THREAD_CPUTIME_ID);
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < PAIRS; i++) {
      SYNC(pthread_mutex_lock, 5, &lock);
      SYNC(pthread_mutex_unlock, 6, &lock);
    }
#ifdef EPOCHS
    MARKER(8);
#endif
  }
  printf("%f\n", (double)(now(CLOCK_THREAD_CPUTIME_ID) - begin) / ROUNDS / PAIRS);
  END();
  fflush(stdout);
  _exit(0);
}
