/*
 * vbslab/mixed.h - mixed precision: which layers of a network are in 8 bits and which in floats, so
 * that a request takes least time in a budget while the outputs lose no more than a bound.
 *
 * A layer with weights is in 8 bits or kept in floats; operators without weights follow
 * (vbs_quantized_keep). Every choice is a network of its own: values that layers of 8 bits read or
 * make take one byte, all others four, and a layer in floats that reads or makes bytes converts
 * them in its workspace, which its time and its bytes contain. Its profile is assembled from kernel
 * times by geometry (vbs_profile_assemble), so that only layers whose neighbours give them a new
 * geometry are measured, and it is planned as any other network is. Thus plans are exact for every
 * choice, and memory is never rounded; what is searched is the choice.
 *
 * The loss of a choice is the difference of the network's first output from that of floats, on
 * samples. It is predicted as the sum of what each rounding costs alone (vbs_quantized_errors),
 * because errors that have little to do with each other add up in power. A choice counts as within
 * a bound only after it has run on the samples.
 *
 * There are 2^layers choices. Where that is no more than may be planned, all are. Else walks go
 * from 8 bits to floats and back, and change the layer next whose change costs least time for each
 * unit of error; then the chosen ones are improved as long as changing one layer, or one for
 * another, is faster within the bound.
 *
 * Threads: one thread at a time uses a struct vbs_mixed.
 */
#ifndef VBSLAB_MIXED_H
#define VBSLAB_MIXED_H

#include "vbslab/plan.h"
#include "vbslab/progress.h"
#include "vbslab/quantize.h"
#include "vbslab/report.h"
#include "vbslab/study.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_MIXED_CHOICES 600 /* planned at most, where nothing else is said */
#define VBS_MIXED_BUDGETS 8   /* that are chosen where none is given */

/* How choices are planned and run. Begin with {.struct_size = sizeof(struct vbs_mixed_options)}. */
struct vbs_mixed_options {
    size_t struct_size;
    /* How their profiles are assembled; struct_size is not needed, and may_measure, copies and
     * lookup_threads have no meaning: what is missing is measured. */
    struct vbs_assemble_options profile;
    const struct vbs_planner *planner;
    /* The request. Its profile is not read; with weights included, copies come from the first
     * source of each profile. */
    struct vbs_problem problem;
    /* [n_budgets] bytes; none: VBS_MIXED_BUDGETS of equal ratios, from the least in which all
     * layers in 8 bits fit to the one in which all in floats are fastest. */
    const int64_t *budgets;
    int n_budgets;
    int most_choices; /* that are planned; 0: VBS_MIXED_CHOICES */
    int batch;        /* samples at once, as struct vbs_eval_options */
    int threads;
    struct vbs_progress progress;
};

/* A layer whose precision is chosen. A plain value. */
struct vbs_mixed_layer {
    int row;          /* of vbs_quantized_rows */
    const char *name; /* owned by the quantised network */
    const char *kind; /* "conv+relu" */
    double error; /* predicted where this layer alone is in 8 bits: share of the output's power */
};

/* What a plan takes, as the replay says; time_us is HUGE_VAL where nothing fits. */
struct vbs_mixed_plan {
    double time_us;
    int64_t peak_bytes;
};

/* A choice: which layers are kept in floats. */
struct vbs_mixed_choice {
    const bool *kept; /* [layers] */
    int n_kept;
    double error; /* predicted: the sum of the errors of all that is rounded */
    const struct vbs_mixed_plan *plans; /* [n_budgets] */
    bool measured;                      /* its outputs have been compared: difference is set */
    struct vbs_quantize_difference difference;
};

/* A bound of the loss: all of it must hold. HUGE_VAL: no bound. */
struct vbs_mixed_bound {
    double error;   /* sum of squares of the difference / sum of squares of the output */
    double changed; /* the share of samples whose largest output is another one */
};

/* A search for choices. Freed by vbs_mixed_free. */
struct vbs_mixed;

