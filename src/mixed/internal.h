/*
 * Internals that the files of this room share. cost.c tells what a choice costs: its plans and its
 * loss. choices.c remembers choices, walk.c finds them, and choose.c searches and chooses among
 * them; these know nothing of networks, but a table of functions.
 */
#ifndef VBS_MIXED_INTERNAL_H
#define VBS_MIXED_INTERNAL_H

#include "base/arena.h"
#include "vbslab/mixed.h"

/* What choices cost. kept has n_layers elements. */
struct mixed_costs {
    void *self;
    int n_layers, n_budgets;
    const double
        *alone; /* [n_layers] the error that is predicted where a layer alone is in 8 bits */
    /* Fills plans[0..n_budgets-1] and the error that is predicted. */
    enum vbs_status (*plan)(struct vbs_ctx *ctx, void *self, const bool *kept,
                            struct vbs_mixed_plan *plans, double *error);
    enum vbs_status (*compare)(struct vbs_ctx *ctx, void *self, const bool *kept,
                               struct vbs_quantize_difference *difference);
};

/* The choices so far. */
struct mixed_choices {
    const struct mixed_costs *costs;
    int most; /* that are planned */
    struct vbs_arena arena;
    struct vbs_mixed_choice *choices; /* [n] */
    int n;
    int64_t capacity;
    struct vbs_progress progress;
};

/* ---- choices.c ---- */

/* Finds a choice, and plans it where it is new; *number is -1 where it is new and most have been
 * planned. */
enum vbs_status mixed_find(struct vbs_ctx *ctx, struct mixed_choices *c, const bool *kept,
                           int *number) VBS_MUST_CHECK;

/* Finds the choice that differs from kept in one layer, or in two where second is not below 0;
 * kept is as before afterwards. */
enum vbs_status mixed_find_changed(struct vbs_ctx *ctx, struct mixed_choices *c, bool *kept,
                                   int layer, int second, int *number) VBS_MUST_CHECK;

/* Compares the outputs of a choice, unless that has been done; *within: they keep the bound. */
enum vbs_status mixed_check(struct vbs_ctx *ctx, struct mixed_choices *c, int number,
                            const struct vbs_mixed_bound *bound, bool *within) VBS_MUST_CHECK;

void mixed_choices_clear(struct mixed_choices *c);

/* ---- walk.c ---- */

/* Plans all layers in 8 bits, all in floats, some patterns in which layers have all kinds of
 * neighbours, so that later choices need few new times, and, where few may be planned, choices
 * that keep the layers with the largest errors. */
enum vbs_status mixed_begin(struct vbs_ctx *ctx, struct mixed_choices *c) VBS_MUST_CHECK;

/* Gives whether all choices may be planned; plans all. */
bool mixed_are_few(const struct mixed_choices *c);
enum vbs_status mixed_try_all(struct vbs_ctx *ctx, struct mixed_choices *c) VBS_MUST_CHECK;

/* Walks from 8 bits to floats, and back, by the times of one budget. */
enum vbs_status mixed_walk(struct vbs_ctx *ctx, struct mixed_choices *c, int budget) VBS_MUST_CHECK;

/* ---- choose.c ---- */

/* Does as vbs_mixed_search, with choices that mixed_begin has begun. */
enum vbs_status mixed_search(struct vbs_ctx *ctx, struct mixed_choices *c,
                             const struct vbs_mixed_bound *bounds, int n_bounds,
                             int *chosen) VBS_MUST_CHECK;

/* ---- cost.c ---- */

/* What a network's choices are planned and run with. */
struct mixed_cost {
    struct vbs_store *store;
    const struct vbs_quantized_network *quantized;
    const struct vbs_quantize_samples *samples;
    struct vbs_mixed_options options;
    struct vbs_mixed_layer *layers; /* [n_layers] */
    double *values, *weights;       /* as vbs_quantized_errors gives them */
    int n_layers, n_rows;
    struct vbs_quantize_reference *reference; /* null: nothing has been compared */
    int64_t *budgets;                         /* [n_budgets] ascending */
    int n_budgets;
    int threads; /* of the times, once a profile has told; else 0 */
};

/* The functions of struct mixed_costs; self is a struct mixed_cost. */
enum vbs_status mixed_cost_plan(struct vbs_ctx *ctx, void *self, const bool *kept,
                                struct vbs_mixed_plan *plans, double *error);
enum vbs_status mixed_cost_compare(struct vbs_ctx *ctx, void *self, const bool *kept,
                                   struct vbs_quantize_difference *difference);

/* Gives the profile of a choice; error: null, or the error that is predicted. */
enum vbs_status mixed_cost_profile(struct vbs_ctx *ctx, struct mixed_cost *cost, const bool *kept,
                                   double *error, struct vbs_profile **profile) VBS_MUST_CHECK;

/* Chooses budgets from the least in which all layers in 8 bits fit to the one in which all in
 * floats have enough. VBS_INFEASIBLE: no budget is, because of the latency. */
enum vbs_status mixed_cost_budgets(struct vbs_ctx *ctx, struct mixed_cost *cost) VBS_MUST_CHECK;

/* Fails with VBS_INFEASIBLE and the least budget of all layers in 8 bits. */
enum vbs_status mixed_cost_refuse(struct vbs_ctx *ctx, struct mixed_cost *cost) VBS_MUST_CHECK;

/* Gives the network of a choice, which vbs_quantized_free frees. */
enum vbs_status mixed_cost_network(struct vbs_ctx *ctx, const struct mixed_cost *cost,
                                   const bool *kept,
                                   struct vbs_quantized_network **network) VBS_MUST_CHECK;

#endif
