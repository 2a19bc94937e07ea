/* What instrumentation would have produced: the runtime's names, and the constant that ties program and archive. */
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
int heddle_pthread_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *, uint32_t site);
int heddle_pthread_mutex_destroy(pthread_mutex_t *, uint32_t site);
int heddle_pthread_mutex_lock(pthread_mutex_t *, uint32_t site);
int heddle_pthread_mutex_trylock(pthread_mutex_t *, uint32_t site);
int heddle_pthread_mutex_unlock(pthread_mutex_t *, uint32_t site);

struct heddle_program {
  char magic[8];
  uint8_t fingerprint[16];
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

/* One program, one archive; `...` are the addresses of the archive's roots. */
#define HEDDLE_PROGRAM(...)                                                                                            \
  static const void *const roots[] = {__VA_ARGS__};                                                                    \
  const struct heddle_program __heddle_program = {                                                                     \
      {'H', 'E', 'D', 'D', 'L', 'E', 0, 1}, {7}, sizeof roots / sizeof *roots, roots, MAX_SHADOWS, shadow_address,     \
      1000000, ARCHIVE, 0, 0}
