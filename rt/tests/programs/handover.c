/* One item at a time goes from producer to consumer; the waits have no loop around them: nobody wakes up for nothing. */
#include "heddle.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
static int slot;

static void *consumer(void *unused) {
  for (int i = 0; i < 2; i++) {
    heddle_pthread_mutex_lock(&lock, 3);
    if (slot == 0)
      heddle_pthread_cond_wait(&full, &lock, 4);
    printf("%d", slot);
    slot = 0;
    heddle_pthread_cond_signal(&empty, 5);
    heddle_pthread_mutex_unlock(&lock, 6);
  }
  return unused;
}

HEDDLE_PROGRAM(0);

int main(void) {
  heddle_enter_main(0);
  pthread_t thread;
  heddle_pthread_create(&thread, 0, consumer, 0, 1);
  for (int i = 1; i <= 2; i++) {
    heddle_pthread_mutex_lock(&lock, 7);
    if (slot != 0)
      heddle_pthread_cond_wait(&empty, &lock, 8);
    slot = i;
    heddle_pthread_mutex_unlock(&lock, 9);
    heddle_pthread_cond_signal(&full, 10);
  }
  heddle_pthread_join(thread, 0, 2);
  puts("");
  heddle_exit_main();
  return 0;
}
