/* A semaphore, a spin lock, a reader-writer lock and a once routine between two threads, on objects that are made and unmade
   at one address. */
#include "heddle.h"

static char log_[128];
static union {
  sem_t sem;
  pthread_spinlock_t spin;
  pthread_rwlock_t rw;
} *object;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void put(const char *text) { strcat(log_, text); }
static void routine(void) {
  static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
  heddle_pthread_mutex_lock(&inner, 20);
  put("once ");
  heddle_pthread_mutex_unlock(&inner, 21);
}

static void *with_sem(void *unused) {
  heddle_sem_wait(&object->sem, 4);
  put("taken ");
  say(error_of(heddle_sem_trywait(&object->sem, 5)));
  return unused;
}
static void *with_spin(void *unused) {
  heddle_pthread_spin_lock(&object->spin, 6);
  put("spin-child ");
  heddle_pthread_spin_unlock(&object->spin, 7);
  return unused;
}
static void *with_rw(void *unused) {
  say(heddle_pthread_rwlock_tryrdlock(&object->rw, 8));
  heddle_pthread_rwlock_wrlock(&object->rw, 9);
  put("write ");
  heddle_pthread_rwlock_unlock(&object->rw, 10);
  return unused;
}
static void *with_once(void *unused) {
  heddle_pthread_once(&once, routine, 11);
  put("after ");
  return unused;
}

HEDDLE_PROGRAM(0);

static pthread_t start(void *(*entry)(void *), uint32_t site) {
  pthread_t thread;
  heddle_pthread_create(&thread, 0, entry, 0, site);
  return thread;
}

int main(void) {
  heddle_enter_main(0);
  object = malloc(sizeof *object);
  int value;

  heddle_sem_init(&object->sem, 0, 0, 1);
  pthread_t child = start(with_sem, 12);
  put("posting ");
  heddle_sem_post(&object->sem, 2);
  heddle_pthread_join(child, 0, 3);
  heddle_sem_post(&object->sem, 2);
  heddle_sem_post(&object->sem, 2);
  heddle_sem_getvalue(&object->sem, &value, 22);
  printf("%d ", value);
  heddle_sem_destroy(&object->sem, 23);

  heddle_pthread_spin_init(&object->spin, 0, 1);
  child = start(with_spin, 13);
  heddle_pthread_spin_lock(&object->spin, 2);
  put("spin-main ");
  heddle_pthread_spin_unlock(&object->spin, 24);
  heddle_pthread_join(child, 0, 3);
  heddle_pthread_spin_destroy(&object->spin, 23);

  heddle_pthread_rwlock_init(&object->rw, 0, 1);
  heddle_pthread_rwlock_wrlock(&object->rw, 25);
  child = start(with_rw, 14);
  heddle_pthread_rwlock_unlock(&object->rw, 24);
  heddle_pthread_rwlock_rdlock(&object->rw, 2);
  put("read ");
  heddle_pthread_rwlock_unlock(&object->rw, 24);
  heddle_pthread_join(child, 0, 3);
  heddle_pthread_rwlock_destroy(&object->rw, 23);
  free(object);

  child = start(with_once, 15);
  heddle_pthread_once(&once, routine, 16);
  heddle_pthread_join(child, 0, 3);
  put("main ");
  puts(log_);
  heddle_exit_main();
  return 0;
}
