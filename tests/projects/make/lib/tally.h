// A counter that several threads share.
void tally_add(int amount);
int tally_total(void);
// Runs `work(i)` in `threads` threads and waits for all.
void tally_run(int threads, void (*work)(int));
