/* What POSIX says a reader-writer lock returns. One thread. */
#include "heddle.h"

HEDDLE_PROGRAM(0);

int main(void) {
  heddle_enter_main(0);
  static pthread_rwlock_t zeroed;
  pthread_rwlock_t made;
  struct timespec past = {0, 0};
  say(heddle_pthread_rwlock_init(&made, 0, 1));
  pthread_rwlock_t *locks[] = {&made, &zeroed};
  for (int i = 0; i < 2; i++) {
    pthread_rwlock_t *l = locks[i];
    say(heddle_pthread_rwlock_rdlock(l, 1));
    say(heddle_pthread_rwlock_tryrdlock(l, 1));
    say(heddle_pthread_rwlock_timedrdlock(l, &past, 1));
    say(heddle_pthread_rwlock_trywrlock(l, 1));
    say(heddle_pthread_rwlock_timedwrlock(l, &past, 2));
    for (int k = 0; k < 3; k++)
      say(heddle_pthread_rwlock_unlock(l, 1));
    say(heddle_pthread_rwlock_trywrlock(l, 1));
    say(heddle_pthread_rwlock_wrlock(l, 1));
    say(heddle_pthread_rwlock_rdlock(l, 1));
    say(heddle_pthread_rwlock_tryrdlock(l, 1));
    say(heddle_pthread_rwlock_trywrlock(l, 1));
    say(heddle_pthread_rwlock_unlock(l, 1));
    say(heddle_pthread_rwlock_timedwrlock(l, &past, 1));
    say(heddle_pthread_rwlock_unlock(l, 1));
    say(heddle_pthread_rwlock_wrlock(l, 1));
    say(heddle_pthread_rwlock_unlock(l, 1));
    /* The C library finds the lock as it would have left it. */
    say(pthread_rwlock_rdlock(l));
    say(heddle_pthread_rwlock_trywrlock(l, 1));
    say(pthread_rwlock_unlock(l));
    say(pthread_rwlock_wrlock(l));
    say(heddle_pthread_rwlock_tryrdlock(l, 1));
    say(pthread_rwlock_unlock(l));
    say(heddle_pthread_rwlock_rdlock(l, 1));
    say(pthread_rwlock_trywrlock(l));
    say(pthread_rwlock_unlock(l));
    puts("");
  }
  say(heddle_pthread_rwlock_destroy(&made, 1));
  puts("");
  heddle_exit_main();
  return 0;
}
