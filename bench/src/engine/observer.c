// Linked into a program whose real run is compared with the engine's: sets inputs, logs branches, writes memory down at the end.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BRANCHES = 1 << 22 };

static unsigned observer_log[2 * MOST_BRANCHES];
static size_t observer_count;

void heddle_input(void *pointer, size_t size, const char *name) {
    char variable[256];
    snprintf(variable, sizeof variable, "INPUT_%s", name);
    const char *hex = getenv(variable);
    for (size_t i = 0; hex && i < size && hex[2 * i]; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        ((unsigned char *)pointer)[i] = (unsigned char)byte;
    }
}

void heddle_assume_at(int holds, const char *condition, const char *file, int line) {
    if (!holds)
        abort();
}

void heddle_decide(unsigned site, unsigned outcome) {
    if (observer_count == MOST_BRANCHES)
        abort();
    observer_log[2 * observer_count] = site;
    observer_log[2 * observer_count++ + 1] = outcome;
}

void heddle_enter_main(unsigned site) {}
void heddle_exit_main(void) {}

__attribute__((destructor)) static void observer_end(void) {
    const char *ranges = getenv("OBSERVE_RANGES"), *to = getenv("OBSERVE_TO");
    FILE *out = to ? fopen(to, "wb") : NULL;
    if (!out)
        return;
    while (ranges && *ranges) {
        char *end;
        unsigned long address = strtoul(ranges, &end, 10), size = strtoul(end + 1, &end, 10);
        fwrite((void *)address, 1, size, out);
        ranges = end + 1;
    }
    fwrite(observer_log, 8, observer_count, out);
    fclose(out);
}
