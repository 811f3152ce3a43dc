/*
 * The search for layers that stay in floats, on made-up costs: beside the best of all choices,
 * which are tried one by one.
 */
#include "mixed/internal.h"

#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAYERS  10
#define CHOICES (1 << LAYERS)
#define BUDGETS 3
#define BOUNDS  3
#define CASES   40
#define OFF     0.3 /* losses are within 30% of what is predicted */

/* Made-up layers in a chain. */
struct chain {
    int n;
    double eight_us[LAYERS], float_us[LAYERS]; /* of a layer */
    double convert_us[LAYERS + 1];             /* between layers of different precisions */
    double elements[LAYERS + 1];               /* of tensors */
    double value_error[LAYERS + 1], weight_error[LAYERS], alone[LAYERS];
    double off; /* how far losses are from what is predicted, as a factor */
    int64_t budgets[BUDGETS];
    bool fails; /* planning does */
};

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*seed >> 11) * 0x1p-53;
}

static struct chain make_chain(uint64_t seed, int n)
{
    struct chain chain = {.n = n, .off = OFF};
    double most = 0;

    for (int i = 0; i <= n; i++) {
        chain.elements[i] = 100 + 900 * uniform(&seed);
        chain.convert_us[i] = 0.004 * chain.elements[i];
        chain.value_error[i] = pow(10, -3 - 3 * uniform(&seed));
    }
    for (int i = 0; i < n; i++) {
        chain.float_us[i] = 10 + 90 * uniform(&seed);
        chain.eight_us[i] = chain.float_us[i] * (0.2 + uniform(&seed)); /* rarely slower */
        chain.weight_error[i] = pow(10, -3 - 3 * uniform(&seed));
        chain.alone[i] = chain.value_error[i] + chain.weight_error[i];
        most = fmax(most, 4 * (chain.elements[i] + chain.elements[i + 1]));
    }
    for (int b = 0; b < BUDGETS; b++)
        chain.budgets[b] = (int64_t)(most * (0.5 + 0.25 * b));
    return chain;
}

/* A tensor has bytes where a layer beside it is in 8 bits. */
static bool is_eight(const struct chain *chain, const bool *kept, int tensor)
{
    return (tensor > 0 && !kept[tensor - 1]) || (tensor < chain->n && !kept[tensor]);
}

static double bytes_of(const struct chain *chain, const bool *kept, int tensor)
{
    return chain->elements[tensor] * (is_eight(chain, kept, tensor) ? 1 : 4);
}

static double error_of(const struct chain *chain, const bool *kept)
{
    double error = 0;

    for (int i = 0; i <= chain->n; i++)
        error += is_eight(chain, kept, i) ? chain->value_error[i] : 0;
    for (int i = 0; i < chain->n; i++)
        error += kept[i] ? 0 : chain->weight_error[i];
    return error;
}

/* A smaller budget than a layer's tensors and workspace does not fit; half as much more is faster.
 */
static double time_of(const struct chain *chain, const bool *kept, int64_t budget)
{
    double time_us = 0;

    for (int i = 0; i < chain->n; i++) {
        bool converts = kept[i] && (is_eight(chain, kept, i) || is_eight(chain, kept, i + 1));
        double bytes = bytes_of(chain, kept, i) + bytes_of(chain, kept, i + 1);

        if (bytes > (double)budget)
            return HUGE_VAL;
        time_us += (kept[i] ? chain->float_us[i] : chain->eight_us[i]) *
                   (1.5 * bytes > (double)budget ? 1.3 : 1);
        time_us += converts ? chain->convert_us[i] + chain->convert_us[i + 1] : 0;
    }
    return time_us;
}

static enum vbs_status plan(struct vbs_ctx *ctx, void *self, const bool *kept,
                            struct vbs_mixed_plan *plans, double *error)
{
    const struct chain *chain = self;

    (void)ctx;
    if (chain->fails)
        return VBS_LIBRARY;
    *error = error_of(chain, kept);
    for (int b = 0; b < BUDGETS; b++)
        plans[b].time_us = time_of(chain, kept, chain->budgets[b]);
    return VBS_OK;
}

