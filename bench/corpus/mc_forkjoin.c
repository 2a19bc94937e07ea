/* mc_forkjoin: Monte Carlo pricing of rate-dependent contracts, fork and join with a remainder.
 *
 * Skeleton:  three early exits; create P workers; join them. The first S % P workers
 *            own one item more.
 * Governs:   P, after the checks P >= 1, P <= MAX_THREADS, S >= P.
 * Teaches:   early exits as input classes of their own; workers that call malloc and
 *            free (the locks inside libc must stay ungated); options in any order.
 *
 * Usage: mc_forkjoin -s ITEMS -t TRIALS -p THREADS [-r SEED]
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 64
#define BLOCK 16
#define STEPS 8
#define FACTORS 3

struct item {
    double strike, mean, spread;
};

static struct item *items;
static int nitems, ntrials, nthreads;
static long base_seed = 1979;

static double uniform(unsigned long *state)
{
    *state = *state * 6364136223846793005ul + 1442695040888963407ul;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

/* Inverse of the normal distribution by bisection on erf: slow, short and exact enough. */
static double inverse_normal(double u)
{
    double lo = -8, hi = 8;
    for (int i = 0; i < 30; i++) {
        double mid = (lo + hi) / 2;
        if (0.5 * (1 + erf(mid / sqrt(2.0))) < u)
            lo = mid;
        else
            hi = mid;
    }
    return (lo + hi) / 2;
}

static double one_path(double *curve, const double *draws, double strike)
{
    for (int s = 0; s < STEPS; s++)
        curve[s] = 0.05;
    double discount = 1;
    for (int s = 0; s < STEPS; s++) {
        double shock = 0;
        for (int f = 0; f < FACTORS; f++)
            shock += draws[s * FACTORS + f] * 0.004 / (f + 1);
        for (int k = s; k < STEPS; k++)
            curve[k] += shock;
        discount *= exp(-curve[s] * 0.25);
    }
    double payoff = curve[STEPS - 1] - strike;
    return payoff > 0 ? payoff * discount * 100 : 0;
}

static int price_item(struct item *it, unsigned long seed)
{
    double *draws = malloc(sizeof(double) * BLOCK * STEPS * FACTORS);
    double *curve = malloc(sizeof(double) * STEPS);
    if (!draws || !curve) {
        free(draws);
        free(curve);
        return -1;
    }
    double sum = 0, squares = 0;
    for (int done = 0; done < ntrials; done += BLOCK) {
        for (int i = 0; i < BLOCK * STEPS * FACTORS; i++)
            draws[i] = inverse_normal(uniform(&seed));
        for (int b = 0; b < BLOCK && done + b < ntrials; b++) {
            double v = one_path(curve, draws + b * STEPS * FACTORS, it->strike);
            sum += v;
            squares += v * v;
        }
    }
    it->mean = sum / ntrials;
    it->spread = sqrt(fabs(squares / ntrials - it->mean * it->mean) / ntrials);
    free(curve);
    free(draws);
    return 0;
}

static void *worker(void *arg)
{
    int t = *(int *)arg;
    int share = nitems / nthreads, extra = nitems % nthreads;
    int lo = t * share + (t < extra ? t : extra);
    int hi = lo + share + (t < extra);
    for (int i = lo; i < hi; i++)
        if (price_item(&items[i], (unsigned long)base_seed + (unsigned long)i * 77) != 0)
            return arg;
    return NULL;
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "-s") == 0)
            nitems = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "-t") == 0)
            ntrials = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "-p") == 0)
            nthreads = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "-r") == 0)
            base_seed = atol(argv[i + 1]);
        else {
            fprintf(stderr, "unknown option %s\n", argv[i]);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int tid[MAX_THREADS];
    parse(argc, argv);
    if (nthreads < 1 || nthreads > MAX_THREADS) {
        fprintf(stderr, "threads must be 1..%d\n", MAX_THREADS);
        return 2;
    }
    if (nitems < nthreads) {
        fprintf(stderr, "fewer items than threads\n");
        return 2;
    }
    if (ntrials < 1)
        return 2;
    items = calloc((size_t)nitems, sizeof *items);
    if (!items)
        return 2;
    for (int i = 0; i < nitems; i++)
        items[i].strike = 0.03 + 0.002 * (i % 16);

    for (int t = 0; t < nthreads; t++) {
        tid[t] = t;
        pthread_create(&thread[t], NULL, worker, &tid[t]);
    }
    int failed = 0;
    for (int t = 0; t < nthreads; t++) {
        void *result;
        pthread_join(thread[t], &result);
        failed += result != NULL;
    }
    /* With the same draws, a higher strike never pays more; different seeds leave noise. */
    double sum = 0;
    int bad = failed;
    for (int i = 0; i < nitems; i++) {
        sum += items[i].mean;
        bad += !(items[i].mean >= 0) || !(items[i].spread >= 0);
    }
    printf("%s items=%d trials=%d mean=%.5f\n", bad ? "FAILED" : "ok", nitems, ntrials, sum / nitems);
    return bad != 0;
}
