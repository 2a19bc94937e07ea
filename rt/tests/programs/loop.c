/* Two workers take turns for as long as argv[1] says: one epoch a turn, hundreds of epochs. Threads come and go in between. */
#include "heddle.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t order = 1;
static long turns;
static int left;

static void *helper(void *argument) { return argument; }

static void turn(uint64_t who) {
  heddle_pthread_mutex_lock(&lock, 10);
  order = order * 31 + who;
  turns++;
  heddle_pthread_mutex_unlock(&lock, 11);
}

static void *worker(void *argument) {
  for (int i = left; i > 0; i--) {
    heddle_marker(30);
    heddle_decide(20, 0);
    turn(2);
  }
  heddle_marker(30);
  heddle_decide(20, 1);
  return argument;
}

HEDDLE_PROGRAM(&left);

int main(int argc, char **argv) {
  heddle_enter_main(0);
  pthread_t a, b;
  left = argc > 1 ? atoi(argv[1]) : 3;
  uint64_t expected = 1;
  for (int i = 0; i < left; i++)
    expected = (expected * 31 + 1) * 31 + 2;
  heddle_pthread_create(&a, 0, worker, 0, 1);
  for (int i = left; i > 0; i--) {
    heddle_marker(31);
    heddle_decide(21, 0);
    heddle_pthread_create(&b, 0, helper, 0, 2);
    heddle_pthread_join(b, 0, 6);
    turn(1);
  }
  heddle_marker(31);
  heddle_decide(21, 1);
  heddle_pthread_join(a, 0, 5);
  printf("%s %ld\n", order == expected ? "in order" : "out of order", turns);
  heddle_exit_main();
  return 0;
}