/* A loss differs from what is predicted, by a factor of its own for each choice. */
static struct vbs_quantize_difference loss_of(const struct chain *chain, const bool *kept)
{
    uint64_t seed = 1;
    double error;

    for (int i = 0; i < chain->n; i++)
        seed = seed * 31 + kept[i];
    error = error_of(chain, kept) * (1 + chain->off * (2 * uniform(&seed) - 1));
    return (struct vbs_quantize_difference){.n = 1000,
                                            .db = error > 0 ? -10 * log10(error) : HUGE_VAL,
                                            .n_same = 1000 - (int64_t)fmin(1e5 * error, 1000)};
}

static enum vbs_status compare(struct vbs_ctx *ctx, void *self, const bool *kept,
                               struct vbs_quantize_difference *difference)
{
    (void)ctx;
    *difference = loss_of(self, kept);
    return VBS_OK;
}

static bool is_within(const struct vbs_quantize_difference *d, const struct vbs_mixed_bound *bound)
{
    return pow(10, -d->db / 10) <= bound->error &&
           (double)(d->n - d->n_same) / (double)d->n <= bound->changed;
}

/* Tries all choices. */
static double best_of_all(const struct chain *chain, int b, const struct vbs_mixed_bound *bound)
{
    double best = HUGE_VAL;

    for (int mask = 0; mask < 1 << chain->n; mask++) {
        struct vbs_quantize_difference loss;
        bool kept[LAYERS];

        for (int i = 0; i < chain->n; i++)
            kept[i] = mask >> i & 1;
        loss = loss_of(chain, kept);
        if (is_within(&loss, bound))
            best = fmin(best, time_of(chain, kept, chain->budgets[b]));
    }
    return best;
}

static struct mixed_costs costs_of(struct chain *chain)
{
    return (struct mixed_costs){.self = chain,
                                .n_layers = chain->n,
                                .n_budgets = BUDGETS,
                                .alone = chain->alone,
                                .plan = plan,
                                .compare = compare};
}

/* How far what was found is from the best. */
struct gap {
    double sum, most;
    int n, n_exact, n_missed, n_broken;
};

static void check_found(struct gap *gap, const struct chain *chain, const struct mixed_choices *c,
                        const struct vbs_mixed_bound *bound, int b, int chosen)
{
    double best = best_of_all(chain, b, bound), ratio;
    struct vbs_quantize_difference loss;

    if (chosen < 0) {
        gap->n_missed += best < HUGE_VAL;
        return;
    }
    loss = loss_of(chain, c->choices[chosen].kept);
    ratio = c->choices[chosen].plans[b].time_us / best;
    gap->n_broken += !is_within(&loss, bound) || ratio < 1 || !c->choices[chosen].measured;
    gap->n++;
    gap->n_exact += ratio == 1;
    gap->sum += ratio - 1;
    gap->most = fmax(gap->most, ratio - 1);
}

static void search_chain(struct gap *gap, struct chain *chain, const struct vbs_mixed_bound *bounds,
                         int most)
{
    const struct mixed_costs costs = costs_of(chain);
    struct mixed_choices c = {.costs = &costs, .most = most};
    struct vbs_ctx ctx = {0};
    int chosen[BUDGETS * BOUNDS];

    if (mixed_begin(&ctx, &c) != VBS_OK || mixed_search(&ctx, &c, bounds, BOUNDS, chosen) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    for (int i = 0; i < BUDGETS * BOUNDS; i++)
        check_found(gap, chain, &c, &bounds[i % BOUNDS], i / BOUNDS, chosen[i]);
    gap->n_broken += c.n > most;
    mixed_choices_clear(&c);
}

static void report(const char *what, const struct gap *gap)
{
    printf("# %s: %d of %d are the best, %.2f%% slower on average, %.1f%% at most, %d missed\n",
           what, gap->n_exact, gap->n, 100 * gap->sum / gap->n, 100 * gap->most, gap->n_missed);
}

static void check_cases(const char *what, const struct vbs_mixed_bound *bounds, int most,
                        double mean, double farthest)
{
    struct gap gap = {0};

    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct chain chain = make_chain(seed, LAYERS);

        search_chain(&gap, &chain, bounds, most);
    }
    report(what, &gap);
    ok(gap.n > 100 && gap.n_broken == 0,
       "%s: what is chosen was compared, is within its bound, and is no faster than the best",
       what);
    ok(gap.n_missed <= gap.n / 12,
       "%s: where something is within the bound, it is nearly always found", what);
    ok(gap.sum / gap.n < mean && gap.most < farthest, "%s: it is near the best", what);
}

