/*
 * Explanations of the dynamic programs. Internal to plan/dp.
 */
#ifndef VBS_PLAN_DP_REASONS_H
#define VBS_PLAN_DP_REASONS_H

#include "plan/dp/dp.h"
#include "plan/problem/problem.h"

/* Explains the cuttings of a chain by rule. *found: the chain has the plan of the question, or the
 * part that it asks for; else nothing is added. Complexity: that of a solve, then
 * O(decisions x candidates x log points). VBS_NO_MEMORY, VBS_USAGE, VBS_INTERRUPTED. */
enum vbs_status vbs_guillotine_explain(struct vbs_reasons *reasons, const struct vbs_chain *chain,
                                       enum vbs_cut_rule rule, const struct vbs_question *question,
                                       bool *found) VBS_MUST_CHECK;

/* Explains a plan of dp-monotone. *found as above. */
enum vbs_status vbs_monotone_explain(struct vbs_reasons *reasons,
                                     const struct vbs_question *question,
                                     bool *found) VBS_MUST_CHECK;

#endif
