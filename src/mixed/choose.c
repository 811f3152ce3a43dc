/* The choice for a budget and a bound of the loss. */
#include "mixed/internal.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

#define MOST_WALKS 3 /* budgets by whose times is walked */

/* ---- the fastest within a bound ---- */

/* A choice that fits. */
struct front_entry {
    double time_us, error;
    int number;
};

static int compare_entries(const void *a, const void *b)
{
    const struct front_entry *x = a, *y = b;

    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    if (x->error != y->error)
        return x->error < y->error ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Fills front, [c->n], with the choices that fit and of which none is faster with as small a
 * predicted error, the fastest first. */
static int list_front(const struct mixed_choices *c, int budget, struct front_entry *front)
{
    int n = 0, n_front = 0;

    for (int i = 0; i < c->n; i++)
        if (c->choices[i].plans[budget].time_us < HUGE_VAL)
            front[n++] =
                (struct front_entry){c->choices[i].plans[budget].time_us, c->choices[i].error, i};
    qsort(front, (size_t)n, sizeof *front, compare_entries);
    for (int i = 0; i < n; i++)
        if (n_front == 0 || front[i].error < front[n_front - 1].error)
            front[n_front++] = front[i];
    return n_front;
}

/* The loss falls along the front, nearly: so halves are halved. */
static enum vbs_status search_front(struct vbs_ctx *ctx, struct mixed_choices *c,
                                    const struct front_entry *front, int n,
                                    const struct vbs_mixed_bound *bound, int *number)
{
    int first = 0, end = n; /* the first that is within the bound lies in first..end */
    bool within;

    while (first < end) {
        int middle = first + (end - first) / 2;

        VBS_TRY(mixed_check(ctx, c, front[middle].number, bound, &within));
        if (within)
            end = middle;
        else
            first = middle + 1;
    }
    *number = end < n ? front[end].number : -1;
    return VBS_OK;
}

/* Chooses among the choices so far, of which it compares some; *number is -1: none is within the
 * bound. */
static enum vbs_status choose(struct vbs_ctx *ctx, struct mixed_choices *c, int budget,
                              const struct vbs_mixed_bound *bound, int *number)
{
    struct front_entry *front = malloc((size_t)c->n * sizeof *front);
    enum vbs_status status = front ? VBS_OK : vbs_no_memory(ctx);

    if (status == VBS_OK)
        status = search_front(ctx, c, front, list_front(c, budget, front), bound, number);
    free(front);
    return status;
}

/* Gives the fastest of those that have been compared and keep a bound: also of those that were
 * compared for other budgets and bounds. */
static enum vbs_status choose_compared(struct vbs_ctx *ctx, struct mixed_choices *c, int budget,
                                       const struct vbs_mixed_bound *bound, int *number)
{
    double best_us = HUGE_VAL;
    bool within;

    *number = -1;
    for (int i = 0; i < c->n; i++) {
        double time_us = c->choices[i].plans[budget].time_us;

        if (!c->choices[i].measured || time_us >= best_us)
            continue;
        VBS_TRY(mixed_check(ctx, c, i, bound, &within));
        if (within) {
            *number = i;
            best_us = time_us;
        }
    }
    return VBS_OK;
}

/* ---- improving ---- */

/* A change of one layer, or of two: what it adds to the time, as planned (one layer) or as the sum
 * of both (two). */
struct layer_change {
    double time_us;
    int layer, second; /* second: -1 or another layer */
};

struct improving {
    struct mixed_choices *c;
    int budget, at;
    const struct vbs_mixed_bound *bound;
    bool *kept;
    double *gains;  /* [layers] what changing one adds to the time; HUGE_VAL: not known */
    double *errors; /* [layers] what it adds to the predicted error */
    struct layer_change *changes;
    int n_changes;
};

static int compare_changes(const void *a, const void *b)
{
    const struct layer_change *x = a, *y = b;

    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

static double time_of(const struct improving *m, int number)
{
    return m->c->choices[number].plans[m->budget].time_us;
}

static enum vbs_status find_gains(struct vbs_ctx *ctx, struct improving *m)
{
    int number;

    for (int i = 0; i < m->c->costs->n_layers; i++) {
        VBS_TRY(mixed_find_changed(ctx, m->c, m->kept, i, -1, &number));
        m->gains[i] = number < 0 ? HUGE_VAL : time_of(m, number) - time_of(m, m->at);
        m->errors[i] = number < 0 ? 0 : m->c->choices[number].error - m->c->choices[m->at].error;
    }
    return VBS_OK;
}

/* Gives the largest error that may be predicted: as far from the bound as what was measured of the
 * choice that is improved. Where samples are counted, that choice's own is the guide. */
static double most_error(const struct improving *m)
{
    const struct vbs_mixed_choice *at = &m->c->choices[m->at];
    double measured = vbs_quantize_error(at->difference.db);

    if (!(m->bound->error < HUGE_VAL))
        return at->error;
    return measured > 0 ? at->error * m->bound->error / measured : m->bound->error;
}

/* Lists the changes that look faster and whose predicted error is within the bound, the fastest
 * first. Two layers change in opposite directions. */
static void list_changes(struct improving *m)
{
    int n = m->c->costs->n_layers;
    double left = most_error(m) - m->c->choices[m->at].error;

    m->n_changes = 0;
    for (int i = 0; i < n; i++) {
        if (m->gains[i] < 0 && m->errors[i] <= left)
            m->changes[m->n_changes++] = (struct layer_change){m->gains[i], i, -1};
        for (int j = 0; m->kept[i] && j < n; j++)
            if (!m->kept[j] && m->gains[i] + m->gains[j] < 0 && m->errors[i] + m->errors[j] <= left)
                m->changes[m->n_changes++] = (struct layer_change){m->gains[i] + m->gains[j], i, j};
    }
    qsort(m->changes, (size_t)m->n_changes, sizeof *m->changes, compare_changes);
}

/* Makes the first change that is faster within the bound; *changed: there was one. As many are
 * tried as there are layers. */
static enum vbs_status change(struct vbs_ctx *ctx, struct improving *m, bool *changed)
{
    int number;

    *changed = false;
    for (int i = 0; i < m->n_changes && i < m->c->costs->n_layers && !*changed; i++) {
        const struct layer_change *change = &m->changes[i];

        VBS_TRY(mixed_find_changed(ctx, m->c, m->kept, change->layer, change->second, &number));
        if (number < 0 || !(time_of(m, number) < time_of(m, m->at)))
            continue;
        VBS_TRY(mixed_check(ctx, m->c, number, m->bound, changed));
        if (*changed)
            m->at = number;
    }
    return VBS_OK;
}

static enum vbs_status improve(struct vbs_ctx *ctx, struct improving *m)
{
    bool changed = true;

    while (changed) {
        for (int i = 0; i < m->c->costs->n_layers; i++)
            m->kept[i] = m->c->choices[m->at].kept[i];
        VBS_TRY(find_gains(ctx, m));
        list_changes(m);
        VBS_TRY(change(ctx, m, &changed));
    }
    return VBS_OK;
}

/* Improves a choice as long as changing one layer, or one for another, is faster within the bound.
 * What is found has been compared. */
static enum vbs_status improve_choice(struct vbs_ctx *ctx, struct mixed_choices *c, int budget,
                                      const struct vbs_mixed_bound *bound, int number)
{
    size_t n = (size_t)c->costs->n_layers;
    struct improving m = {.c = c,
                          .budget = budget,
                          .at = number,
                          .bound = bound,
                          .kept = malloc(n * sizeof *m.kept),
                          .gains = malloc(n * sizeof *m.gains),
                          .errors = malloc(n * sizeof *m.errors),
                          .changes = malloc((n + n * n) * sizeof *m.changes)};
    enum vbs_status status =
        m.kept && m.gains && m.errors && m.changes ? improve(ctx, &m) : vbs_no_memory(ctx);

    free(m.kept);
    free(m.gains);
    free(m.errors);
    free(m.changes);
    return status;
}

/* ---- the whole ---- */

/* Walks by the times of the smallest, the middle and the largest budget. */
static enum vbs_status walk(struct vbs_ctx *ctx, struct mixed_choices *c)
{
    int n = c->costs->n_budgets, n_walks = n < MOST_WALKS ? n : MOST_WALKS;

    for (int i = 0; i < n_walks; i++)
        VBS_TRY(mixed_walk(ctx, c, n_walks > 1 ? i * (n - 1) / (n_walks - 1) : 0));
    return VBS_OK;
}

enum vbs_status mixed_search(struct vbs_ctx *ctx, struct mixed_choices *c,
                             const struct vbs_mixed_bound *bounds, int n_bounds, int *chosen)
{
    int n = c->costs->n_budgets * n_bounds;

    VBS_TRY(mixed_are_few(c) ? mixed_try_all(ctx, c) : walk(ctx, c));
    for (int i = 0; i < n; i++) {
        VBS_TRY(choose(ctx, c, i / n_bounds, &bounds[i % n_bounds], &chosen[i]));
        if (chosen[i] >= 0)
            VBS_TRY(improve_choice(ctx, c, i / n_bounds, &bounds[i % n_bounds], chosen[i]));
    }
    for (int i = 0; i < n; i++)
        VBS_TRY(choose_compared(ctx, c, i / n_bounds, &bounds[i % n_bounds], &chosen[i]));
    return VBS_OK;
}
