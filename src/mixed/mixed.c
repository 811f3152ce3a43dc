/* The calls of the room. */
#include "mixed/internal.h"

#include "base/fail.h"
#include "base/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct vbs_mixed {
    struct mixed_cost cost;
    struct mixed_costs costs;
    double *alone; /* [layers] */
    struct mixed_choices choices;
};

/* ---- the layers ---- */

/* Lists the layers with weights in 8 bits, and what each costs alone. */
static enum vbs_status list_layers(struct vbs_ctx *ctx, struct mixed_cost *cost)
{
    const struct vbs_quantize_row *rows = vbs_quantized_rows(cost->quantized, &cost->n_rows);

    cost->layers = calloc((size_t)cost->n_rows, sizeof *cost->layers);
    if (!cost->layers)
        return vbs_no_memory(ctx);
    for (int i = 0; i < cost->n_rows; i++)
        if (rows[i].n_weights > 0)
            cost->layers[cost->n_layers++] = (struct vbs_mixed_layer){
                i, rows[i].name, rows[i].kind,
                vbs_quantized_row_error(cost->quantized, i, cost->values, cost->weights)};
    return VBS_OK;
}

static enum vbs_status measure_errors(struct vbs_ctx *ctx, struct mixed_cost *cost)
{
    const struct vbs_quantize_options options = {.struct_size = sizeof options,
                                                 .batch = cost->options.batch,
                                                 .threads = cost->options.threads,
                                                 .progress = cost->options.progress};
    int n_values = vbs_network_operators(vbs_quantized_floats(cost->quantized)), n_rows;

    vbs_quantized_rows(cost->quantized, &n_rows);
    cost->values = calloc((size_t)n_values, sizeof *cost->values);
    cost->weights = calloc((size_t)n_rows, sizeof *cost->weights);
    if (!cost->values || !cost->weights)
        return vbs_no_memory(ctx);
    VBS_TRY(vbs_quantized_errors(ctx, cost->quantized, cost->samples, &options, cost->values,
                                 cost->weights));
    return list_layers(ctx, cost);
}

/* ---- beginning and end ---- */

static enum vbs_status read_options(struct vbs_ctx *ctx, const struct vbs_mixed_options *options,
                                    struct mixed_cost *cost)
{
    struct vbs_mixed_options *own = &cost->options;

    VBS_TRY(vbs_options_read(ctx, "vbs_mixed_options", options, own, sizeof *own));
    if (!own->planner)
        return vbs_fail(ctx, VBS_USAGE, "mixed precision needs a planner");
    if (own->most_choices == 0)
        own->most_choices = VBS_MIXED_CHOICES;
    return VBS_OK;
}

static int compare_bytes(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

/* Takes the budgets of the options, ascending and each once, or chooses some. */
static enum vbs_status take_budgets(struct vbs_ctx *ctx, struct mixed_cost *cost)
{
    size_t n = (size_t)cost->options.n_budgets;

    if (n == 0)
        return mixed_cost_budgets(ctx, cost);
    cost->budgets = malloc(n * sizeof *cost->budgets);
    if (!cost->budgets)
        return vbs_no_memory(ctx);
    memcpy(cost->budgets, cost->options.budgets, n * sizeof *cost->budgets);
    qsort(cost->budgets, n, sizeof *cost->budgets, compare_bytes);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || cost->budgets[i] != cost->budgets[cost->n_budgets - 1])
            cost->budgets[cost->n_budgets++] = cost->budgets[i];
    return VBS_OK;
}

static enum vbs_status begin(struct vbs_ctx *ctx, struct vbs_mixed *m)
{
    struct mixed_cost *cost = &m->cost;

