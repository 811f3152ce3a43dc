/*
 * Guillotine cuttings of a chain: what dp-vbs and dp-vbs+ search.
 *
 * The work of a request on a chain is a rectangle, items across and samples down. It may be cut
 * from edge to edge: between two samples (a split: one part of the batch passes all items, then the
 * other) or between two items (a barrier: the whole batch passes the items before it, then those
 * behind). What is not cut further is one item on one batch, a step. Every laminar schedule is such
 * a cutting. For items i..j and b samples, O = the least time as a curve over memory M:
 *
 *   O[i, j, b](M) = min of
 *     split     W[i, j, b1](M - cut[i] (b - b1)) + O[i, j, b - b1](M - cut[j+1] b1),  1 <= b1 < b
 *     barrier   S[i, c, b](M) + O[c+1, j, b](M),                                      i <= c < j
 *     step      the rows of the item at batch b,                                      i = j
 *
 * cut[i] is what a sample takes between items i-1 and i. S is O where its best is a split (or one
 * item), W where it is not: a barrier within the part before a barrier, or a split within the part
 * before a split, is the same cutting with the other one outermost, so that most parts need not be
 * tried at all.
 *
 * The rule of VBS III allows fewer: each part has an item, the pivot, that runs its whole batch
 * (OPTExact), so that barriers come in pairs around it:
 *
 *     pivot     S[i, k-1, b](M) + EXACT[k, k, b](M) + O[k+1, j, b](M),                i <= k <= j
 *
 * Complexity: for m items, r samples and curves of p points O(m^2 r (m + r) p) time at most and
 * O(m^2 r p) memory, 20 bytes a point. Items may be parts, chains of their own: cuts then begin and
 * end within one part, or take it whole, and m is that of each part.
 */
#ifndef VBS_PLAN_DP_GUILLOTINE_H
#define VBS_PLAN_DP_GUILLOTINE_H

#include "plan/problem/pareto.h"
#include "plan/dp/curve.h"
#include "plan/dp/structure.h"

enum vbs_cut_rule { VBS_CUT_PIVOT, VBS_CUT_BARRIER };

/* Adds to answers the best schedules by rule for every budget, within the latency of the task; with
 * n_answers = request instead of 1 answers[b - 1] gets those of b samples, without regard to a
 * latency. VBS_NO_MEMORY names the sizes that are too much. answers->solving_bytes becomes what
 * this took at most. */
enum vbs_status vbs_guillotine_solve(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     const struct vbs_chain *chain, enum vbs_cut_rule rule,
                                     struct vbs_answers *answers, int n_answers) VBS_MUST_CHECK;

#endif
