/* What instrumentation would have produced: the runtime's names, and the constant that ties program and archive. */
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

void heddle_enter_main(uint32_t site);
void heddle_exit_main(void);
void heddle_marker(uint32_t site);
void heddle_decide(uint32_t site, uint32_t outcome);
void heddle_arm(uint32_t site, uint32_t outcome);
void heddle_arms_end(uint32_t site);
int heddle_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *, uint32_t site);
int heddle_pthread_join(pthread_t, void **, uint32_t site);
int heddle_pthread_detach(pthread_t, uint32_t site);
_Noreturn void heddle_pthread_exit(void *, uint32_t site);
int heddle_pthread_once(pthread_once_t *, void (*)(void), uint32_t site);
int heddle_pthread_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *, uint32_t site);
int heddle_pthread_mutex_destroy(pthread_mutex_t *, uint32_t site);
int heddle_pthread_mutex_lock(pthread_mutex_t *, uint32_t site);
int heddle_pthread_mutex_trylock(pthread_mutex_t *, uint32_t site);
int heddle_pthread_mutex_timedlock(pthread_mutex_t *, const struct timespec *, uint32_t site);
int heddle_pthread_mutex_unlock(pthread_mutex_t *, uint32_t site);
int heddle_pthread_cond_init(pthread_cond_t *, const pthread_condattr_t *, uint32_t site);
int heddle_pthread_cond_destroy(pthread_cond_t *, uint32_t site);
int heddle_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *, uint32_t site);
int heddle_pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *, uint32_t site);
int heddle_pthread_cond_signal(pthread_cond_t *, uint32_t site);
int heddle_pthread_cond_broadcast(pthread_cond_t *, uint32_t site);
int heddle_pthread_barrier_init(pthread_barrier_t *, const pthread_barrierattr_t *, unsigned, uint32_t site);
int heddle_pthread_barrier_destroy(pthread_barrier_t *, uint32_t site);
int heddle_pthread_barrier_wait(pthread_barrier_t *, uint32_t site);
int heddle_pthread_rwlock_init(pthread_rwlock_t *, const pthread_rwlockattr_t *, uint32_t site);
int heddle_pthread_rwlock_destroy(pthread_rwlock_t *, uint32_t site);
int heddle_pthread_rwlock_rdlock(pthread_rwlock_t *, uint32_t site);
int heddle_pthread_rwlock_wrlock(pthread_rwlock_t *, uint32_t site);
int heddle_pthread_rwlock_tryrdlock(pthread_rwlock_t *, uint32_t site);
int heddle_pthread_rwlock_trywrlock(pthread_rwlock_t *, uint32_t site);
int heddle_pthread_rwlock_timedrdlock(pthread_rwlock_t *, const struct timespec *, uint32_t site);
int heddle_pthread_rwlock_timedwrlock(pthread_rwlock_t *, const struct timespec *, uint32_t site);
int heddle_pthread_rwlock_unlock(pthread_rwlock_t *, uint32_t site);
int heddle_pthread_spin_init(pthread_spinlock_t *, int, uint32_t site);
int heddle_pthread_spin_destroy(pthread_spinlock_t *, uint32_t site);
int heddle_pthread_spin_lock(pthread_spinlock_t *, uint32_t site);
int heddle_pthread_spin_trylock(pthread_spinlock_t *, uint32_t site);
int heddle_pthread_spin_unlock(pthread_spinlock_t *, uint32_t site);
int heddle_sem_init(sem_t *, int, unsigned, uint32_t site);
int heddle_sem_destroy(sem_t *, uint32_t site);
int heddle_sem_wait(sem_t *, uint32_t site);
int heddle_sem_trywait(sem_t *, uint32_t site);
int heddle_sem_timedwait(sem_t *, const struct timespec *, uint32_t site);
int heddle_sem_post(sem_t *, uint32_t site);
int heddle_sem_getvalue(sem_t *, int *, uint32_t site);
int heddle_thrd_create(thrd_t *, thrd_start_t, void *, uint32_t site);
int heddle_thrd_join(thrd_t, int *, uint32_t site);
int heddle_thrd_detach(thrd_t, uint32_t site);
_Noreturn void heddle_thrd_exit(int, uint32_t site);
int heddle_mtx_init(mtx_t *, int, uint32_t site);
void heddle_mtx_destroy(mtx_t *, uint32_t site);
int heddle_mtx_lock(mtx_t *, uint32_t site);
int heddle_mtx_trylock(mtx_t *, uint32_t site);
int heddle_mtx_timedlock(mtx_t *, const struct timespec *, uint32_t site);
int heddle_mtx_unlock(mtx_t *, uint32_t site);
int heddle_cnd_init(cnd_t *, uint32_t site);
void heddle_cnd_destroy(cnd_t *, uint32_t site);
int heddle_cnd_wait(cnd_t *, mtx_t *, uint32_t site);
int heddle_cnd_timedwait(cnd_t *, mtx_t *, const struct timespec *, uint32_t site);
int heddle_cnd_signal(cnd_t *, uint32_t site);
int heddle_cnd_broadcast(cnd_t *, uint32_t site);
void heddle_call_once(once_flag *, void (*)(void), uint32_t site);
int heddle_pthread_key_create(pthread_key_t *, void (*)(void *), uint32_t site);
int heddle_pthread_key_delete(pthread_key_t, uint32_t site);
int heddle_tss_create(tss_t *, tss_dtor_t, uint32_t site);
void heddle_tss_delete(tss_t, uint32_t site);
int heddle_pthread_cancel(pthread_t, uint32_t site);
void heddle_pthread_testcancel(uint32_t site);
int heddle_pthread_mutex_clocklock(pthread_mutex_t *, clockid_t, const struct timespec *, uint32_t site);
int heddle_pthread_cond_clockwait(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *, uint32_t site);
int heddle_pthread_rwlock_clockrdlock(pthread_rwlock_t *, clockid_t, const struct timespec *, uint32_t site);
int heddle_pthread_rwlock_clockwrlock(pthread_rwlock_t *, clockid_t, const struct timespec *, uint32_t site);
int heddle_sem_clockwait(sem_t *, clockid_t, const struct timespec *, uint32_t site);

