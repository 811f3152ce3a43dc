/* Points that fill a space evenly. Internal to the sub-room. */
#ifndef VBS_TUNE_SAMPLERS_SOBOL_H
#define VBS_TUNE_SAMPLERS_SOBOL_H

#include "base/arena.h"
#include "tune/space/space.h"
#include "vbslab/tune.h"

#include <gsl/gsl_qrng.h>

#define TUNE_SOBOL_MAX 40 /* dimensions that GSL's table has; further ones are random */

/* Sobol's sequence, shifted. */
struct tune_sobol {
    const struct vbs_search_space *space;
    gsl_qrng sequence;
    double shift[TUNE_SOBOL_MAX];
    struct tune_random random; /* of the shift, then of further dimensions */
};

/* Begins a sequence, in memory of the arena, that random shifts. VBS_NO_MEMORY. */
enum vbs_status vbs_tune_sobol_init(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                                    struct tune_random random, struct vbs_arena *arena,
                                    struct tune_sobol *sobol) VBS_MUST_CHECK;

/* Writes the next point. */
void vbs_tune_sobol_next(struct tune_sobol *sobol, double *point);

#endif
