/*
 * Reductions: operators that combine dimensions to one value. oneDNN reduces the last dimensions of
 * plain samples, and all spatial ones as a pool; all else is done by loops, with sums in double.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/kernels/kernels.h"
#include "base/fail.h"

#include <math.h>

#define LANES 16 /* values that are reduced side by side */

/* ---- loops ---- */

/* Combines sums[i * step] with x[i * x_step], for i < n. */
typedef void fold(double *sums, int64_t step, const float *x, int64_t x_step, int64_t n);

#define FOLD(name, expression)                                                                     \
    static void fold_##name(double *sums, int64_t step, const float *x, int64_t x_step, int64_t n) \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            double sum = sums[i * step], v = (double)x[i * x_step];                                \
                                                                                                   \
            sums[i * step] = (expression);                                                         \
        }                                                                                          \
    }

FOLD(sum, sum + v)
FOLD(max, v > sum || isnan(v) ? v : sum)
FOLD(min, v < sum || isnan(v) ? v : sum)
FOLD(prod, sum *v)
FOLD(l1, sum + fabs(v))
FOLD(square, sum + v * v)

struct reduce_plan {
    enum vbs_op op;
    fold *fold;
    double start, count;
    struct od_nest kept;    /* loops over the output */
    struct od_nest reduced; /* loops over the values that become one output: operand 1 */
};

static fold *fold_of(enum vbs_op op, double *start)
{
    *start = 0;
    switch (op) {
    case VBS_OP_REDUCE_MAX:
        *start = -INFINITY;
        return fold_max;
    case VBS_OP_REDUCE_MIN:
        *start = INFINITY;
        return fold_min;
    case VBS_OP_REDUCE_PROD:
        *start = 1;
        return fold_prod;
    case VBS_OP_REDUCE_L1:
        return fold_l1;
    case VBS_OP_REDUCE_L2:
    case VBS_OP_REDUCE_SUM_SQUARE:
        return fold_square;
    default:
        return fold_sum;
    }
}

static double finished(const struct reduce_plan *p, double sum)
{
    switch (p->op) {
    case VBS_OP_REDUCE_MEAN:
        return sum / p->count;
    case VBS_OP_REDUCE_L2:
        return sqrt(sum);
    case VBS_OP_REDUCE_LOG_SUM:
        return log(sum);
    default:
        return sum;
    }
}

/* Calls body for every row of nest's operand 1, from x on. */
static void each_row(const struct od_nest *nest, const float *x,
                     void (*body)(void *job, const float *row), void *job)
{
    int64_t index[OD_MAX_AXES] = {0};
    int outer = nest->n_axes - 1;

    for (;;) {
        int d = outer - 1;

        body(job, x);
        for (; d >= 0 && ++index[d] == nest->axes[d].n; d--) {
            x -= (nest->axes[d].n - 1) * nest->axes[d].stride[1];
            index[d] = 0;
        }
        if (d < 0)
            return;
        x += nest->axes[d].stride[1];
    }
}

/* A group of m neighbouring outputs, whose inputs are stride apart. */
struct output_group {
    const struct reduce_plan *plan;
    int64_t m, stride;
    double sums[LANES], most[LANES];
};

/* Computes one output: its inputs are cut into lanes with independent sums. */
static void take_long_row(void *job, const float *row)
{
    struct output_group *group = job;
    const struct od_axis *axis = &group->plan->reduced.axes[group->plan->reduced.n_axes - 1];
    int64_t step = axis->stride[1], i = 0;

    for (; i + LANES <= axis->n; i += LANES)
        group->plan->fold(group->sums, 1, row + i * step, step, LANES);
    group->plan->fold(group->sums, 1, row + i * step, step, axis->n - i);
}

static void take_columns(void *job, const float *row)
{
    struct output_group *group = job;
    const struct od_axis *axis = &group->plan->reduced.axes[group->plan->reduced.n_axes - 1];

    for (int64_t i = 0; i < axis->n; i++)
        group->plan->fold(group->sums, 1, row + i * axis->stride[1], group->stride, group->m);
}

/* Returns the larger one; no number where one of them is none. */
static double larger(double a, double b)
{
    return b > a || isnan(b) ? b : a;
}

static double combined(const struct reduce_plan *p, const double *sums)
{
    double all = sums[0];

    for (int i = 1; i < LANES; i++)
        all = p->op == VBS_OP_REDUCE_MAX    ? larger(all, sums[i])
              : p->op == VBS_OP_REDUCE_MIN  ? -larger(-all, -sums[i])
              : p->op == VBS_OP_REDUCE_PROD ? all * sums[i]
                                            : all + sums[i];
    return all;
}

static void add_exponentials(void *job, const float *row)
{
    struct output_group *group = job;
    const struct od_axis *axis = &group->plan->reduced.axes[group->plan->reduced.n_axes - 1];

    for (int64_t i = 0; i < axis->n; i++)
        for (int64_t j = 0; j < group->m; j++)
            group->sums[j] +=
                exp((double)row[i * axis->stride[1] + j * group->stride] - group->most[j]);
}

