/* GELU of floats, by polynomials that are made when a session is opened. */
#include "backend/onednn/kernels/elementwise.h"

#include "backend/onednn/kernels/nest.h"
#include "backend/onednn/rows/rows.h"
#include "base/fail.h"

#include <math.h>

#define AT_ONCE 4096 /* values that a thread computes at once */
#define NODES   4    /* of a polynomial */
#define PI      3.14159265358979323846

struct gelu_plan {
    const struct od_normal *normal;
    struct vbs_encoding to;
    int64_t n;
};

struct gelu_job {
    const struct gelu_plan *plan;
    const float *from;
    void *to;
};

/* ---- running ---- */

static void gelu_part(void *self, int64_t part)
{
    const struct gelu_job *j = self;
    int64_t first = part * AT_ONCE, left = j->plan->n - first;
    int64_t n = left < AT_ONCE ? left : AT_ONCE;

    if (j->plan->to.storage == VBS_FLOAT32)
        od_rows()->gelu_floats(j->plan->normal, j->from + first, n, (float *)j->to + first);
    else
        od_rows()->gelu(j->plan->normal, &j->plan->to, j->from + first, n,
                        (uint8_t *)j->to + first);
}

static bool run_gelu(const void *plan, float *const *data)
{
    const struct gelu_plan *p = plan;
    struct gelu_job job = {.plan = p, .from = data[1], .to = data[0]};

    od_parallel((p->n + AT_ONCE - 1) / AT_ONCE, p->n, gelu_part, &job);
    return true;
}

/* ---- polynomials ---- */

/* Finds the cubic polynomial of the distance from centre that has the distribution function's
 * values, less 1/2, at Chebyshev's nodes within reach. */
static void fit(double centre, double reach, double *power)
{
    double node[NODES], slope[NODES];

    for (int k = 0; k < NODES; k++) {
        node[k] = reach * cos(PI * (2 * k + 1) / (2 * NODES));
        slope[k] = 0.5 * erf((centre + node[k]) / sqrt(2));
        power[k] = 0;
    }
    for (int j = 1; j < NODES; j++) /* divided differences */
        for (int k = NODES - 1; k >= j; k--)
            slope[k] = (slope[k] - slope[k - 1]) / (node[k] - node[k - j]);
    for (int j = NODES - 1; j >= 0; j--) { /* power = power * (x - node[j]) + slope[j] */
        for (int k = NODES - 1; k > 0; k--)
            power[k] = power[k - 1] - node[j] * power[k];
        power[0] = slope[j] - node[j] * power[0];
    }
}

void od_normal_init(struct od_normal *normal)
{
    double step = (double)OD_NORMAL_TOP / (OD_NORMAL_POINTS - 1);

    for (int i = 0; i < OD_NORMAL_POINTS; i++) {
        double power[NODES];

        fit(i * step, step / 2, power);
        for (int k = 0; k < NODES; k++)
            normal->coefficients[k][i] = (float)power[k];
    }
}

/* ---- the step ---- */

bool od_is_gelu_step(const struct vbs_fused *fused)
{
    return fused->op == VBS_OP_GELU && !fused->attributes.gelu.by_tanh;
}

/* Gives the session's polynomials, which the first step makes; null: out of memory. */
static const struct od_normal *normal_of(struct od_session *session)
{
    struct od_normal *normal;

    if (session->normal)
        return session->normal;
    normal = vbs_arena_alloc(&session->core.arena, 1, sizeof *normal);
    if (normal)
        od_normal_init(normal);
    return session->normal = normal;
}

enum vbs_status od_gelu_step(struct od_build *b, const struct vbs_encoding *to, int64_t n,
                             dnnl_memory_t from, dnnl_memory_t target)
{
    const dnnl_memory_t data[] = {target, from};
    struct gelu_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    const struct od_normal *normal = normal_of(b->session);

    if (!plan || !normal)
        return vbs_no_memory(b->ctx);
    *plan = (struct gelu_plan){.normal = normal, .to = *to, .n = n};
    return od_kernel_call(b, run_gelu, plan, 2, data);
}
