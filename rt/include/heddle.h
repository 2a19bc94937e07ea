/* heddle.h: what a program may say to Heddle about its inputs.
 *
 * Both calls do nothing in a program that was built without Heddle; no library is needed.
 */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* heddle_assume(condition): schedules are needed only for runs in which the condition holds here.
 *
 * A program built with Heddle checks it: a run in which it does not hold is reported and stopped, as every other run that
 * has no schedule.
 */
#define heddle_assume(condition) heddle_assume_at(!!(condition), #condition, __FILE__, __LINE__)

/* heddle_input(pointer, size, "name"): these bytes are an input. Heddle supposes nothing about them, whatever the program
 * seems to have stored there, and calls them by this name in its reports. At run time they stay as they are.
 */
__attribute__((weak, noinline)) void heddle_input(void *pointer, size_t size, const char *name) {
    volatile unsigned char *byte = (volatile unsigned char *)pointer;
    size_t index;
    (void)name;
    for (index = 0; index < size; index++)
        byte[index] = byte[index];
}

/* Behind heddle_assume. The runtime's own takes its place in programs built with Heddle. */
__attribute__((weak, noinline)) void heddle_assume_at(int holds, const char *condition, const char *file, int line) {
    (void)holds, (void)condition, (void)file, (void)line;
}

#ifdef __cplusplus
}
#endif
#endif
