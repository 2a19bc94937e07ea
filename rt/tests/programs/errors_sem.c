/* What POSIX says semaphores, spin locks, barriers and condition variables return. One thread. */
#include "heddle.h"

HEDDLE_PROGRAM(0);

static void semaphores(void) {
  sem_t s;
  int value = -1;
  struct timespec past = {0, 0}, wrong = {0, 1000000000};
  say(error_of(heddle_sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1, 1)));
  say(error_of(heddle_sem_init(&s, 0, 2, 1)));
  say(error_of(heddle_sem_wait(&s, 1)));
  say(error_of(heddle_sem_timedwait(&s, &past, 1)));
  say(error_of(heddle_sem_trywait(&s, 1)));
  say(error_of(heddle_sem_timedwait(&s, &past, 2)));
  say(error_of(heddle_sem_timedwait(&s, &wrong, 3)));
  heddle_sem_getvalue(&s, &value, 1);
  say(error_of(heddle_sem_post(&s, 1)));
  say(error_of(heddle_sem_post(&s, 1)));
  printf("%d ", value);
  heddle_sem_getvalue(&s, &value, 1);
  printf("%d ", value);
  say(error_of(heddle_sem_destroy(&s, 1)));
  say(error_of(heddle_sem_init(&s, 0, SEM_VALUE_MAX, 1)));
  say(error_of(heddle_sem_post(&s, 1)));
  say(error_of(sem_trywait(&s)));
  say(error_of(heddle_sem_post(&s, 1)));
  say(error_of(heddle_sem_destroy(&s, 1)));
  puts("");
}

static void others(void) {
  pthread_spinlock_t spin;
  say(heddle_pthread_spin_init(&spin, 0, 1));
  say(heddle_pthread_spin_lock(&spin, 1));
  say(heddle_pthread_spin_trylock(&spin, 1));
  say(pthread_spin_trylock(&spin));
  say(heddle_pthread_spin_unlock(&spin, 1));
  say(pthread_spin_trylock(&spin));
  say(heddle_pthread_spin_trylock(&spin, 1));
  say(pthread_spin_unlock(&spin));
  say(heddle_pthread_spin_trylock(&spin, 1));
  say(heddle_pthread_spin_unlock(&spin, 1));
  say(heddle_pthread_spin_destroy(&spin, 1));
  pthread_barrier_t barrier;
  say(heddle_pthread_barrier_init(&barrier, 0, 0, 1));
  say(heddle_pthread_barrier_init(&barrier, 0, 1, 1));
  say(heddle_pthread_barrier_wait(&barrier, 1));
  say(heddle_pthread_barrier_wait(&barrier, 1));
  say(heddle_pthread_barrier_destroy(&barrier, 1));
  pthread_cond_t cond;
  pthread_mutex_t mutex;
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
  say(heddle_pthread_mutex_init(&mutex, &attr, 1));
  say(heddle_pthread_cond_init(&cond, 0, 1));
  say(heddle_pthread_cond_signal(&cond, 1));
  say(heddle_pthread_cond_broadcast(&cond, 1));
  /* Not ours: nothing is waited for. */
  say(heddle_pthread_cond_wait(&cond, &mutex, 4));
  say(heddle_pthread_mutex_lock(&mutex, 1));
  struct timespec past = {0, 0}, wrong = {0, -5};
  say(heddle_pthread_cond_timedwait(&cond, &mutex, &past, 2));
  say(heddle_pthread_cond_timedwait(&cond, &mutex, &wrong, 3));
  say(heddle_pthread_mutex_unlock(&mutex, 1));
  say(heddle_pthread_cond_destroy(&cond, 1));
  /* Nobody else to wait for: a thread cannot join itself. */
  say(heddle_pthread_join(pthread_self(), 0, 5));
  puts("");
}

int main(void) {
  heddle_enter_main(0);
  semaphores();
  others();
  heddle_exit_main();
  return 0;
}
