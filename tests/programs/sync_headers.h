// What the primitives table must cover: every function these headers declare.
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
