/*
 * Largest and smallest values of windows that may have nothing but infinite values. oneDNN begins
 * with the lowest or the highest number, which it then leaves in the output. A pass over the output
 * finds such numbers, and looks at their windows again.
 */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

#include <float.h>
#include <math.h>

#define AT_ONCE 4096 /* values that a thread looks at, at once */
#define RUN     64   /* values that are compared side by side */

struct extremes_job {
    const struct od_extremes *plan;
    float *to;
    const float *from;
};

/* Finds the position of the input under number tap of a window; below 0: it is padding. */
static int64_t position_of(const struct od_extremes *p, const int64_t *begin, int64_t tap)
{
    int64_t position = 0, scale = 1;

    for (int d = p->n_spatial - 1; d >= 0; d--) {
        int64_t at = begin[d] + tap % p->window.kernel[d] * (p->window.dilation[d] + 1);

        if (at < 0 || at >= p->in[d])
            return -1;
        position += at * scale;
        scale *= p->in[d];
        tap /= p->window.kernel[d];
    }
    return position;
}

/* Computes value number i of the output; without: its value where the window has only padding. */
static float extreme_of(const struct od_extremes *p, int64_t i, const float *from, float without)
{
    int64_t begin[VBS_MAX_SPATIAL], outer = i / p->lanes, positions = 1, taps = 1;
    float most = without;
    bool found = false;

    for (int d = p->n_spatial - 1; d >= 0; d--) {
        begin[d] = outer % p->out[d] * p->window.stride[d] - p->window.low[d];
        outer /= p->out[d];
        positions *= p->in[d];
        taps *= p->window.kernel[d];
    }
    from += outer * positions * p->lanes + i % p->lanes;
    for (int64_t tap = 0; tap < taps; tap++) {
        int64_t position = position_of(p, begin, tap);
        float x = position < 0 ? 0 : from[position * p->lanes];

        if (position < 0)
            continue;
        if (!found || isnan(x) || (p->smallest ? x < most : x > most))
            most = x;
        found = true;
    }
    return most;
}

static void correct_part(void *self, int64_t part)
{
    const struct extremes_job *j = self;
    float start = j->plan->smallest ? FLT_MAX : -FLT_MAX;
    int64_t first = part * AT_ONCE, end = first + AT_ONCE, i = first;
    unsigned n_found = 0;

    end = end < j->plan->n ? end : j->plan->n;
    for (; i + RUN <= end; i += RUN)
        for (int k = 0; k < RUN; k++)
            n_found += j->to[i + k] == start;
    for (; i < end; i++)
        n_found += j->to[i] == start;
    for (i = first; i < end && n_found > 0; i++)
        if (j->to[i] == start)
            j->to[i] = extreme_of(j->plan, i, j->from, start);
}

static bool run_correction(const void *plan, float *const *data)
{
    const struct od_extremes *p = plan;
    struct extremes_job job = {.plan = p, .to = data[0], .from = data[1]};

    od_parallel((p->n + AT_ONCE - 1) / AT_ONCE, p->n, correct_part, &job);
    return true;
}

enum vbs_status od_build_extremes(struct od_build *b, dnnl_primitive_desc_t pd,
                                  enum od_layout layout, const struct od_extremes *extremes)
{
    struct od_extremes *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    struct od_then then = {run_correction, plan};

    if (!plan) {
        dnnl_primitive_desc_destroy(pd);
        return vbs_no_memory(b->ctx);
    }
    *plan = *extremes;
    return od_build_primitive_then(b, pd, layout, &then);
}