/* A chain of one layer has two choices, and each is the best for some bound. */
static void check_one_layer(void)
{
    const struct vbs_mixed_bound bounds[BOUNDS] = {
        {HUGE_VAL, HUGE_VAL}, {0, HUGE_VAL}, {HUGE_VAL, 0}};
    struct chain chain = make_chain(3, 1);
    struct gap gap = {0};

    chain.float_us[0] = 2 * chain.eight_us[0];
    chain.budgets[0] = chain.budgets[1] = chain.budgets[2] = 100000;
    search_chain(&gap, &chain, bounds, 100);
    ok(gap.n == BUDGETS * BOUNDS && gap.n_exact == gap.n && gap.n_broken == 0,
       "one layer: the best is found for every bound");
}

/* Where all choices may be planned, and losses are as predicted, the best is found. */
static void check_all(void)
{
    const struct vbs_mixed_bound bounds[BOUNDS] = {
        {3e-3, HUGE_VAL}, {1e-3, HUGE_VAL}, {HUGE_VAL, 0.05}};
    struct gap gap = {0};

    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct chain chain = make_chain(seed, LAYERS);

        chain.off = 0;
        search_chain(&gap, &chain, bounds, CHOICES);
    }
    report("all choices", &gap);
    ok(gap.n > 100 && gap.n_exact == gap.n && gap.n_broken == 0 && gap.n_missed == 0,
       "all choices: the best is found");
}

/* Where nothing fits, nothing is chosen. */
static void check_nothing_fits(void)
{
    const struct vbs_mixed_bound bounds[BOUNDS] = {
        {HUGE_VAL, HUGE_VAL}, {1e-3, HUGE_VAL}, {HUGE_VAL, 0.01}};
    struct chain chain = make_chain(5, LAYERS);
    const struct mixed_costs costs = costs_of(&chain);
    struct mixed_choices c = {.costs = &costs, .most = 100};
    struct vbs_ctx ctx = {0};
    int chosen[BUDGETS * BOUNDS], n = 0;

    memset(chain.budgets, 0, sizeof chain.budgets);
    if (mixed_begin(&ctx, &c) != VBS_OK || mixed_search(&ctx, &c, bounds, BOUNDS, chosen) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    for (int i = 0; i < BUDGETS * BOUNDS; i++)
        n += chosen[i] >= 0;
    is_int(n, 0, "no budget is enough: nothing is chosen");
    mixed_choices_clear(&c);
    chain.fails = true;
    c = (struct mixed_choices){.costs = &costs, .most = 100};
    ok(mixed_begin(&ctx, &c) == VBS_LIBRARY, "a failure of planning is passed on");
    mixed_choices_clear(&c);
}

int main(void)
{
    static const struct vbs_mixed_bound ERRORS[BOUNDS] = {
        {3e-3, HUGE_VAL}, {1e-3, HUGE_VAL}, {3e-4, HUGE_VAL}};
    static const struct vbs_mixed_bound CHANGES[BOUNDS] = {
        {HUGE_VAL, 0.2}, {HUGE_VAL, 0.05}, {1e-3, 0.1}};

    check_cases("errors", ERRORS, 300, 0.04, 0.60);
    check_cases("classes", CHANGES, 300, 0.04, 0.60);
    check_cases("few choices", ERRORS, 60, 0.06, 0.60);
    check_all();
    check_one_layer();
    check_nothing_fits();
    done_testing();
}
