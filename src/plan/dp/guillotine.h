/*
 * Guillotine cuttings while they are solved: what guillotine.c, which solves them, and
 * guillotine_reasons.c, which explains them, share. guillotine.c has the recurrences.
 */
#ifndef VBS_PLAN_DP_GUILLOTINE_H
#define VBS_PLAN_DP_GUILLOTINE_H

#include "plan/dp/counts.h"
#include "plan/dp/curve.h"
#include "plan/dp/dp.h"
#include "plan/stripes/stripes.h"

/* A chain with its curves. A point's cut is -b1 of a split, else the item c before a barrier or the
 * pivot k; of one item it is the item itself, or the cut within a subchain. A cut
 * -b - s is segment number s, for one sample after the other. */
struct solved {
    const struct vbs_chain *chain;
    struct vbs_curve **opt; /* O[i, j, b]: see vbs_opt_row; [n_items], null: column j is not
                               solved */
    struct vbs_curve *step; /* item k on batch b: see vbs_step_at */
    struct solved **inside; /* [item][branch], or [item][0] of a subchain; null for a layer */
};

struct guillotine {
    struct vbs_ctx *ctx;
    const struct vbs_task *task;
    enum vbs_cut_rule rule;
    struct vbs_counts counts; /* the numbers b of samples */
    struct vbs_arena arena;
    struct vbs_arena scratch; /* of one j */
    struct vbs_arena sums[2]; /* of branches, taken by turns */
    struct vbs_envelope envelope;
    size_t scratch_peak_bytes;
    bool is_late; /* task->cut_until_s has passed, or will have: nothing is offered */
    double from_s, reported_s;
    double columns_from_s;            /* when the columns of the whole chain began */
    int *order;                       /* [n_layers] of the layers; null: there are no segments */
    struct vbs_stripes *stripes;      /* segments of this order; null: there are none */
    struct vbs_segment_list segments; /* of all chains */
    int64_t first_segment;            /* of the pair that is solved */
    struct solved whole;
    struct vbs_curve *chunks; /* [request + 1] the best time of b samples in chunks that each keep
                                 the latency; cut: the first chunk */
};

/* Where the curve of a pair or an item begins, one for each number of samples. */
static inline size_t vbs_curves_from(const struct guillotine *work, int i)
{
    return (size_t)i * (size_t)work->counts.n;
}

/* O[i, j, ...]; pairs are stored j by j. */
static inline struct vbs_curve *vbs_opt_row(const struct guillotine *work,
                                            const struct solved *solved, int i, int j)
{
    return solved->opt[j] + vbs_curves_from(work, i);
}

static inline const struct vbs_curve *vbs_opt_at(const struct guillotine *work,
                                                 const struct solved *solved, int i, int j, int b)
{
    return i > j || b == 0 ? &VBS_CURVE_ZERO
                           : &vbs_opt_row(work, solved, i, j)[work->counts.index[b]];
}

/* EXACT[k, k, b] */
static inline struct vbs_curve *vbs_step_at(const struct guillotine *work,
                                            const struct solved *solved, int k, int b)
{
    return &solved->step[vbs_curves_from(work, k) + (size_t)work->counts.index[b]];
}

/* The two parts of a split of O[i, j, b] after b1 samples: each moved by the bytes of the samples
 * that wait beside it. */
static inline void vbs_split_parts(const struct guillotine *work, const struct solved *solved,
                                   int i, int j, int b, int b1, struct vbs_moved parts[2])
{
    const int64_t *cut = solved->chain->cut_bytes;

    parts[0] = vbs_moved_by(vbs_opt_at(work, solved, i, j, b1), cut[i] * (b - b1));
    parts[1] = vbs_moved_by(vbs_opt_at(work, solved, i, j, b - b1), cut[j + 1] * b1);
}

/* The parts of a barrier of O[i, j, b] behind item c. */
static inline void vbs_barrier_parts(const struct guillotine *work, const struct solved *solved,
                                     int i, int j, int b, int c, struct vbs_moved parts[2])
{
    parts[0] = vbs_unmoved(vbs_opt_at(work, solved, i, c, b));
    parts[1] = vbs_unmoved(vbs_opt_at(work, solved, c + 1, j, b));
}

/* Gives the bytes that a special layer reserves for b samples, or that a step of a layer takes
 * beside its workspace. */
static inline int64_t vbs_item_bytes(const struct vbs_item *item, int b)
{
    return b * item->step_bytes;
}

/* Solves all curves of a chain, which is borrowed. *work is {0} but for ctx, task and rule, and
 * vbs_guillotine_close clears it, after a failure too. Where work->is_late, nothing more is known.
 */
enum vbs_status vbs_guillotine_open(struct guillotine *work,
                                    const struct vbs_chain *chain) VBS_MUST_CHECK;
/* Fills work->chunks after vbs_guillotine_open. */
enum vbs_status vbs_guillotine_compose(struct guillotine *work) VBS_MUST_CHECK;
void vbs_guillotine_close(struct guillotine *work);

/* Appends the steps of the whole request at a memory at which work->chunks[request] is feasible. */
enum vbs_status vbs_guillotine_emit(const struct guillotine *work, int64_t bytes,
                                    struct vbs_step_list *steps) VBS_MUST_CHECK;

#endif
