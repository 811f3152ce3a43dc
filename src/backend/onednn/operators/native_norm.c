/*
 * Softmax and layer normalisation of rows whose input or output has 8 bits. A row goes from one to
 * the other without floats in memory. Softmax is for rows of floats, too, where it takes three
 * quarters of the time of oneDNN's.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/rows/rows.h"
#include "base/fail.h"
#include "model/network/network.h"

struct norm_plan {
    struct od_row_change change;
    void (*run)(const struct od_row_change *change, const void *from, void *to);
    int64_t n_rows;
};

struct norm_job {
    const struct norm_plan *plan;
    const char *from;
    char *to;
};

/* ---- running ---- */

static void norm_part(void *self, int64_t part)
{
    const struct norm_job *j = self;
    const struct od_row_change *c = &j->plan->change;
    int64_t first = part * c->n;

    j->plan->run(c, j->from + first * vbs_storage_bytes(c->from.storage),
                 j->to + first * vbs_storage_bytes(c->to.storage));
}

static bool run_norm(const void *plan, float *const *data)
{
    const struct norm_plan *p = plan;
    struct norm_job job = {.plan = p, .from = (const void *)data[1], .to = (void *)data[0]};

    od_parallel(p->n_rows, p->n_rows * p->change.n * 2, norm_part, &job);
    return true;
}

/* ---- planning ---- */

/* Gives whether a tensor lies in row-major order, as floats or as whole numbers whose scale rows
 * take. */
static bool is_plain(const struct od_build *b, int index)
{
    const struct vbs_encoding *e = &od_stored_of(b, index)->encoding;

    if (e->storage == VBS_FLOAT32)
        return b->session->tensors[od_tensor_of(b, index)].canonical == OD_PLAIN;
    return vbs_storage_is_whole(e->storage) && od_stored_layout(b, index) == OD_PLAIN &&
           od_rows_take(e->scale);
}

/* Gives the length of rows; 0: what is normalised are no rows of values side by side. */
static int64_t row_length(const struct od_build *b)
{
    const struct vbs_shape *shape = &b->l->shape;
    int axis =
        b->l->op == VBS_OP_SOFTMAX ? b->l->attributes.softmax.axis : b->l->attributes.norm.axis;
    int64_t n = shape->dim[axis];

    for (int d = axis + 1; d < shape->n_dims; d++) {
        if (b->l->op == VBS_OP_SOFTMAX && shape->dim[d] > 1)
            return 0;
        n *= shape->dim[d];
    }
    return n;
}

/* Makes gamma and beta, [n] each, or one of each; *bytes: of both in weights. */
static enum vbs_status plan_parameters(struct od_build *b, struct od_row_change *change,
                                       int64_t *bytes)
{
    bool affine = b->l->attributes.norm.affine;
    int64_t n = affine ? change->n : 1;
    float *values = od_constants(b, 2 * n);

    if (!values)
        return vbs_no_memory(b->ctx);
    change->gamma = values;
    change->beta = values + n;
    change->step = affine;
    values[0] = 1;
    *bytes = affine ? 2 * n * (int64_t)sizeof *values : 0;
    if (!affine)
        return VBS_OK;
    VBS_TRY(
        vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_GAMMA, 0, n, values));
    return vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_BETA, 0, n,
                                values + n);
}

/* ---- the kernel ---- */

static enum vbs_status build_rows(struct od_build *b, const struct norm_plan *plan,
                                  const struct od_tail *tail, int64_t bytes)
{
    dnnl_memory_t data[2];

    VBS_TRY(od_kernel_begin(b, b->l->op == VBS_OP_SOFTMAX ? "loop:softmax" : "loop:layernorm"));
    VBS_TRY(od_stored_memory(b, 1, &data[0]));
    VBS_TRY(od_stored_memory(b, 0, &data[1]));
    VBS_TRY(od_kernel_call(b, run_norm, plan, 2, data));
    VBS_TRY(od_tail_step(b, tail));
    return od_kernel_end(b, bytes + od_line_bytes(tail->line), od_line_format(tail->line));
}

enum vbs_status od_build_native_norm(struct od_build *b)
{
    const struct vbs_encoding *to = &od_stored_of(b, 1)->encoding;
    bool softmax = b->l->op == VBS_OP_SOFTMAX;
    double epsilon = b->l->attributes.norm.epsilon;
    struct od_tail tail = {.encoding = *to, .end = b->l->n_fused};
    struct norm_plan *plan;
    int64_t n = row_length(b), bytes = 0;

    if (n == 0 || !is_plain(b, 0) || !is_plain(b, 1))
        return VBS_OK;
    if (to->storage != VBS_FLOAT32)
        VBS_TRY(od_tail_init(b, 0, &tail));
    if (tail.end > 0)
        return VBS_OK;
    plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    if (!plan)
        return vbs_no_memory(b->ctx);
    *plan = (struct norm_plan){
        .change = {.from = od_stored_of(b, 0)->encoding, .to = tail.encoding, .n = n},
        .run = softmax ? od_rows()->softmax : od_rows()->normalise,
        .n_rows = b->batch * vbs_shape_elements(&b->l->shape) / n};
    if (!softmax) {
        plan->change.epsilon = (float)(epsilon != 0 ? epsilon : VBS_BATCHNORM_EPSILON);
        VBS_TRY(plan_parameters(b, &plan->change, &bytes));
    }
    return build_rows(b, plan, &tail, bytes);
}
