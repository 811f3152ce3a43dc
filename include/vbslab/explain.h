/*
 * vbslab/explain.h - why a plan is as it is.
 *
 * An explanation is a tree of decisions. Each decision is about a part of the work: some samples
 * on some layers that follow each other, in some memory. It lists the candidates that the planner
 * weighs there, each with its time and memory, and the one that it chose; the decisions below it
 * are about the parts that the chosen candidate leaves to decide. What the tree holds depends on
 * the planner:
 *
 *   dp-vbs, dp-vbs+    the cuttings: splits, pivots or barriers, and the algorithms of the steps
 *   dp-vbs, a table    the same as Algorithm 1 has it (OPT and EXACT), and the cells of the table
 *   dp-monotone        the chunks of the request, and the batch of each layer from the last back
 *   fbs, fbs-best      the batches of the profile
 *   greedy-vbs         the batches of the profile, for each layer
 *   optimal            no decisions: what the bound of its schedule rests on
 *
 * The other planners have no explanation; what their schedules load, hold and evict is in the
 * steps of the schedules.
 *
 * Explanations are made after planning, and planning holds nothing for them: planners that solve
 * once for all budgets solve once more.
 *
 * Threads: an explanation is immutable data and may be shared.
 */
#ifndef VBSLAB_EXPLAIN_H
#define VBSLAB_EXPLAIN_H

#include "vbslab/plan.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a candidate does with its part of the work. `at` is a number whose meaning is: */
enum vbs_choice {
    VBS_CHOICE_CHUNK,   /* samples of the next chunk; no sample is alive between chunks */
    VBS_CHOICE_SPLIT,   /* samples that pass all layers of the part first; then the others do */
    VBS_CHOICE_BARRIER, /* the last layer before the barrier, which all samples reach first */
    VBS_CHOICE_PIVOT,   /* the first layer of the item that runs all samples at once: a layer, or a
                           branched block */
    VBS_CHOICE_BLOCK,   /* the first layer of a branched block, whose branches run in turn while
                           input and output of the block are reserved */
    VBS_CHOICE_STEP,    /* the algorithm by which one layer runs all samples at once */
    VBS_CHOICE_DIVISOR, /* the batch of the layer before the last one of the part */
    VBS_CHOICE_BATCH,   /* the largest batch of the steps */
    VBS_CHOICE_ROWS, /* rows of a step of the last layer: one sample passes all layers of the part
                        by rows */
};

/* Gives the word for a choice in texts and files: "split". */
const char *vbs_choice_word(enum vbs_choice choice);

/* The work that a candidate leaves to decide, in the order in which it runs. */
struct vbs_part {
    int first_layer, last_layer; /* 1..n, in the order in which the planner runs the layers */
    int samples;
    int times;            /* how often the part runs, one after the other; 1 but for dp-monotone */
    int64_t beside_bytes; /* of samples that wait while the part runs, and of reserved tensors */
    double time_us;       /* of one time, in the memory that is left; HUGE_VAL: it does not fit */
};

/* One way to do the work of a decision, which the planner weighed. */
struct vbs_candidate {
    enum vbs_choice choice;
    int at;
    bool fits;
    /* In the memory of the decision; where it does not fit, in least_bytes. HUGE_VAL: it fits no
     * memory. */
    double time_us;
    /* The least memory that it fits, and the least with that time. INT64_MAX: none; of long
     * requests, and of tables, also where it is above the largest memory that was solved. */
    int64_t least_bytes, needed_bytes;
    int binds; /* of batches: the layer of the step that needs least_bytes; else 0 */
    int n_parts;
    const struct vbs_part *parts;
};

/* How a part of the work is done: the ways that were weighed, and the one that was chosen. */
struct vbs_decision {
    int parent; /* its index; -1 of the first decision */
    int depth;  /* 0 of the first */
    int first_layer, last_layer, n_layers;
    int samples;
    bool is_exact;        /* an entry of EXACT: an item runs all samples at once */
    int64_t memory_bytes; /* for the part */
    int64_t needed_bytes; /* the least memory with the same time */
    double time_us;
    int chosen; /* of the candidates; -1: none fits, which only a part that was asked for can have
                 */
    int n_candidates;
    const struct vbs_candidate
        *candidates; /* in the order in which the planner prefers equal times */
    int n_points;    /* time against memory of the part, where the options ask for it and it is
                        known; else 0 */
    const struct vbs_frontier_point *points;
};