/*
 * Begins a search: measures the error of each rounding alone. quantized has all layers in 8 bits
 * and its ranges from other samples than these; quantized, samples, store and what options point to
 * are borrowed until vbs_mixed_free. VBS_USAGE: no planner; VBS_INFEASIBLE:
 * nothing fits the largest budget, with the least that would do; errors of vbs_quantized_errors,
 * and where budgets are chosen, those of planning. One run of all samples for each rounding.
 */
enum vbs_status vbs_mixed_new(struct vbs_ctx *ctx, struct vbs_store *store,
                              const struct vbs_quantized_network *quantized,
                              const struct vbs_quantize_samples *samples,
                              const struct vbs_mixed_options *options,
                              struct vbs_mixed **mixed) VBS_MUST_CHECK;
/* Frees a search; null is allowed. */
void vbs_mixed_free(struct vbs_mixed *mixed);

/* Gives the budgets, owned by mixed: ascending, each once. */
const int64_t *vbs_mixed_budgets(const struct vbs_mixed *mixed, int *n);

/* Gives the layers whose precision is chosen, owned by mixed. */
const struct vbs_mixed_layer *vbs_mixed_layers(const struct vbs_mixed *mixed, int *n);

/*
 * Searches, and chooses for each budget b and bound i the fastest choice that is known:
 * chosen[b * n_bounds + i] is its number, or -1 where none of those that fit is within the bound.
 * All of these have been run on the samples. May be called again. Errors of vbs_quantized_keep,
 * vbs_quantized_load, vbs_profile_assemble, vbs_solver_new (but VBS_INFEASIBLE), vbs_solver_plan,
 * vbs_replay_run and vbs_quantize_compare; VBS_INTERRUPTED. Complexity: at most most_choices
 * profiles and solvers, about 10 x layers for each budget that is walked, of which there are at
 * most three; and a run of the samples for each choice that is compared.
 */
enum vbs_status vbs_mixed_search(struct vbs_ctx *ctx, struct vbs_mixed *mixed,
                                 const struct vbs_mixed_bound *bounds, int n_bounds,
                                 int *chosen) VBS_MUST_CHECK;

/* Gives the choices that have been planned, owned by mixed until the next search: number 0 has all
 * layers in 8 bits, number 1 all in floats; both are there from the beginning. */
const struct vbs_mixed_choice *vbs_mixed_choices(const struct vbs_mixed *mixed, int *n);

/* Compares the outputs of a choice, unless that has been done. Errors as vbs_mixed_search. */
enum vbs_status vbs_mixed_compare(struct vbs_ctx *ctx, struct vbs_mixed *mixed,
                                  int choice) VBS_MUST_CHECK;

/* Assembles the profile of a choice once more, freed by vbs_profile_free. Errors as above. */
enum vbs_status vbs_mixed_profile(struct vbs_ctx *ctx, struct vbs_mixed *mixed, int choice,
                                  struct vbs_profile **profile) VBS_MUST_CHECK;

/* Gives the network of a choice in 8 bits and floats, freed by vbs_quantized_free before the
 * quantised network that mixed borrows. VBS_NO_MEMORY. */
enum vbs_status vbs_mixed_network(struct vbs_ctx *ctx, const struct vbs_mixed *mixed, int choice,
                                  struct vbs_quantized_network **network) VBS_MUST_CHECK;

/* ---- the picture ---- */

/* The names of the series beside the bounds. */
#define VBS_MIXED_SERIES_INT8   "int8"
#define VBS_MIXED_SERIES_FLOATS "fp32"

/* What is drawn; all is borrowed. */
struct vbs_mixed_figure {
    const struct vbs_mixed *mixed;
    const struct vbs_profile *profile; /* of any choice: where times come from */
    const char *planner;
    int64_t request;
    const char *const *words; /* [n_bounds] names of the bounds */
    int n_bounds;
    const int *chosen; /* as vbs_mixed_search gives it */
};

/* Draws throughput against memory, a curve for each bound, beside throughput against the predicted
 * loss, a curve for each budget. Errors as vbs_compare_plot. */
enum vbs_status vbs_mixed_plot(struct vbs_ctx *ctx, const struct vbs_mixed_figure *figure,
                               const struct vbs_plot_options *options,
                               const char *path) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
