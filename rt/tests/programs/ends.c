/* How a thread ends, one way per name in argv[1]: destructors that lock, cleanup handlers that lock, cancellation. */
#include "heddle.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t none;
static pthread_key_t first, second, gone;
static tss_t third;

static void say_locked(const char *what, uint32_t site) {
  heddle_pthread_mutex_lock(&lock, site);
  puts(what);
  heddle_pthread_mutex_unlock(&lock, site + 1);
}

static void destroy_first(void *value) { say_locked(value, 30); }
/* Sets itself again, once: there is a second round. */
static void destroy_second(void *value) {
  say_locked(value, 32);
  if (!strcmp(value, "second"))
    pthread_setspecific(second, "again");
}
static void destroy_never(void *value) { printf("destroyed %s\n", (char *)value); }
/* For ever: after four rounds it is left alone. */
static void destroy_third(void *value) {
  puts("third");
  tss_set(third, value);
}

static void unlock(void *what) {
  puts(what);
  heddle_pthread_mutex_unlock(&lock, 24);
}
static void relock(void *what) { say_locked(what, 26); }

static void set_data(void) {
  pthread_setspecific(second, "second");
  pthread_setspecific(first, "first");
}

static void *worker(void *argument) {
  const char *what = argument;
  if (!strcmp(what, "destructors"))
    set_data();
  if (!strcmp(what, "rounds"))
    tss_set(third, "x");
  if (!strcmp(what, "exit")) {
    set_data();
    pthread_cleanup_push(relock, "outer");
    pthread_cleanup_push(relock, "inner");
    heddle_pthread_exit("value", 20);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
  }
  if (!strcmp(what, "cond")) {
    heddle_pthread_mutex_lock(&lock, 21);
    pthread_cleanup_push(unlock, "waited");
    heddle_pthread_cond_wait(&never, &lock, 22);
    pthread_cleanup_pop(0);
  }
  if (!strcmp(what, "sem")) {
    pthread_cleanup_push(relock, "posted");
    heddle_sem_wait(&none, 22);
    pthread_cleanup_pop(0);
  }
  if (!strcmp(what, "test")) {
    heddle_pthread_testcancel(21);
    heddle_pthread_testcancel(22);
    puts("not reached");
  }
  return argument;
}

HEDDLE_PROGRAM(0);

int main(int argc, char **argv) {
  (void)argc;
  heddle_enter_main(0);
  sem_init(&none, 0, 0);
  heddle_pthread_key_create(&first, destroy_first, 1);
  heddle_pthread_key_create(&gone, destroy_never, 2);
  heddle_pthread_key_delete(gone, 3);
  heddle_pthread_key_create(&second, destroy_second, 4);
  heddle_tss_create(&third, destroy_third, 5);
  pthread_t thread;
  void *result;
  heddle_pthread_create(&thread, 0, worker, argv[1], 6);
  if (!strcmp(argv[1], "cond") || !strcmp(argv[1], "sem") || !strcmp(argv[1], "test"))
    heddle_pthread_cancel(thread, 7);
  heddle_pthread_join(thread, &result, 8);
  puts(result == PTHREAD_CANCELED ? "cancelled" : (char *)result);
  heddle_exit_main();
  return 0;
}