/* The time `milliseconds` from now. */
static struct timespec in(clockid_t clock, long milliseconds) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += milliseconds % 1000 * 1000000;
  time.tv_sec += milliseconds / 1000 + time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

/* The errors we test, by name. */
static const char *name(int error) {
  switch (error) {
  case 0: return "ok";
  case EAGAIN: return "EAGAIN";
  case EBUSY: return "EBUSY";
  case EDEADLK: return "EDEADLK";
  case EINVAL: return "EINVAL";
  case EPERM: return "EPERM";
  case EOVERFLOW: return "EOVERFLOW";
  case ETIMEDOUT: return "ETIMEDOUT";
  case PTHREAD_BARRIER_SERIAL_THREAD: return "serial";
  }
  return "?";
}

/* Functions that return -1 and set errno. */
static int error_of(int result) { return result == 0 ? 0 : errno; }

/* What a call returned. */
static void say(int error) { printf("%s ", name(error)); }

struct heddle_program {
  char magic[8];
  uint8_t fingerprint[16];
  uint8_t plan[16];
  int64_t root_count;
  const void *roots;
  int64_t shadow_count;
  uint64_t *(*shadow_address)(void);
  int64_t site_count;
  const char *archive_name;
  const void *embedded;
  int64_t embedded_size;
};

#define MAX_SHADOWS 16
static _Thread_local uint64_t shadows[MAX_SHADOWS];
static uint64_t *shadow_address(void) { return shadows; }

/* HEDDLE_ROUNDS=FROM:COUNT:AT_ONCE:PREFIX runs the program COUNT times without loading it again: before anything of the runtime has run, a
   process forks off for each of the seeds FROM.., with its own delays, trace (PREFIX.SEED.trace) and output (PREFIX.SEED.out), every third one
   with a single core. The first that fails ends all. */
static void round_begins(unsigned long seed, const char *prefix) {
  char text[4096];
  snprintf(text, sizeof text, "%s.%lu.out", prefix, seed);
  if (!freopen(text, "w", stdout))
    _exit(99);
  snprintf(text, sizeof text, "trace=%s.%lu.trace:jitter=%lu", prefix, seed, seed);
  setenv("HEDDLE_OPTIONS", text, 1);
  if (seed % 3 == 2) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  alarm(60);
}

static int rounds_left(int running, int at_most) {
  for (; running > at_most; running--) {
    int status;
    pid_t ended = wait(&status);
    if (ended < 0 || status != 0) {
      fprintf(stderr, "process %d of the rounds ended with %#x\n", (int)ended, (unsigned)status);
      kill(0, SIGKILL);
    }
  }
  return running;
}

__attribute__((constructor(101))) static void rounds(void) {
  unsigned long from, count;
  int at_once, running = 0, prefix = 0;
  const char *wanted = getenv("HEDDLE_ROUNDS");
  if (!wanted || sscanf(wanted, "%lu:%lu:%d:%n", &from, &count, &at_once, &prefix) < 3 || !prefix)
    return;
  char *name = strdup(wanted + prefix);
  unsetenv("HEDDLE_ROUNDS");
  setpgid(0, 0);
  for (unsigned long seed = from; seed < from + count; seed++) {
    running = rounds_left(running, at_once - 1);
    pid_t child = fork();
    if (child == 0) {
      round_begins(seed, name);
      return;
    }
    running++;
  }
  rounds_left(running, 0);
  exit(0);
}

/* With -DEMBEDDED=file -DEMBEDDED_SIZE=bytes the archive is part of the program. */
#ifdef EMBEDDED
__asm__(".pushsection .rodata\n.balign 16\nheddle_embedded: .incbin \"" EMBEDDED "\"\n.popsection");
extern const unsigned char heddle_embedded[];
#else
#define heddle_embedded 0
#define EMBEDDED_SIZE 0
#endif

/* One program, one archive; `...` are the addresses of the archive's roots. */
#define HEDDLE_PROGRAM(...)                                                                                            \
  static const void *const roots[] = {__VA_ARGS__};                                                                    \
  const struct heddle_program __heddle_program = {                                                                     \
      {'H', 'E', 'D', 'D', 'L', 'E', 0, 2}, {7}, {0}, sizeof roots / sizeof *roots, roots, MAX_SHADOWS, shadow_address,     \
      1000000, ARCHIVE, heddle_embedded, EMBEDDED_SIZE}
