/* Operators that work value by value: functions, dropout, sums; and concatenation. */
#include "backend/onednn/training/training.h"

#include "backend/onednn/training/loops.h"
#include "base/fail.h"

static struct od_activation *input_of(const struct od_train_build *b, int input)
{
    return &b->t->activations[b->o->inputs[input]];
}

static struct od_activation *output_of(const struct od_train_build *b)
{
    return &b->t->activations[b->number];
}

static int64_t floats_of(const struct od_activation *a)
{
    return (int64_t)dnnl_memory_desc_get_size(&a->md) / (int64_t)sizeof(float);
}

/* Appends a loop over two activations or gradients. */
static enum vbs_status add_loop(struct od_train_build *b, od_function *loop, const void *plan,
                                const struct od_activation *a, float *to,
                                const struct od_activation *c, float *from)
{
    dnnl_memory_t operands[2];

    VBS_TRY(od_at(b, &a->md, to, &operands[0]));
    VBS_TRY(od_at(b, &c->md, from, &operands[1]));
    return od_kernel_call(&b->build, loop, plan, 2, operands);
}

/* ---- functions of one value ---- */

static dnnl_alg_kind_t backward_algorithm(const struct od_operator *o)
{
    if (!o->reads_dst)
        return o->eltwise.algorithm;
    switch (o->eltwise.algorithm) {
    case dnnl_eltwise_logistic:
        return dnnl_eltwise_logistic_use_dst_for_bwd;
    case dnnl_eltwise_tanh:
        return dnnl_eltwise_tanh_use_dst_for_bwd;
    case dnnl_eltwise_elu:
        return dnnl_eltwise_elu_use_dst_for_bwd;
    default:
        return dnnl_eltwise_relu_use_dst_for_bwd;
    }
}

static enum vbs_status find_eltwise(struct od_train_build *b, dnnl_primitive_desc_t *pd)
{
    const struct od_eltwise *e = &b->o->eltwise;
    dnnl_eltwise_desc_t desc;
    dnnl_status_t dnnl = dnnl_eltwise_forward_desc_init(&desc, dnnl_forward_training, e->algorithm,
                                                        &output_of(b)->md, e->alpha, e->beta);

    return dnnl == dnnl_success ? od_forward_pd(b, &desc, pd)
                                : od_fail(&b->build, dnnl, "describing a function");
}

static enum vbs_status backward_eltwise(struct od_train_build *b)
{
    const struct od_eltwise *e = &b->o->eltwise;
    struct od_activation *in = input_of(b, 0), *out = output_of(b);
    const dnnl_memory_desc_t *md = &out->md;
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_DIFF_SRC, NULL}};
    dnnl_eltwise_desc_t desc;
    dnnl_status_t dnnl =
        dnnl_eltwise_backward_desc_init(&desc, backward_algorithm(b->o), md, md, e->alpha, e->beta);
    int n = 1;

    if (dnnl != dnnl_success)
        return od_fail(&b->build, dnnl, "describing a derivative");
    VBS_TRY(od_input_gradient(b, 0, md, &args[0].memory));
    if (b->o->reads_dst)
        VBS_TRY(od_arg(b, DNNL_ARG_DST, md, out->values, &n, args));
    else
        VBS_TRY(od_arg(b, DNNL_ARG_SRC, md, in->values, &n, args));
    VBS_TRY(od_backward_step(b, &desc, n, args));
    return od_input_gradient_end(b, 0, args[0].memory);
}

enum vbs_status od_train_eltwise(struct od_train_build *b, enum od_pass pass)
{
    struct od_activation *in = input_of(b, 0), *out = output_of(b);
    dnnl_primitive_desc_t pd = NULL;
    dnnl_exec_arg_t args[3];
    int n = 0;

    if (pass == OD_PASS_BACKWARD)
        return in->learns ? backward_eltwise(b) : VBS_OK;
    VBS_TRY(od_arg(b, DNNL_ARG_SRC, &out->md, in->values, &n, args));
    VBS_TRY(od_arg(b, DNNL_ARG_DST, &out->md, out->values, &n, args));
    if (pass == OD_PASS_TRAIN)
        VBS_TRY(find_eltwise(b, &b->o->forward));
    VBS_TRY(find_eltwise(b, &pd));
    return od_train_step(b, pd, n, args);
}

/* ---- dropout ---- */

static const struct od_dropout *plan_dropout(struct od_train_build *b)
{
    double asked = b->t->options.dropout_rate;
    double rate = asked < 0 ? 0 : asked > 0 ? asked : VBS_DROPOUT_RATE;
    struct od_dropout *plan = vbs_arena_alloc(&b->t->base.core.arena, 1, sizeof *plan);

    if (plan)
        *plan = (struct od_dropout){.n = floats_of(output_of(b)),
                                    .pass = &b->t->pass,
                                    .number = b->number,
                                    .threshold = (uint32_t)(rate * 4294967296.0),
                                    .factor = (float)(1 / (1 - rate))};
    return plan;
}