/* A cell of the tables of Algorithm 1. */
struct vbs_cell {
    int first_layer, last_layer, samples;
    int64_t memory_bytes;
    double opt_us, exact_us; /* HUGE_VAL: nothing fits */
    int first_samples;       /* the b1 of OPT, 0: nothing fits */
    int pivot;               /* the first layer of the item that runs whole in EXACT, 0: none */
};

/* What the bound of a schedule of optimal rests on: lower bounds of the time, in microseconds, each
 * at least the one before. */
struct vbs_bound_report {
    double free_us;    /* without a budget: each layer in its fastest batches */
    double waiting_us; /* each layer has the budget for itself, but for the least that the samples
                          before and behind it keep alive */
    double proven_us;  /* by searches of groups of layers; 0: see n_groups */
    /* No bound: the time of the best cutting, with which the search began; HUGE_VAL: no cutting
     * fits, or the latency divides the request into chunks. */
    double cutting_us;
    int64_t n_states; /* that the searches for this budget expanded */
    /* Groups of layers, whose bounds add up to a bound of all, at the end of the search; 0: nothing
     * had to be searched, or the latency divides the request into chunks. */
    int n_groups;
    int largest_group; /* layers of the largest group; all: the lattice itself was searched */
};

/* Why a plan is as it is: a tree of decisions, and what else its planner rests on. Immutable; owns
 * all that it points to; freed by vbs_explanation_free. */
struct vbs_explanation {
    int n_layers;         /* of the network */
    const int *order;     /* [n_layers] the layers, 1..n, in the order in which the planner runs
                             them; null: that of their numbers */
    int64_t weight_bytes; /* of resident weights, beside which all this is; 0: none */
    int n_decisions;      /* the first is about the whole, and parents come before children */
    const struct vbs_decision *decisions;
    int n_points; /* time against memory of the first decision's part; 0: not known */
    const struct vbs_frontier_point *points;
    int64_t n_cells; /* where the options ask for them */
    const struct vbs_cell *cells;
    bool has_bound;
    struct vbs_bound_report bound;
};

/* Options of an explanation; all but struct_size may be 0, which gives the defaults. */
struct vbs_explain_options {
    size_t struct_size; /* sizeof(struct vbs_explain_options) */
    /* Explain only the layers from first_layer to last_layer on so many samples, instead of the
     * whole request, in the budget: for planners that decide about such parts. */
    int first_layer, last_layer, samples;
    bool with_cells;  /* of dp-vbs with a table */
    bool with_curves; /* time against memory of every decision's part: dp-vbs and dp-vbs+ */
};

/* The most decisions, candidates and cells of an explanation. */
#define VBS_MAX_REASONS (4 << 20)

/*
 * Explains the schedule that solver has for memory_bytes, which it makes first. *explanation is
 * freed by vbs_explanation_free. options null: the defaults. VBS_INFEASIBLE (as vbs_solver_plan),
 * VBS_USAGE: an option does not fit the planner or the network, or the explanation would have more
 * than VBS_MAX_REASONS entries. VBS_UNSUPPORTED: the planner does not explain itself.
 * VBS_NO_MEMORY, VBS_INTERRUPTED. It takes as long as vbs_solver_new and, for each decision,
 * O(candidates x log points).
 */
enum vbs_status vbs_solver_explain_plan(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                        int64_t memory_bytes,
                                        const struct vbs_explain_options *options,
                                        struct vbs_explanation **explanation) VBS_MUST_CHECK;
/* Frees an explanation; null is allowed. */
void vbs_explanation_free(struct vbs_explanation *explanation);

#ifdef __cplusplus
}
#endif
#endif
