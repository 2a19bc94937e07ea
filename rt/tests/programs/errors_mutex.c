/* What POSIX says a mutex returns, for every type. One thread. */
#include "heddle.h"

HEDDLE_PROGRAM(0);

static void use(pthread_mutex_t *m, int type, const pthread_mutexattr_t *attr) {
  say(heddle_pthread_mutex_init(m, attr, 1));
  say(heddle_pthread_mutex_lock(m, 1));
  say(heddle_pthread_mutex_trylock(m, 1));
  if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)
    say(heddle_pthread_mutex_lock(m, 1));
  say(heddle_pthread_mutex_destroy(m, 1));
  say(heddle_pthread_mutex_unlock(m, 1));
  if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)
    for (int i = 0; i < 3; i++)
      say(heddle_pthread_mutex_unlock(m, 1));
  say(heddle_pthread_mutex_destroy(m, 1));
  puts("");
}

int main(void) {
  heddle_enter_main(0);
  static pthread_mutex_t zeroed, fixed = PTHREAD_MUTEX_INITIALIZER, again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
  pthread_mutex_t *heap = malloc(sizeof *heap), stack;
  for (int i = 0; i < 4; i++) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, types[i]);
    use(heap, types[i], &attr);
    use(&stack, types[i], &attr);
  }
  free(heap);
  pthread_mutex_t *fresh[] = {&zeroed, &fixed, &again};
  for (int i = 0; i < 3; i++) {
    say(heddle_pthread_mutex_lock(fresh[i], 1));
    say(heddle_pthread_mutex_trylock(fresh[i], 1));
    say(heddle_pthread_mutex_unlock(fresh[i], 1));
  }
  /* The deadline is looked at only if the mutex is taken. */
  struct timespec past = {0, 0}, wrong = {0, -1};
  say(heddle_pthread_mutex_timedlock(&zeroed, &past, 1));
  say(heddle_pthread_mutex_timedlock(&zeroed, &past, 2));
  say(heddle_pthread_mutex_timedlock(&zeroed, &wrong, 3));
  say(heddle_pthread_mutex_unlock(&zeroed, 1));
  say(heddle_pthread_mutex_timedlock(&zeroed, &wrong, 1));
  puts("");
  heddle_exit_main();
  return 0;
}
