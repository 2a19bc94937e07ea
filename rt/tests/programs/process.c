/* The corners of POSIX, one per name in argv[1]. A worker locks once; what happens around it differs. */
#include "heddle.h"
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t alarms;
static pthread_key_t key;
static int destroyed, early;
/* "pipe": the worker waits for a byte that main would write after its turn, which comes after the worker's. */
static int ends[2];

static void touch(uint32_t site) {
  heddle_pthread_mutex_lock(&lock, site);
  heddle_pthread_mutex_unlock(&lock, site + 1);
}

__attribute__((constructor)) static void before_main(void) {
  touch(90);
  early = 1;
}
static void at_exit(void) {
  touch(92);
  puts("at exit");
}
static void on_alarm(int signal) { alarms += signal == SIGALRM; }
static sigjmp_buf way_out;
static void escape(int signal) {
  if (alarms++ == 0)
    siglongjmp(way_out, signal);
}
static void destroy(void *value) { destroyed += value != 0; }

static void clean(void *what) { printf("cleaned %s\n", (char *)what); }
static __attribute__((noinline)) void leave_from_below(char *what) {
  pthread_cleanup_push(clean, what);
  heddle_pthread_exit(what, 13);
  pthread_cleanup_pop(0);
}

static void *worker(void *argument) {
  const char *what = argument;
  pthread_setspecific(key, what);
  /* Signals interrupt the sleep, so it is repeated until the time is over. */
  if (!strcmp(what, "slow"))
    for (struct timespec now, end = in(CLOCK_MONOTONIC, 1300);;) {
      clock_gettime(CLOCK_MONOTONIC, &now);
      if (now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec > end.tv_nsec))
        break;
      usleep(10000);
    }
  if (!strcmp(what, "pipe") && read(ends[0], &(char){0}, 1) != 1)
    exit(6);
  touch(10);
  if (!strcmp(what, "exit-inside"))
    exit(5);
  if (!strcmp(what, "cleanup"))
    leave_from_below(argument);
  if (!strcmp(what, "last"))
    puts("worker");
  return 0;
}

static void *blocked(void *argument) {
  touch(12); /* Its turn never comes. */
  return argument;
}

HEDDLE_PROGRAM(0);

static void in_child(void) {
  pthread_t thread;
  touch(40);
  heddle_pthread_create(&thread, 0, worker, "", 41);
  heddle_pthread_join(thread, 0, 42);
  puts("child");
  exit(0);
}

static int run(const char *what) {
  pthread_t thread, other;
  if (!strcmp(what, "daemon") && daemon(1, 1) != 0)
    return 9;
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  if (!strcmp(what, "small"))
    pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
  if (!strcmp(what, "alone")) {
    touch(20);
    return 0;
  }
  if (!strcmp(what, "alarm")) {
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &timer, 0);
  }
  if (!strcmp(what, "pipe") && pipe(ends) != 0)
    return 9;
  int slow = !strcmp(what, "alarm") || !strcmp(what, "escape");
  heddle_pthread_create(&thread, &attr, worker, (void *)(slow ? "slow" : what), 1);
  if (!strcmp(what, "escape")) {
    /* The first alarm comes while this thread waits for the worker; it leaves the wait and comes again. */
    struct itimerval timer = {{0, 0}, {0, 300000}};
    signal(SIGALRM, escape);
    setitimer(ITIMER_REAL, &timer, 0);
    if (sigsetjmp(way_out, 1) != 0)
      puts("escaped");
  }
  if (!strncmp(what, "blocked", 7)) {
    heddle_pthread_create(&other, 0, blocked, 0, 2);
    touch(20);
    if (!strcmp(what, "blocked-exit"))
      exit(3);
    if (!strcmp(what, "blocked-_exit"))
      _exit(3);
    if (!strcmp(what, "blocked-quick"))
      quick_exit(3);
    if (!strcmp(what, "blocked-abort"))
      abort();
    if (!strcmp(what, "blocked-kill"))
      kill(getpid(), SIGKILL);
    if (!strcmp(what, "blocked-exec"))
      execl("/bin/echo", "echo", "another program", (char *)0);
    return 3;
  }
  if (!strcmp(what, "last")) {
    touch(20);
    heddle_pthread_exit(0, 21);
  }
  if (!strcmp(what, "detached"))
    heddle_pthread_detach(thread, 3);
  if (!strcmp(what, "fork")) {
    fflush(stdout);
    if (fork() == 0)
      in_child();
    int status;
    wait(&status);
    printf("status %d\n", status);
  }
  if (!strcmp(what, "spawn")) {
    fflush(stdout);
    pid_t child;
    char *arguments[] = {"/bin/echo", "spawned", 0};
    int status = -1;
    posix_spawn(&child, arguments[0], 0, 0, arguments, environ);
    waitpid(child, &status, 0);
    printf("status %d\n", status);
    fflush(stdout);
    printf("system %d\n", system("true"));
    child = vfork();
    if (child == 0)
      _exit(4);
    waitpid(child, &status, 0);
    printf("vfork %d\n", WEXITSTATUS(status));
  }
  if (!strcmp(what, "jump")) {
    static jmp_buf place;
    touch(20);
    if (setjmp(place) == 0)
      longjmp(place, 1);
  }
  touch(20);
  void *left = 0;
  if (strcmp(what, "detached"))
    heddle_pthread_join(thread, &left, 4);
  if (!strcmp(what, "cleanup"))
    printf("%s\n", left ? (char *)left : "nothing");
  if (!strcmp(what, "alarm"))
    printf("%s\n", alarms > 20 ? "interrupted" : "not interrupted");
  return 0;
}

int main(int argc, char **argv) {
  heddle_enter_main(0);
  setvbuf(stdout, 0, _IONBF, 0);
  pthread_key_create(&key, destroy);
  if (argc > 2)
    atexit(at_exit);
  int result = run(argv[1]);
  printf("%s %d %d\n", argv[1], early, destroyed);
  heddle_exit_main();
  return result;
}
