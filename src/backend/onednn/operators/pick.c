/* Elements, and parts, of a tensor at positions that another tensor has. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

#include <math.h>
#include <string.h>

#define COST  4    /* of an element, in copied floats */
#define PIECE 4096 /* values of parts that are copied at once */

/* ---- elements ---- */

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

/* ---- parts ---- */

struct take_plan {
    int64_t n_values, rows; /* of the output: all values, and the rows of places */
    int64_t part;           /* values of a part */
    int64_t own, group;     /* rows that choose from the same values, and how many these are */
    int n_dims;             /* numbers of a row */
    int64_t dim[VBS_MAX_DIMS], stride[VBS_MAX_DIMS]; /* in data, along the dimension of each */
};

struct take_job {
    const struct take_plan *plan;
    const float *data, *places;
    float *y;
};

/* Returns the part that a row of places chooses; null: there is none. */
static const float *part_of(const struct take_job *job, int64_t row)
{
    const struct take_plan *p = job->plan;
    const float *place = job->places + row * p->n_dims;
    const float *part = job->data + row / p->own * p->group;

    for (int d = 0; d < p->n_dims; d++) {
        float at = truncf(place[d]);

        at += at < 0 ? (float)p->dim[d] : 0;
        if (!(at >= 0 && at < (float)p->dim[d]))
            return NULL;
        part += (int64_t)at * p->stride[d];
    }
    return part;
}

/* Copies a piece of the output, of which the first and the last part may be cut. */
static void take_piece(void *self, int64_t i)
{
    const struct take_job *job = self;
    int64_t each = job->plan->part, at = i * PIECE, end = at + PIECE;

    end = end < job->plan->n_values ? end : job->plan->n_values;
    while (at < end) {
        const float *part = part_of(job, at / each);
        int64_t skipped = at % each, n = each - skipped < end - at ? each - skipped : end - at;

        if (part)
            memcpy(job->y + at, part + skipped, (size_t)n * sizeof *part);
        else
            memset(job->y + at, 0, (size_t)n * sizeof *part);
        at += n;
    }
}

static bool run_take(const void *plan, float *const *data)
{
    const struct take_plan *p = plan;
    struct take_job job = {.plan = p, .data = data[1], .places = data[2], .y = data[0]};

    od_parallel((p->n_values + PIECE - 1) / PIECE, p->n_values + p->rows * p->n_dims, take_piece,
                &job);
    return true;
}

static void make_take(const struct od_build *b, struct take_plan *plan)
{
    const struct vbs_shape *data = &b->l->views[0], *places = &b->l->views[1];
    int common = b->l->attributes.take.common, n = (int)places->dim[places->n_dims - 1];
    int64_t groups = b->batch, step = 1;

    *plan = (struct take_plan){.rows = b->batch * vbs_shape_elements(places) / n, .n_dims = n};
    for (int d = data->n_dims - 1; d >= common; d--) {
        if (d < common + n) {
            plan->dim[d - common] = data->dim[d];
            plan->stride[d - common] = step;
        }
        step *= data->dim[d];
    }
    for (int d = 0; d < common; d++)
        groups *= data->dim[d];
    plan->part = plan->stride[n - 1];
    plan->n_values = plan->rows * plan->part;
    plan->own = plan->rows / groups;
    plan->group = step;
}

enum vbs_status od_build_take(struct od_build *b)
{
    struct take_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    dnnl_memory_t data[3];
    dnnl_memory_desc_t md;

    VBS_TRY(plan ? od_kernel_begin(b, "loop:take") : vbs_no_memory(b->ctx));
    make_take(b, plan);
    for (int i = 0; i < 2; i++) {
        const dnnl_dims_t dims = {b->batch, vbs_shape_elements(&b->l->views[i])};

        VBS_TRY(od_describe_dense(b, 2, dims, &md));
        VBS_TRY(od_source(b, i, OD_PLAIN, &md, &data[1 + i]));
    }
    VBS_TRY(
        od_describe_dense(b, 2, (dnnl_dims_t){b->batch, vbs_shape_elements(&b->l->shape)}, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &data[0]));
    VBS_TRY(od_kernel_call(b, run_take, plan, 3, data));
    return od_fused_end(b, 0, 0, 0);
}
