#include <stdio.h>

#include "tally.h"

static void start(int number) {
    (void)number;
    tally_add(1);
}

int main(void) {
    tally_run(4, start);
    printf("%d\n", tally_total());
    return 0;
}