    VBS_TRY(measure_errors(ctx, cost));
    VBS_TRY(take_budgets(ctx, cost));
    m->alone = calloc((size_t)cost->n_layers, sizeof *m->alone);
    if (!m->alone)
        return vbs_no_memory(ctx);
    for (int i = 0; i < cost->n_layers; i++)
        m->alone[i] = cost->layers[i].error;
    m->costs = (struct mixed_costs){.self = cost,
                                    .n_layers = cost->n_layers,
                                    .n_budgets = cost->n_budgets,
                                    .alone = m->alone,
                                    .plan = mixed_cost_plan,
                                    .compare = mixed_cost_compare};
    m->choices = (struct mixed_choices){
        .costs = &m->costs, .most = cost->options.most_choices, .progress = cost->options.progress};
    VBS_TRY(mixed_begin(ctx, &m->choices));
    for (int i = 0; i < m->choices.n; i++)
        if (m->choices.choices[i].plans[cost->n_budgets - 1].time_us < HUGE_VAL)
            return VBS_OK;
    return mixed_cost_refuse(ctx, cost);
}

enum vbs_status vbs_mixed_new(struct vbs_ctx *ctx, struct vbs_store *store,
                              const struct vbs_quantized_network *quantized,
                              const struct vbs_quantize_samples *samples,
                              const struct vbs_mixed_options *options, struct vbs_mixed **mixed)
{
    struct vbs_mixed *m = calloc(1, sizeof *m);
    enum vbs_status status;

    if (!m)
        return vbs_no_memory(ctx);
    m->cost = (struct mixed_cost){.store = store, .quantized = quantized, .samples = samples};
    status = read_options(ctx, options, &m->cost);
    if (status == VBS_OK)
        status = begin(ctx, m);
    if (status != VBS_OK)
        vbs_mixed_free(m);
    else
        *mixed = m;
    return status;
}

void vbs_mixed_free(struct vbs_mixed *mixed)
{
    if (!mixed)
        return;
    mixed_choices_clear(&mixed->choices);
    vbs_quantize_reference_free(mixed->cost.reference);
    free(mixed->alone);
    free(mixed->cost.layers);
    free(mixed->cost.budgets);
    free(mixed->cost.values);
    free(mixed->cost.weights);
    free(mixed);
}

/* ---- searching ---- */

enum vbs_status vbs_mixed_search(struct vbs_ctx *ctx, struct vbs_mixed *mixed,
                                 const struct vbs_mixed_bound *bounds, int n_bounds, int *chosen)
{
    return mixed_search(ctx, &mixed->choices, bounds, n_bounds, chosen);
}

/* ---- results ---- */

const struct vbs_mixed_layer *vbs_mixed_layers(const struct vbs_mixed *mixed, int *n)
{
    *n = mixed->cost.n_layers;
    return mixed->cost.layers;
}

const int64_t *vbs_mixed_budgets(const struct vbs_mixed *mixed, int *n)
{
    *n = mixed->cost.n_budgets;
    return mixed->cost.budgets;
}

const struct vbs_mixed_choice *vbs_mixed_choices(const struct vbs_mixed *mixed, int *n)
{
    *n = mixed->choices.n;
    return mixed->choices.choices;
}

enum vbs_status vbs_mixed_network(struct vbs_ctx *ctx, const struct vbs_mixed *mixed, int choice,
                                  struct vbs_quantized_network **network)
{
    return mixed_cost_network(ctx, &mixed->cost, mixed->choices.choices[choice].kept, network);
}

enum vbs_status vbs_mixed_compare(struct vbs_ctx *ctx, struct vbs_mixed *mixed, int choice)
{
    const struct vbs_mixed_bound none = {HUGE_VAL, HUGE_VAL};
    bool within;

    return mixed_check(ctx, &mixed->choices, choice, &none, &within);
}

enum vbs_status vbs_mixed_profile(struct vbs_ctx *ctx, struct vbs_mixed *mixed, int choice,
                                  struct vbs_profile **profile)
{
    return mixed_cost_profile(ctx, &mixed->cost, mixed->choices.choices[choice].kept, NULL,
                              profile);
}
