/* Two threads, LOCKS locks, INSIDE nanoseconds in a critical section and OUTSIDE between them; thread 1 works SKEW times as
   long. With ORDER=FILE in the environment the native program writes down who took each lock when. */
#include "micro.h"

static pthread_mutex_t locks[LOCKS];
static uint32_t taken[LOCKS][2 * TURNS];
static unsigned count[LOCKS];

static void *worker(void *argument) {
  int id = (int)(intptr_t)argument;
  unsigned long seed = 12345 + 777u * (unsigned long)id;
  begin_measuring(id);
  for (int i = 0; i < TURNS; i++) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
#ifdef PRIVATE
    unsigned which = (unsigned)id;
#else
    unsigned which = (unsigned)(seed >> 40) % LOCKS;
#endif
    SYNC(pthread_mutex_lock, 3, &locks[which]);
    taken[which][count[which]++] = (uint32_t)id;
    work(INSIDE);
    SYNC(pthread_mutex_unlock, 4, &locks[which]);
    work(OUTSIDE * (unsigned long)(id ? SKEW : 1));
  }
  end_measuring(id);
  return 0;
}

PROGRAM(0);

int main(void) {
  BEGIN();
  calibrate();
  pthread_barrier_init(&together, 0, 2);
  pthread_t threads[2];
  for (intptr_t i = 0; i < 2; i++)
    SYNC(pthread_create, 1, &threads[i], 0, worker, (void *)i);
  for (int i = 0; i < 2; i++)
    SYNC(pthread_join, 2, threads[i], 0);
  const char *file = getenv("ORDER");
  FILE *out = file ? fopen(file, "w") : 0;
  for (int lock = 0; out && lock < LOCKS; lock++)
    for (unsigned i = 0; i < count[lock]; i++)
      fprintf(out, "%d %u\n", lock, taken[lock][i]);
  if (out)
    fclose(out);
  printf("%f\n", elapsed(2) / TURNS);
  END();
  return 0;
}
