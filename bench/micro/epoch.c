/* One thread goes through ROUNDS epochs: what a change of epoch, an early decision in it, or a late decision costs. */
#include "micro.h"

static uint64_t input = 1;

PROGRAM(&input);

int main(void) {
  BEGIN();
  uint64_t begin = now(CLOCK_THREAD_CPUTIME_ID);
  for (int round = 0; round < ROUNDS; round++) {
    MARKER(8);
#ifdef LATE
    DECIDE(9, round & 1);
#endif
  }
  printf("%f\n", (double)(now(CLOCK_THREAD_CPUTIME_ID) - begin) / ROUNDS);
  END();
  return 0;
}
