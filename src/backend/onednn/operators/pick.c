/* Elements of a tensor at positions that another tensor has. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

#include <math.h>

#define COST 4 /* of an element, in copied floats */

struct pick_plan {
    int64_t n_samples, n_rows, n; /* each sample has rows of n positions */
    int64_t sample;               /* elements of a sample of the data */
    int64_t places, step;         /* along the axis of the data, and elements between two */
    int n_dims, axis;
    int64_t dim[VBS_MAX_DIMS], stride[VBS_MAX_DIMS]; /* of the positions, and of the data */
};

struct pick_job {
    const struct pick_plan *plan;
    const float *data, *positions;
    float *y;
};

/* Gives the element at a position along the axis. Where there is none it is 0, and no number where
 * the position is none or infinite. */
static float element(const struct pick_plan *p, const float *line, float position)
{
    float at = truncf(position);

    at += at < 0 ? (float)p->places : 0;
    return at >= 0 && at < (float)p->places ? line[(int64_t)at * p->step] : at - at;
}

static void pick_row(void *self, int64_t i)
{
    const struct pick_job *job = self;
    const struct pick_plan *p = job->plan;
    const float *line = job->data + i / p->n_rows * p->sample;
    int64_t row = i % p->n_rows, last = p->n_dims - 1;
    int64_t stride = p->axis == last ? 0 : p->stride[last];

    for (int d = (int)last - 1; d >= 0; d--) {
        line += d == p->axis ? 0 : row % p->dim[d] * p->stride[d];
        row /= p->dim[d];
    }
    for (int64_t j = 0; j < p->n; j++)
        job->y[i * p->n + j] = element(p, line + j * stride, job->positions[i * p->n + j]);
}

static bool run_pick(const void *plan, float *const *data)
{
    const struct pick_plan *p = plan;
    struct pick_job job = {.plan = p, .data = data[1], .positions = data[2], .y = data[0]};

    od_parallel(p->n_samples * p->n_rows, COST * p->n_samples * p->n_rows * p->n, pick_row, &job);
    return true;
}

static void make_plan(const struct od_build *b, const struct vbs_shape *data,
                      struct pick_plan *plan)
{
    const struct vbs_shape *positions = &b->l->shape;
    int64_t step = 1;

    *plan = (struct pick_plan){.n_samples = b->batch,
                               .n_rows = 1,
                               .n_dims = positions->n_dims,
                               .axis = b->l->attributes.pick.axis};
    for (int d = plan->n_dims - 1; d >= 0; d--) {
        plan->dim[d] = positions->dim[d];
        plan->stride[d] = step;
        step *= data->dim[d];
        plan->n_rows *= d < plan->n_dims - 1 ? positions->dim[d] : 1;
    }
    plan->n = positions->dim[plan->n_dims - 1];
    plan->sample = step;
    plan->places = data->dim[plan->axis];
    plan->step = plan->stride[plan->axis];
}

enum vbs_status od_build_pick(struct od_build *b)
{
    struct pick_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    dnnl_memory_t data[OD_OPERANDS];
    dnnl_memory_desc_t md;

    VBS_TRY(plan ? od_kernel_begin(b, "loop:pick") : vbs_no_memory(b->ctx));
    make_plan(b, &b->l->views[0], plan);
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){b->batch, plan->sample}, &md));
    VBS_TRY(od_source(b, 0, OD_PLAIN, &md, &data[1]));
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){b->batch, plan->n_rows * plan->n}, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &data[0]));
    VBS_TRY(od_source(b, 1, OD_PLAIN, &md, &data[2]));
    VBS_TRY(od_kernel_call(b, run_pick, plan, OD_OPERANDS, data));
    return od_fused_end(b, 0, 0, 0);
}
