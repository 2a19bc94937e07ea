/* Two workers, one branch each kind of decision. MODE 0: an early decision on a global; 1: on a shadow word; 2: a late
   decision; 3: an elastic region. argv[1] is the input. */
#include "heddle.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, extra = PTHREAD_MUTEX_INITIALIZER;
static char log_[64];
static int input;
static int *pointer = &input;

static void put(const char *name, uint32_t site) {
  heddle_pthread_mutex_lock(&lock, site);
  strcat(log_, name);
  heddle_pthread_mutex_unlock(&lock, site + 1);
}

static void *worker(void *name) {
  int mine = input;
#if MODE == 1
  shadows[3] = (uint64_t)mine;
#endif
  heddle_marker(30);
#if MODE == 2
  if (*(char *)name == 'a') {
    mine = atoi(getenv("INPUT"));
    heddle_decide(20, mine > 5);
  }
#endif
#if MODE == 3
  heddle_arm(21, mine > 5);
  if (mine > 5) {
    heddle_pthread_mutex_lock(&extra, 12);
    strcat(log_, "!");
    heddle_pthread_mutex_unlock(&extra, 13);
  }
  heddle_arms_end(21);
#endif
  put(name, 10);
  return name;
}

HEDDLE_PROGRAM(&input, &pointer);

int main(int argc, char **argv) {
  heddle_enter_main(0);
  pthread_t a, b;
  setenv("INPUT", argv[1], 1);
  if (MODE != 2 && argc > 1)
    input = atoi(argv[1]);
  heddle_pthread_create(&a, 0, worker, "a", 1);
  heddle_pthread_create(&b, 0, worker, "b", 2);
  heddle_marker(31);
  void *result;
  heddle_pthread_join(a, &result, 5);
  heddle_pthread_join(b, &result, 6);
  puts(log_);
  heddle_exit_main();
  return 0;
}
