/* The choices that have been planned. */
#include "mixed/internal.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void report(const struct mixed_choices *c)
{
    char text[64];

    if (!c->progress.report)
        return;
    snprintf(text, sizeof text, "%d choices planned", c->n);
    c->progress.report(c->progress.self, (double)c->n / c->most, -1, text);
}

static enum vbs_status add(struct vbs_ctx *ctx, struct mixed_choices *c, const bool *kept)
{
    size_t n_layers = (size_t)c->costs->n_layers, n_budgets = (size_t)c->costs->n_budgets;
    struct vbs_mixed_plan *plans = vbs_arena_alloc(&c->arena, n_budgets, sizeof *plans);
    bool *own = vbs_arena_alloc(&c->arena, n_layers, sizeof *own);
    struct vbs_mixed_choice choice = {.kept = own, .plans = plans};

    if (!plans || !own)
        return vbs_no_memory(ctx);
    VBS_TRY(vbs_grow(ctx, &c->choices, &c->capacity, (int64_t)c->n + 1, sizeof choice));
    memcpy(own, kept, n_layers * sizeof *own);
    for (size_t i = 0; i < n_layers; i++)
        choice.n_kept += kept[i];
    VBS_TRY(c->costs->plan(ctx, c->costs->self, kept, plans, &choice.error));
    c->choices[c->n++] = choice;
    report(c);
    return VBS_OK;
}

enum vbs_status mixed_find(struct vbs_ctx *ctx, struct mixed_choices *c, const bool *kept,
                           int *number)
{
    size_t bytes = (size_t)c->costs->n_layers * sizeof *kept;

    for (int i = 0; i < c->n; i++)
        if (memcmp(c->choices[i].kept, kept, bytes) == 0) {
            *number = i;
            return VBS_OK;
        }
    *number = -1;
    if (c->n >= c->most)
        return VBS_OK;
    VBS_TRY(vbs_check_cancel(ctx));
    VBS_TRY(add(ctx, c, kept));
    *number = c->n - 1;
    return VBS_OK;
}

enum vbs_status mixed_find_changed(struct vbs_ctx *ctx, struct mixed_choices *c, bool *kept,
                                   int layer, int second, int *number)
{
    enum vbs_status status;

    kept[layer] = !kept[layer];
    if (second >= 0)
        kept[second] = !kept[second];
    status = mixed_find(ctx, c, kept, number);
    kept[layer] = !kept[layer];
    if (second >= 0)
        kept[second] = !kept[second];
    return status;
}

enum vbs_status mixed_check(struct vbs_ctx *ctx, struct mixed_choices *c, int number,
                            const struct vbs_mixed_bound *bound, bool *within)
{
    struct vbs_mixed_choice *choice = &c->choices[number];
    const struct vbs_quantize_difference *d = &choice->difference;

    if (!choice->measured) {
        VBS_TRY(vbs_check_cancel(ctx));
        VBS_TRY(c->costs->compare(ctx, c->costs->self, choice->kept, &choice->difference));
        choice->measured = true;
    }
    *within = vbs_quantize_error(d->db) <= bound->error &&
              (double)(d->n - d->n_same) <= bound->changed * (double)d->n;
    return VBS_OK;
}

void mixed_choices_clear(struct mixed_choices *c)
{
    free(c->choices);
    vbs_arena_clear(&c->arena);
}
