/* Programs of `heddle-bench micro`: one source, compiled natively and as instrumentation would have made it. Each prints one
   number: nanoseconds for one of whatever it measures. */
#pragma once
#include "heddle.h"

#ifdef NATIVE
#define SYNC(function, site, ...) function(__VA_ARGS__)
#define BEGIN()
#define END()
#define MARKER(site)
#define DECIDE(site, outcome)
#define PROGRAM(...)
#else
#define SYNC(function, site, ...) heddle_##function(__VA_ARGS__, site)
#define BEGIN() heddle_enter_main(0)
#define END() heddle_exit_main()
#define MARKER(site) heddle_marker(site)
#define DECIDE(site, outcome) heddle_decide(site, outcome)
#define PROGRAM(...) HEDDLE_PROGRAM(__VA_ARGS__)
#endif

static uint64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* About `nanoseconds` of work that no compiler removes. */
static unsigned long per_microsecond;
static void spin(unsigned long rounds) {
  for (unsigned long i = 0; i < rounds; i++)
    __asm__ volatile("" ::: "memory");
}
static void calibrate(void) {
  for (int i = 0; i < 5; i++) {
    uint64_t begin = now(CLOCK_THREAD_CPUTIME_ID);
    spin(1000000);
    unsigned long speed = 1000000000ul / (now(CLOCK_THREAD_CPUTIME_ID) - begin);
    if (speed > per_microsecond)
      per_microsecond = speed;
  }
}
static void work(unsigned long nanoseconds) { spin(nanoseconds * per_microsecond / 1000); }

/* Threads of a measurement: begin together (natively), and note when. */
#define MAX_THREADS 16
static pthread_barrier_t together;
static uint64_t began[MAX_THREADS], ended[MAX_THREADS];
static void begin_measuring(int id) {
  pthread_barrier_wait(&together);
  began[id] = now(CLOCK_MONOTONIC);
}
static void end_measuring(int id) { ended[id] = now(CLOCK_MONOTONIC); }
static double elapsed(int threads) {
  uint64_t first = began[0], last = ended[0];
  for (int i = 1; i < threads; i++) {
    first = began[i] < first ? began[i] : first;
    last = ended[i] > last ? ended[i] : last;
  }
  return (double)(last - first);
}
