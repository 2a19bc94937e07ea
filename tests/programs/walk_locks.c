// A walk through files that locks at each: how often `nftw` calls back nobody knows before.
#define _XOPEN_SOURCE 700
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int files, turns;

static int visit(const char *path, const struct stat *about, int kind, struct FTW *at) {
  (void)path, (void)about, (void)at;
  if (kind == FTW_F) {
    pthread_mutex_lock(&lock);
    files++;
    pthread_mutex_unlock(&lock);
  }
  return 0;
}

static void *other(void *unused) {
  for (int i = 0; i < 3; i++) {
    pthread_mutex_lock(&lock);
    turns++;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

int main(int argc, char **argv) {
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  int result = argc > 1 ? nftw(argv[1], visit, 8, FTW_PHYS) : 0;
  pthread_join(thread, 0);
  printf("%d %d %d\n", result, files, turns);
}
