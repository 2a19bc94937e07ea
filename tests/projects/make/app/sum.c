#include <stdio.h>

#include "tally.h"

const char *total_name(void);

static void start(int number) { tally_add(number); }

int main(int argc, char **argv) {
    tally_run(argc > 1 ? argv[1][0] - '0' : 3, start);
    printf("%s %d\n", total_name(), tally_total());
    return 0;
}
