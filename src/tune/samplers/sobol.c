/* Sobol's sequence, from GSL. Its functions that allocate report to an error handler which ends the
 * program; so its type is used with memory of our own. */
#include "tune/samplers/sobol.h"
#include "tune/space/space.h"

#include "base/fail.h"

#include <math.h>

enum vbs_status vbs_tune_sobol_init(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                                    struct tune_random random, struct vbs_arena *arena,
                                    struct tune_sobol *sobol)
{
    const gsl_qrng_type *type = gsl_qrng_sobol;
    unsigned n = (unsigned)space->n_parameters;

    if (n > TUNE_SOBOL_MAX)
        n = TUNE_SOBOL_MAX;
    *sobol = (struct tune_sobol){.space = space, .random = random};
    sobol->sequence = (gsl_qrng){.type = type, .dimension = n, .state_size = type->state_size(n)};
    sobol->sequence.state = vbs_arena_alloc(arena, 1, sobol->sequence.state_size);
    if (!sobol->sequence.state)
        return vbs_no_memory(ctx);
    type->init_state(sobol->sequence.state, n);
    for (unsigned i = 0; i < n; i++)
        sobol->shift[i] = vbs_tune_uniform(&sobol->random);
    return VBS_OK;
}

void vbs_tune_sobol_next(struct tune_sobol *sobol, double *point)
{
    double u[TUNE_SOBOL_MAX];

    sobol->sequence.type->get(sobol->sequence.state, sobol->sequence.dimension, u);
    for (int i = 0; i < sobol->space->n_parameters; i++) {
        double share = i < TUNE_SOBOL_MAX ? u[i] + sobol->shift[i] : 0;

        if (i >= TUNE_SOBOL_MAX)
            share = vbs_tune_uniform(&sobol->random);
        point[i] = vbs_tune_value_of_share(&sobol->space->parameters[i], share - floor(share));
    }
}
