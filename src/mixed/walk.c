/* Walks through choices, from all layers in 8 bits to all in floats, and back. */
#include "mixed/internal.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_ERROR 1e-30 /* differences of errors below it do not count */

/* Layers come in pairs, so that a layer in floats has neighbours in 8 bits on both sides, on one
 * side, on the other one, and on none. */
static enum vbs_status plan_patterns(struct vbs_ctx *ctx, struct mixed_choices *c, bool *kept)
{
    static const char *const PATTERNS[] = {"8", "f", "8f", "f8", "88ff", "8ff8", "ff88", "f88f"};
    int number;

    for (size_t p = 0; p < sizeof PATTERNS / sizeof PATTERNS[0]; p++) {
        const char *at = PATTERNS[p];

        for (int i = 0; i < c->costs->n_layers; i++) {
            kept[i] = *at == 'f';
            at = at[1] ? at + 1 : PATTERNS[p];
        }
        VBS_TRY(mixed_find(ctx, c, kept, &number));
    }
    return VBS_OK;
}

/* Gives how many layers have a larger error than a layer, alone; of equal ones the first has. */
static int rank_of(const struct mixed_choices *c, int layer)
{
    const double *alone = c->costs->alone;
    int n = 0;

    for (int i = 0; i < c->costs->n_layers; i++)
        n += alone[i] > alone[layer] || (i < layer && alone[i] == alone[layer]);
    return n;
}

/* Keeps an eighth of the layers, two eighths, and so on, those with the largest errors. */
static enum vbs_status plan_shares(struct vbs_ctx *ctx, struct mixed_choices *c, bool *kept)
{
    int n = c->costs->n_layers, number;

    for (int share = 1; share < 8; share++) {
        for (int i = 0; i < n; i++)
            kept[i] = 8 * rank_of(c, i) < share * n;
        VBS_TRY(mixed_find(ctx, c, kept, &number));
    }
    return VBS_OK;
}

enum vbs_status mixed_begin(struct vbs_ctx *ctx, struct mixed_choices *c)
{
    bool *kept = malloc((size_t)c->costs->n_layers * sizeof *kept);
    enum vbs_status status = kept ? plan_patterns(ctx, c, kept) : vbs_no_memory(ctx);

    /* Walks of four choices for each layer come to their end; shorter ones may not come so far. */
    if (status == VBS_OK && 4 * c->costs->n_layers > c->most)
        status = plan_shares(ctx, c, kept);
    free(kept);
    return status;
}

bool mixed_are_few(const struct mixed_choices *c)
{
    return c->costs->n_layers < 30 && 1 << c->costs->n_layers <= c->most;
}

enum vbs_status mixed_try_all(struct vbs_ctx *ctx, struct mixed_choices *c)
{
    int n = c->costs->n_layers, number;
    bool *kept = malloc((size_t)n * sizeof *kept);
    enum vbs_status status = kept ? VBS_OK : vbs_no_memory(ctx);

    for (int mask = 0; status == VBS_OK && mask < 1 << n; mask++) {
        for (int i = 0; i < n; i++)
            kept[i] = mask >> i & 1;
        status = mixed_find(ctx, c, kept, &number);
    }
    free(kept);
    return status;
}

/* A walk in one direction. A layer's rate is the time that changing it costs for each unit of
 * error; on the way back, the (negative) time for each unit of error that it adds. Rates of earlier
 * steps are estimates: the layer with the least one is planned anew until it stays the least. */
struct mixed_course {
    struct mixed_choices *c;
    int budget, step, at; /* at: the number of the choice that is reached */
    bool timeless;
    bool *kept;
    double *rates; /* HUGE_VAL: the layer is not changed any more */
    int *steps;    /* in which a rate was found */
};

static double time_of(const struct mixed_course *w, int number)
{
    return w->c->choices[number].plans[w->budget].time_us;
}

static int least(const struct mixed_course *w)
{
    int found = -1;

    for (int i = 0; i < w->c->costs->n_layers; i++)
        if (w->rates[i] < HUGE_VAL && (found < 0 || w->rates[i] < w->rates[found]))
            found = i;
    return found;
}

static void take(struct mixed_course *w, int layer, int number)
{
    w->kept[layer] = !w->kept[layer];
    w->rates[layer] = HUGE_VAL;
    w->at = number;
    w->step++;
}

static double rate_of(const struct mixed_course *w, int number)
{
    const struct vbs_mixed_choice *to = &w->c->choices[number], *from = &w->c->choices[w->at];

    if (!(time_of(w, number) < HUGE_VAL))
        return HUGE_VAL;
    if (w->timeless)
        return to->error - from->error;
    return (time_of(w, number) - time_of(w, w->at)) /
           fmax(fabs(to->error - from->error), LEAST_ERROR);
}

/* Walks until nothing can be changed, or most choices have been planned. */
static enum vbs_status walk(struct vbs_ctx *ctx, struct mixed_course *w)
{
    int layer, number;

    while ((layer = least(w)) >= 0) {
        VBS_TRY(mixed_find_changed(ctx, w->c, w->kept, layer, -1, &number));
        if (number < 0)
            return VBS_OK;
        if (w->steps[layer] == w->step) {
            take(w, layer, number);
            continue;
        }
        w->steps[layer] = w->step;
        w->rates[layer] = rate_of(w, number);
    }
    return VBS_OK;
}

/* Walks from a choice that fits: changes layers that are kept, or those that are not. */
static enum vbs_status walk_from(struct vbs_ctx *ctx, struct mixed_course *w, int from, bool kept)
{
    const struct vbs_mixed_choice *choice = &w->c->choices[from];

    w->at = from;
    w->step = 0;
    for (int i = 0; i < w->c->costs->n_layers; i++) {
        w->kept[i] = choice->kept[i];
        w->rates[i] = choice->kept[i] == kept ? -HUGE_VAL : HUGE_VAL;
        w->steps[i] = -1;
    }
    return time_of(w, from) < HUGE_VAL ? walk(ctx, w) : VBS_OK;
}

enum vbs_status mixed_walk(struct vbs_ctx *ctx, struct mixed_choices *c, int budget)
{
    size_t n = (size_t)c->costs->n_layers;
    struct mixed_course w = {.c = c,
                             .budget = budget,
                             .kept = malloc(n * sizeof *w.kept),
                             .rates = malloc(n * sizeof *w.rates),
                             .steps = malloc(n * sizeof *w.steps)};
    enum vbs_status status = w.kept && w.rates && w.steps ? VBS_OK : vbs_no_memory(ctx);

    if (status == VBS_OK)
        status = walk_from(ctx, &w, 0, false);
    /* Where floats do not fit, the way back begins with as little error as does. */
    w.timeless = true;
    if (status == VBS_OK && !(time_of(&w, 1) < HUGE_VAL))
        status = walk_from(ctx, &w, 0, false);
    w.timeless = false;
    if (status == VBS_OK)
        status = walk_from(ctx, &w, time_of(&w, 1) < HUGE_VAL ? 1 : w.at, true);
    free(w.kept);
    free(w.rates);
    free(w.steps);
    return status;
}
