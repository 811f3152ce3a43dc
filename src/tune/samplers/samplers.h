/* tune/samplers: the samplers, which suggest.c finds by their names. Internal to the sub-room. */
#ifndef VBS_TUNE_SAMPLERS_SAMPLERS_H
#define VBS_TUNE_SAMPLERS_SAMPLERS_H

#include "tune/problem/problem.h"

/* Each writes a point [n_parameters] and fills in the suggestion, which is new and has no score
 * before; after failure both are of no use. Errors: as vbs_sampler_suggest. */
enum vbs_status vbs_tune_suggest_random(struct vbs_ctx *ctx, struct tune_problem *problem,
                                        double *point,
                                        struct vbs_suggestion *suggestion) VBS_MUST_CHECK;
enum vbs_status vbs_tune_suggest_grid(struct vbs_ctx *ctx, struct tune_problem *problem,
                                      double *point,
                                      struct vbs_suggestion *suggestion) VBS_MUST_CHECK;
enum vbs_status vbs_tune_suggest_bayesian(struct vbs_ctx *ctx, struct tune_problem *problem,
                                          double *point,
                                          struct vbs_suggestion *suggestion) VBS_MUST_CHECK;
enum vbs_status vbs_tune_suggest_halving(struct vbs_ctx *ctx, struct tune_problem *problem,
                                         double *point,
                                         struct vbs_suggestion *suggestion) VBS_MUST_CHECK;

#endif