/* Takes the largest value out of the sum, if it is finite, so that nothing overflows. */
static void log_sum_exp(struct output_group *group, const float *x)
{
    struct reduce_plan most = *group->plan;
    const struct reduce_plan *plan = group->plan;

    most.fold = fold_max;
    for (int j = 0; j < LANES; j++)
        group->sums[j] = -INFINITY;
    group->plan = &most;
    each_row(&plan->reduced, x, take_columns, group);
    group->plan = plan;
    for (int j = 0; j < LANES; j++) {
        group->most[j] = isfinite(group->sums[j]) ? group->sums[j] : 0;
        group->sums[j] = 0;
    }
    each_row(&plan->reduced, x, add_exponentials, group);
    for (int64_t j = 0; j < group->m; j++)
        group->sums[j] = group->most[j] + log(group->sums[j]);
}

/* Computes m outputs, at most LANES. */
static void reduce_group(const struct reduce_plan *p, const float *x, int64_t m, int64_t stride,
                         int64_t step, float *to)
{
    struct output_group group = {.plan = p, .m = m, .stride = stride};

    for (int j = 0; j < LANES; j++)
        group.sums[j] = p->start;
    if (p->op == VBS_OP_REDUCE_LOG_SUM_EXP) {
        log_sum_exp(&group, x);
    } else if (m == 1) {
        each_row(&p->reduced, x, take_long_row, &group);
        group.sums[0] = combined(p, group.sums);
    } else {
        each_row(&p->reduced, x, take_columns, &group);
    }
    for (int64_t j = 0; j < m; j++)
        to[j * step] = (float)finished(p, group.sums[j]);
}

static void reduce_row(const void *plan, const struct od_axis *axis, int64_t first, int64_t n,
                       void *const *at)
{
    const struct reduce_plan *p = plan;
    int64_t step = axis->stride[0], stride = axis->stride[1];
    const float *from = at[1];
    float *to = at[0];
    int64_t lanes = stride == 1 ? LANES : 1;

    for (int64_t i = first; i < first + n; i += lanes) {
        int64_t m = first + n - i < lanes ? first + n - i : lanes;

        reduce_group(p, from + i * stride, m, stride, step, to + i * step);
    }
}

static bool run_reduce(const void *plan, float *const *data)
{
    const struct reduce_plan *p = plan;
    float *const operands[OD_OPERANDS] = {data[0], data[1]};

    od_nest_run(&p->kept, reduce_row, p, operands);
    return true;
}

/* Divides the axes of in, in its layout and with those of out, into kept and reduced ones. */
static void plan_reduce(const struct od_build *b, const struct od_tensor *in, int64_t out_sample,
                        struct reduce_plan *p)
{
    int64_t block = in->canonical == OD_BLOCKED ? b->session->block : 1;
    int64_t step = block, stride = block;
    int64_t steps[VBS_MAX_DIMS], strides[VBS_MAX_DIMS];

    p->op = b->l->op;
    p->fold = fold_of(p->op, &p->start);
    p->count = 1;
    for (int d = in->shape.n_dims - 1; d >= 0; d--) {
        strides[d] = stride;
        steps[d] = step;
        stride *= in->shape.dim[d];
        if (!(b->l->attributes.reduce.axes >> d & 1))
            step *= in->shape.dim[d];
    }
    od_nest_add_strided(&p->kept, b->batch, out_sample, in->stored_channels * in->positions, 0);
    for (int d = 0; d < in->shape.n_dims; d++) {
        int64_t n = d == 0 ? in->stored_channels / block : in->shape.dim[d];

        if (b->l->attributes.reduce.axes >> d & 1) {
            od_nest_add_strided(&p->reduced, n, 0, strides[d], 0);
            p->count *= (double)n;
        } else {
            od_nest_add_strided(&p->kept, n, steps[d], strides[d], 0);
        }
    }
    if (block > 1)
        od_nest_add_strided(&p->kept, block, 1, 1, 0);
    p->kept.cost = (int64_t)p->count;
    od_nest_simplify(&p->kept);
    od_nest_simplify(&p->reduced);
}

static enum vbs_status build_loops(struct od_build *b)
{
    enum od_layout layout = od_output(b)->canonical;
    struct od_tensor in = od_in_layout(b->session, od_input(b, 0), layout);
    const struct od_tensor *out = od_output(b);
    struct reduce_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    dnnl_memory_t data[2];
    dnnl_memory_desc_t md;

    VBS_TRY(plan ? od_kernel_begin(b, "loop:reduce") : vbs_no_memory(b->ctx));
    plan_reduce(b, &in, out->stored_channels * out->positions, plan);
    VBS_TRY(od_describe(b, out, b->batch, layout, true, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &data[0]));
    VBS_TRY(od_describe(b, &in, b->batch, layout, true, &md));
    VBS_TRY(od_source(b, 0, layout, &md, &data[1]));
    VBS_TRY(od_kernel_call(b, run_reduce, plan, 2, data));
    VBS_TRY(od_zero_padding(b));
    return od_fused_end(b, 0, 0, 0);
}