enum vbs_status od_train_dropout(struct od_train_build *b, enum od_pass pass)
{
    struct od_activation *in = input_of(b, 0), *out = output_of(b);
    const void *plan = pass == OD_PASS_INFER ? (const void *)od_plan_count(b, floats_of(out))
                                             : (const void *)plan_dropout(b);

    if (!plan)
        return vbs_no_memory(b->build.ctx);
    if (pass == OD_PASS_TRAIN)
        return add_loop(b, od_loop_dropout, plan, out, out->values, in, in->values);
    if (pass == OD_PASS_INFER)
        return out->values == in->values
                   ? VBS_OK
                   : add_loop(b, od_loop_copy, plan, out, out->values, in, in->values);
    if (!in->learns)
        return VBS_OK;
    return add_loop(b, in->n_written++ > 0 ? od_loop_dropout_accumulate : od_loop_dropout, plan, in,
                    in->gradient, out, out->gradient);
}

/* ---- sums ---- */

static enum vbs_status forward_add(struct od_train_build *b, const int64_t *n)
{
    struct od_activation *out = output_of(b);
    dnnl_memory_t operands[3];

    VBS_TRY(od_at(b, &out->md, out->values, &operands[0]));
    VBS_TRY(od_at(b, &out->md, input_of(b, 0)->values, &operands[1]));
    VBS_TRY(od_at(b, &out->md, input_of(b, 1)->values, &operands[2]));
    return od_kernel_call(&b->build, b->o->relu ? od_loop_sum_relu : od_loop_sum, n, 3, operands);
}

/* Appends the gradient of one input of a sum with a ReLU. Where both inputs get it, and one of them
 * in the place of the output's, the second is made from the first: it is the same. */
static enum vbs_status backward_relu(struct od_train_build *b, const int64_t *n,
                                     const struct od_activation *in, bool first)
{
    struct od_activation *out = output_of(b);
    dnnl_memory_t operands[3];

    VBS_TRY(od_at(b, &in->md, in->gradient, &operands[0]));
    VBS_TRY(od_at(b, &out->md, out->values, &operands[1]));
    VBS_TRY(od_at(b, &out->md, out->gradient, &operands[2]));
    return od_kernel_call(&b->build,
                          first ? od_loop_relu_gradient : od_loop_relu_gradient_accumulate, n, 3,
                          operands);
}

enum vbs_status od_train_add(struct od_train_build *b, enum od_pass pass)
{
    struct od_activation *out = output_of(b);
    const int64_t *n = od_plan_count(b, floats_of(out));

    if (!n)
        return vbs_no_memory(b->build.ctx);
    if (pass != OD_PASS_BACKWARD)
        return forward_add(b, n);
    for (int i = 0; i < 2; i++) {
        struct od_activation *in = input_of(b, i);
        bool first = in->n_written == 0;

        if (!in->learns)
            continue;
        in->n_written++;
        if (b->o->relu)
            VBS_TRY(backward_relu(b, n, in, first));
        else if (in->gradient != out->gradient)
            VBS_TRY(add_loop(b, first ? od_loop_copy : od_loop_accumulate, n, in, in->gradient, out,
                             out->gradient));
    }
    return VBS_OK;
}

/* ---- concatenation ---- */

/* Plans one input along an axis of the sample. With the channels last, the rows are what stands
 * before the axis, and the parts of rows are positions along it with all that stands behind. */
static const struct od_rows *plan_part(struct od_train_build *b, int input, int64_t *done)
{
    const struct vbs_shape *part = &input_of(b, input)->tensor.shape;
    const struct vbs_shape *whole = &output_of(b)->tensor.shape;
    int axis = b->o->attributes->concat.axis;
    int64_t inner = axis == 0 ? 1 : part->dim[0];
    struct od_rows *plan = vbs_arena_alloc(&b->t->base.core.arena, 1, sizeof *plan);

    if (!plan)
        return NULL;
    for (int i = axis + 1; i < part->n_dims && axis > 0; i++)
        inner *= part->dim[i];
    plan->part = part->dim[axis] * inner;
    plan->whole = whole->dim[axis] * inner;
    plan->rows = floats_of(output_of(b)) / plan->whole;
    plan->first = *done;
    *done += plan->part;
    return plan;
}

enum vbs_status od_train_concat(struct od_train_build *b, enum od_pass pass)
{
    struct od_activation *out = output_of(b);
    int64_t done = 0;

    for (int i = 0; i < b->o->n_inputs; i++) {
        struct od_activation *in = input_of(b, i);
        const struct od_rows *plan = plan_part(b, i, &done);

        if (!plan)
            return vbs_no_memory(b->build.ctx);
        if (pass != OD_PASS_BACKWARD)
            VBS_TRY(add_loop(b, od_loop_put, plan, out, out->values, in, in->values));
        else if (in->learns)
            VBS_TRY(add_loop(b, in->n_written++ > 0 ? od_loop_take_accumulate : od_loop_take, plan,
                             in, in->gradient, out, out->gradient));
    }
    return VBS_OK;
}
