/* price_forkjoin: closed-form option pricing, plain fork and join.
 *
 * Skeleton:  P := min(P, N); create P workers; join them in the same order.
 * Governs:   P and N, through the clamp only. The records decide branches of the
 *            kernel, never synchronization.
 * Teaches:   one schedule per number of workers; input-dependent branches in a
 *            worker that does not synchronize must not multiply schedules.
 *
 * Usage: price_forkjoin P N [ROUNDS]        -DFROM_FILE: price_forkjoin P FILE [ROUNDS]
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 64

struct option {
    float spot, strike, rate, volatility, years;
    int is_put;
};

static struct option *options;
static float *price;
static int nthreads, noptions, rounds = 4;

/* Abramowitz and Stegun 26.2.17: a polynomial of five terms. */
static float normal_cdf(float x)
{
    int negative = x < 0.0f;
    if (negative)
        x = -x;
    float k = 1.0f / (1.0f + 0.2316419f * x);
    float poly = k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.3989422804f * expf(-0.5f * x * x) * poly;
    return negative ? tail : 1.0f - tail;
}

static float black_scholes(const struct option *o)
{
    float root = o->volatility * sqrtf(o->years);
    float d1 = (logf(o->spot / o->strike) + (o->rate + 0.5f * o->volatility * o->volatility) * o->years) / root;
    float d2 = d1 - root;
    float discounted = o->strike * expf(-o->rate * o->years);
    if (o->is_put)
        return discounted * (1.0f - normal_cdf(d2)) - o->spot * (1.0f - normal_cdf(d1));
    return o->spot * normal_cdf(d1) - discounted * normal_cdf(d2);
}

static void *worker(void *arg)
{
    int t = *(int *)arg;
    int share = noptions / nthreads; /* the remainder is never priced: choose N divisible */
    for (int r = 0; r < rounds; r++)
        for (int i = t * share; i < (t + 1) * share; i++)
            price[i] = black_scholes(&options[i]);
    return NULL;
}

static void allocate(int n)
{
    options = malloc((size_t)n * sizeof *options);
    price = calloc((size_t)n, sizeof *price);
    if (!options || !price) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    noptions = n;
}

#ifdef FROM_FILE
static void load(const char *path)
{
    int n;
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%d", &n) != 1 || n < 1) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    allocate(n);
    for (int i = 0; i < n; i++) {
        struct option *o = &options[i];
        if (fscanf(f, "%f %f %f %f %f %d", &o->spot, &o->strike, &o->rate, &o->volatility, &o->years, &o->is_put) != 6) {
            fprintf(stderr, "%s: bad record %d\n", path, i);
            exit(2);
        }
    }
    fclose(f);
}
#else
static void generate(int n)
{
    unsigned x = 12345;
    allocate(n);
    for (int i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        options[i].spot = 40.0f + (float)(x >> 24) / 4.0f;
        options[i].strike = 60.0f + (float)((x >> 16) & 31);
        options[i].rate = 0.01f + (float)((x >> 12) & 7) / 100.0f;
        options[i].volatility = 0.10f + (float)((x >> 8) & 31) / 100.0f;
        options[i].years = 0.25f + (float)(i % 8) / 4.0f;
        options[i].is_put = i & 1;
    }
}
#endif

/* Put-call parity, on every record that somebody priced. */
static int violations(void)
{
    int bad = 0;
    for (int i = 0; i < noptions / nthreads * nthreads; i++) {
        struct option other = options[i];
        other.is_put = !other.is_put;
        float call = options[i].is_put ? black_scholes(&other) : price[i];
        float put = options[i].is_put ? price[i] : black_scholes(&other);
        float parity = other.spot - other.strike * expf(-other.rate * other.years);
        bad += !(fabsf(call - put - parity) < 0.05f);
    }
    return bad;
}

int main(int argc, char **argv)
{
    static pthread_t thread[MAX_THREADS];
    static int tid[MAX_THREADS];
    if (argc < 3) {
        fprintf(stderr, "usage: %s P N|FILE [ROUNDS]\n", argv[0]);
        return 2;
    }
    nthreads = atoi(argv[1]);
    if (argc > 3)
        rounds = atoi(argv[3]);
#ifdef FROM_FILE
    load(argv[2]);
#else
    if (atoi(argv[2]) < 1)
        return 2;
    generate(atoi(argv[2]));
#endif
    if (nthreads < 1 || nthreads > MAX_THREADS)
        return 2;
    if (nthreads > noptions)
        nthreads = noptions;
    for (int t = 0; t < nthreads; t++) {
        tid[t] = t;
        pthread_create(&thread[t], NULL, worker, &tid[t]);
    }
    for (int t = 0; t < nthreads; t++)
        pthread_join(thread[t], NULL);

    double sum = 0;
    for (int i = 0; i < noptions / nthreads * nthreads; i++)
        sum += price[i];
    int bad = violations();
    printf("%s options=%d threads=%d sum=%.2f\n", bad ? "FAILED" : "ok", noptions, nthreads, sum);
    return bad != 0;
}