/* ---- primitives ---- */

static bool algorithm_of(enum vbs_op op, dnnl_alg_kind_t *algorithm)
{
    switch (op) {
    case VBS_OP_REDUCE_SUM:
        *algorithm = dnnl_reduction_sum;
        return true;
    case VBS_OP_REDUCE_MEAN:
        *algorithm = dnnl_reduction_mean;
        return true;
    case VBS_OP_REDUCE_MAX:
        *algorithm = dnnl_reduction_max;
        return true;
    case VBS_OP_REDUCE_MIN:
        *algorithm = dnnl_reduction_min;
        return true;
    default:
        return false;
    }
}

/* Gives whether only the last dimensions are reduced: *rows of *n values. */
static bool folds_the_last(const struct od_build *b, int64_t *rows, int64_t *n)
{
    const struct vbs_shape *in = &od_input(b, 0)->shape;
    int d = in->n_dims - 1;

    *rows = b->batch;
    *n = 1;
    for (; d >= 0 && (b->l->attributes.reduce.axes >> d & 1); d--)
        *n *= in->dim[d];
    for (; d >= 0; d--) {
        if ((b->l->attributes.reduce.axes >> d & 1) && in->dim[d] > 1)
            return false;
        *rows *= in->dim[d];
    }
    return *n > 1;
}

/* Finds the implementation; *pd is null where there is only the reference. */
static enum vbs_status reduction_pd(struct od_build *b, dnnl_alg_kind_t algorithm, int64_t rows,
                                    int64_t n, int *n_fused, dnnl_primitive_desc_t *pd)
{
    dnnl_dims_t from = {rows, n}, to = {rows, 1};
    dnnl_memory_desc_t src, dst;
    dnnl_reduction_desc_t desc;
    enum vbs_status status = od_describe_dense(b, 2, from, &src);

    *pd = NULL;
    if (status == VBS_OK)
        status = od_describe_dense(b, 2, to, &dst);
    if (status != VBS_OK ||
        dnnl_reduction_desc_init(&desc, algorithm, &src, &dst, 0, 0) != dnnl_success)
        return status;
    status = od_best(b, &desc, 0, n_fused, pd);
    if (status == VBS_UNSUPPORTED)
        return VBS_OK;
    if (status == VBS_OK && od_is_reference(*pd)) {
        dnnl_primitive_desc_destroy(*pd);
        *pd = NULL;
    }
    return status;
}

/* Gives whether all dimensions but the channels are reduced, and the input is not plain. */
static bool is_global_pool(const struct od_build *b)
{
    const struct od_tensor *in = od_input(b, 0);
    unsigned spatial = ((1u << in->shape.n_dims) - 1) & ~1u;
    bool op = b->l->op == VBS_OP_REDUCE_MEAN || b->l->op == VBS_OP_REDUCE_MAX;

    return op && in->canonical != OD_PLAIN && b->l->attributes.reduce.axes == spatial &&
           b->l->shape.n_dims == in->shape.n_dims;
}

static bool is_extreme(const struct od_build *b)
{
    return b->l->op == VBS_OP_REDUCE_MAX || b->l->op == VBS_OP_REDUCE_MIN;
}

/* Builds the kernel of a reduction of rows of n values. Takes ownership of pd. */
static enum vbs_status build_rows(struct od_build *b, dnnl_primitive_desc_t pd, int64_t rows,
                                  int64_t n, int n_fused)
{
    struct od_extremes extremes = {.smallest = b->l->op == VBS_OP_REDUCE_MIN,
                                   .n_spatial = 1,
                                   .in = {n},
                                   .out = {1},
                                   .lanes = 1,
                                   .n = rows,
                                   .window = {.kernel = {n}, .stride = {1}}};

    return is_extreme(b) ? od_build_extremes(b, pd, OD_PLAIN, &extremes)
                         : od_build_primitive(b, pd, OD_PLAIN, n_fused);
}

enum vbs_status od_build_reduce(struct od_build *b)
{
    dnnl_alg_kind_t algorithm;
    dnnl_primitive_desc_t pd = NULL;
    int64_t rows = 0, n = 0;
    int n_fused = is_extreme(b) ? 0 : od_fusable(b, 0);

    if (is_global_pool(b))
        return od_build_global_pool(b, b->l->op == VBS_OP_REDUCE_MAX);
    if (od_output(b)->canonical == OD_PLAIN && algorithm_of(b->l->op, &algorithm) &&
        folds_the_last(b, &rows, &n))
        VBS_TRY(reduction_pd(b, algorithm, rows, n, &n_fused, &pd));
    return pd ? build_rows(b, pd, rows, n, n_fused) : build_loops(b);
}
