/* BatchNorm, Scale and local response normalization. */
#include "backend/onednn/training/training.h"

#include "backend/onednn/training/loops.h"
#include "base/fail.h"

static struct od_activation *input_of(const struct od_train_build *b)
{
    return &b->t->activations[b->o->inputs[0]];
}

static int64_t channels_of(const struct od_train_build *b)
{
    return b->t->activations[b->number].tensor.channels;
}

static int64_t rows_of(const struct od_train_build *b)
{
    return b->build.batch * b->t->activations[b->number].tensor.positions;
}

/* Adds gamma and beta, one behind the other in memory. */
static enum vbs_status add_pair(struct od_train_build *b, bool beta)
{
    int64_t n = channels_of(b), bytes = 2 * n * (int64_t)sizeof(float);
    float *values = NULL, *gradient = NULL;
    dnnl_memory_desc_t md;

    VBS_TRY(od_train_alloc(b, bytes, &values));
    VBS_TRY(od_train_alloc(b, bytes, &gradient));
    b->t->session.parameter_bytes += 2 * bytes;
    VBS_TRY(od_describe_vector(&b->build, n, &md));
    VBS_TRY(od_add_trainable(b, VBS_PARAMETER_GAMMA, &md, &md, values, gradient, &b->o->gamma));
    if (!beta)
        return VBS_OK;
    return od_add_trainable(b, VBS_PARAMETER_BETA, &md, &md, values + n, gradient + n, &b->o->beta);
}

/* ---- BatchNorm ---- */

static unsigned flags_of(const struct od_operator *o, bool training)
{
    return (o->attributes->norm.affine ? (unsigned)dnnl_use_scaleshift : 0) |
           (o->relu ? (unsigned)dnnl_fuse_norm_relu : 0) |
           (training ? 0 : (unsigned)dnnl_use_global_stats);
}

static float epsilon_of(const struct od_operator *o)
{
    double epsilon = o->attributes->norm.epsilon;

    return (float)(epsilon > 0 ? epsilon : VBS_BATCHNORM_EPSILON);
}

static enum vbs_status find_forward(struct od_train_build *b, bool training,
                                    dnnl_primitive_desc_t *pd)
{
    dnnl_batch_normalization_desc_t d;
    dnnl_status_t dnnl = dnnl_batch_normalization_forward_desc_init(
        &d, training ? dnnl_forward_training : dnnl_forward_inference,
        &b->t->activations[b->number].md, epsilon_of(b->o), flags_of(b->o, training));

    return dnnl == dnnl_success ? od_forward_pd(b, &d, pd)
                                : od_fail(&b->build, dnnl, "describing a normalization");
}

/* Makes everything that lives as long as the session. */
static enum vbs_status begin_batchnorm(struct od_train_build *b)
{
    struct od_operator *o = b->o;
    int64_t n = channels_of(b), bytes = n * (int64_t)sizeof(float);

    VBS_TRY(find_forward(b, true, &o->forward));
    if (o->attributes->norm.affine)
        VBS_TRY(add_pair(b, true));
    VBS_TRY(od_add_statistic(b, VBS_PARAMETER_MEAN, n, &o->mean));
    VBS_TRY(od_add_statistic(b, VBS_PARAMETER_VARIANCE, n, &o->variance));
    VBS_TRY(od_train_alloc(b, bytes, &o->batch_mean));
    VBS_TRY(od_train_alloc(b, bytes, &o->batch_variance));
    b->t->session.workspace_bytes += 2 * bytes;
    return od_add_workspace(b);
}

/* Appends what both directions read: the parameters, the mean, the variance. */
static enum vbs_status add_operands(struct od_train_build *b, float *mean, float *variance, int *n,
                                    dnnl_exec_arg_t *args)
{
    dnnl_dims_t dims = {2, channels_of(b)};
    dnnl_memory_desc_t md, pair;

    VBS_TRY(od_describe_vector(&b->build, dims[1], &md));
    VBS_TRY(od_describe_dense(&b->build, 2, dims, &pair));
    VBS_TRY(od_arg(b, DNNL_ARG_MEAN, &md, mean, n, args));
    VBS_TRY(od_arg(b, DNNL_ARG_VARIANCE, &md, variance, n, args));
    if (b->o->gamma < 0)
        return VBS_OK;
    return od_arg(b, DNNL_ARG_SCALE_SHIFT, &pair, b->t->session.trainable[b->o->gamma].values, n,
                  args);
}

/* Appends the taking of a batch's statistics into the running ones. */
static enum vbs_status add_statistics(struct od_train_build *b)
{
    const struct od_operator *o = b->o;
    const struct vbs_running_statistic *running = b->t->session.statistics;
    double rate = b->t->options.statistics_rate, rows = (double)rows_of(b);
    struct od_statistics *plan = vbs_arena_alloc(&b->t->base.core.arena, 1, sizeof *plan);
    dnnl_memory_t operands[4];
    dnnl_memory_desc_t md;

    if (!plan)
        return vbs_no_memory(b->build.ctx);
    *plan = (struct od_statistics){.channels = channels_of(b),
                                   .rate = (float)(rate > 0 ? rate : VBS_STATISTICS_RATE),
                                   .correction = (float)(rows > 1 ? rows / (rows - 1) : 1)};
    VBS_TRY(od_describe_vector(&b->build, plan->channels, &md));
    VBS_TRY(od_at(b, &md, running[o->mean].values, &operands[0]));
    VBS_TRY(od_at(b, &md, o->batch_mean, &operands[1]));
    VBS_TRY(od_at(b, &md, running[o->variance].values, &operands[2]));
    VBS_TRY(od_at(b, &md, o->batch_variance, &operands[3]));
    return od_kernel_call(&b->build, od_loop_statistics, plan, 4, operands);
}

static enum vbs_status forward_batchnorm(struct od_train_build *b, bool training)
{
    const struct od_operator *o = b->o;
    const struct vbs_running_statistic *running = b->t->session.statistics;
    const struct od_activation *out = &b->t->activations[b->number];
    dnnl_primitive_desc_t pd = NULL;
    dnnl_exec_arg_t args[6];
    int n = 0;

    VBS_TRY(od_arg(b, DNNL_ARG_SRC, &out->md, input_of(b)->values, &n, args));
    VBS_TRY(od_arg(b, DNNL_ARG_DST, &out->md, out->values, &n, args));
    VBS_TRY(add_operands(b, training ? o->batch_mean : running[o->mean].values,
                         training ? o->batch_variance : running[o->variance].values, &n, args));
    if (training && o->workspace)
        args[n++] = (dnnl_exec_arg_t){DNNL_ARG_WORKSPACE, o->workspace};
    VBS_TRY(find_forward(b, training, &pd));
    VBS_TRY(od_train_step(b, pd, n, args));
    return training ? add_statistics(b) : VBS_OK;
}

static enum vbs_status backward_batchnorm(struct od_train_build *b)
{
    const struct od_operator *o = b->o;
    const struct od_activation *in = input_of(b), *out = &b->t->activations[b->number];
    dnnl_dims_t dims = {2, channels_of(b)};
    dnnl_batch_normalization_desc_t d;
    dnnl_memory_desc_t pair;
    dnnl_exec_arg_t args[8] = {{DNNL_ARG_DIFF_SRC, NULL}};
    dnnl_status_t dnnl = dnnl_batch_normalization_backward_desc_init(
        &d, o->gamma >= 0 ? dnnl_backward : dnnl_backward_data, &out->md, &out->md, epsilon_of(o),
        flags_of(o, true));
    int n = 1;

    if (dnnl != dnnl_success)
        return od_fail(&b->build, dnnl, "describing the gradient of a normalization");
    /* The gradient of an input that does not learn is written, too: gamma and beta need the pass.
     */
    VBS_TRY(in->learns ? od_input_gradient(b, 0, &out->md, &args[0].memory)
                       : od_in_region(b, &out->md, OD_REGION_SHARE, &args[0].memory));
    VBS_TRY(od_arg(b, DNNL_ARG_SRC, &out->md, in->values, &n, args));
    VBS_TRY(add_operands(b, o->batch_mean, o->batch_variance, &n, args));
    VBS_TRY(od_describe_dense(&b->build, 2, dims, &pair));
    if (o->gamma >= 0)
        VBS_TRY(
            od_arg(b, DNNL_ARG_DIFF_SCALE_SHIFT, &pair, b->t->arrays[o->gamma].gradient, &n, args));
    VBS_TRY(od_backward_step(b, &d, n, args));
    return in->learns ? od_input_gradient_end(b, 0, args[0].memory) : VBS_OK;
}

enum vbs_status od_train_batchnorm(struct od_train_build *b, enum od_pass pass)
{
    if (pass == OD_PASS_BACKWARD)
        return b->o->learns ? backward_batchnorm(b) : VBS_OK;
    if (pass == OD_PASS_TRAIN)
        VBS_TRY(begin_batchnorm(b));
    return forward_batchnorm(b, pass == OD_PASS_TRAIN);
}

/* ---- Scale ---- */

static enum vbs_status add_loop(struct od_train_build *b, od_function *loop, int n,
                                const dnnl_memory_t *operands)
{
    struct od_channels *plan = vbs_arena_alloc(&b->t->base.core.arena, 1, sizeof *plan);

    if (!plan)
        return vbs_no_memory(b->build.ctx);
    *plan = (struct od_channels){.rows = rows_of(b), .channels = channels_of(b)};
    return od_kernel_call(&b->build, loop, plan, n, operands);
}

static enum vbs_status forward_scale(struct od_train_build *b)
{
    const struct od_activation *out = &b->t->activations[b->number];
    float *gamma = b->t->session.trainable[b->o->gamma].values;
    dnnl_memory_t operands[4];
    dnnl_memory_desc_t md;

    VBS_TRY(od_describe_vector(&b->build, channels_of(b), &md));
    VBS_TRY(od_at(b, &out->md, out->values, &operands[0]));
    VBS_TRY(od_at(b, &out->md, input_of(b)->values, &operands[1]));
    VBS_TRY(od_at(b, &md, gamma, &operands[2]));
    VBS_TRY(od_at(b, &md, gamma + channels_of(b), &operands[3]));
    return add_loop(b, od_loop_scale, 4, operands);
}

/* The sums of products of the input and the gradient, and of the gradient, come before the gradient
 * of the input, which may be written over the output's. */
static enum vbs_status backward_scale(struct od_train_build *b)
{
    struct od_activation *in = input_of(b), *out = &b->t->activations[b->number];
    float *gradient = b->t->arrays[b->o->gamma].gradient;
    int64_t n = channels_of(b);
    dnnl_memory_t sums[3], totals[3], of_input[3];
    dnnl_memory_desc_t md, parts;

    VBS_TRY(od_describe_vector(&b->build, n, &md));
    VBS_TRY(od_describe_vector(&b->build, 2 * OD_SUM_PARTS * n, &parts));
    VBS_TRY(od_in_region(b, &parts, OD_REGION_GRADIENT, &sums[0]));
    VBS_TRY(od_at(b, &in->md, in->values, &sums[1]));
    VBS_TRY(od_at(b, &out->md, out->gradient, &sums[2]));
    VBS_TRY(add_loop(b, od_loop_scale_sums, 3, sums));
    VBS_TRY(od_at(b, &md, gradient, &totals[0]));
    totals[1] = sums[0];
    VBS_TRY(od_at(b, &md, gradient + n, &totals[2]));
    VBS_TRY(add_loop(b, od_loop_scale_totals, 3, totals));
    if (!in->learns)
        return VBS_OK;
    VBS_TRY(od_at(b, &in->md, in->gradient, &of_input[0]));
    of_input[1] = sums[2];
    VBS_TRY(od_at(b, &md, b->t->session.trainable[b->o->gamma].values, &of_input[2]));
    return add_loop(b, in->n_written++ > 0 ? od_loop_scale_accumulate : od_loop_scale_factor, 3,
                    of_input);
}

enum vbs_status od_train_scale(struct od_train_build *b, enum od_pass pass)
{
    if (pass == OD_PASS_BACKWARD)
        return backward_scale(b);
    if (pass == OD_PASS_TRAIN)
        VBS_TRY(add_pair(b, b->o->attributes->scale.bias));
    return forward_scale(b);
}

/* ---- local response normalization ---- */

static enum vbs_status find_lrn(struct od_train_build *b, bool training, dnnl_primitive_desc_t *pd)
{
    const union vbs_attributes *a = b->o->attributes;
    dnnl_lrn_desc_t d;
    dnnl_status_t dnnl = dnnl_lrn_forward_desc_init(
        &d, training ? dnnl_forward_training : dnnl_forward_inference, dnnl_lrn_across_channels,
        &b->t->activations[b->number].md, a->lrn.size, (float)a->lrn.alpha, (float)a->lrn.beta,
        (float)a->lrn.k);

    return dnnl == dnnl_success ? od_forward_pd(b, &d, pd)
                                : od_fail(&b->build, dnnl, "describing a normalization");
}

static enum vbs_status forward_lrn(struct od_train_build *b, bool training)
{
    const struct od_activation *out = &b->t->activations[b->number];
    dnnl_primitive_desc_t pd = NULL;
    dnnl_exec_arg_t args[3];
    int n = 0;

    if (training) {
        VBS_TRY(find_lrn(b, true, &b->o->forward));
        VBS_TRY(od_add_workspace(b));
    }
    VBS_TRY(od_arg(b, DNNL_ARG_SRC, &out->md, input_of(b)->values, &n, args));
    VBS_TRY(od_arg(b, DNNL_ARG_DST, &out->md, out->values, &n, args));
    if (training && b->o->workspace)
        args[n++] = (dnnl_exec_arg_t){DNNL_ARG_WORKSPACE, b->o->workspace};
    VBS_TRY(find_lrn(b, training, &pd));
    return od_train_step(b, pd, n, args);
}

static enum vbs_status backward_lrn(struct od_train_build *b)
{
    const union vbs_attributes *a = b->o->attributes;
    const struct od_activation *in = input_of(b), *out = &b->t->activations[b->number];
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_DIFF_SRC, NULL}};
    dnnl_lrn_desc_t d;
    dnnl_status_t dnnl =
        dnnl_lrn_backward_desc_init(&d, dnnl_lrn_across_channels, &out->md, &out->md, a->lrn.size,
                                    (float)a->lrn.alpha, (float)a->lrn.beta, (float)a->lrn.k);
    int n = 1;

    if (dnnl != dnnl_success)
        return od_fail(&b->build, dnnl, "describing the gradient of a normalization");
    VBS_TRY(od_input_gradient(b, 0, &out->md, &args[0].memory));
    VBS_TRY(od_arg(b, DNNL_ARG_SRC, &out->md, in->values, &n, args));
    VBS_TRY(od_backward_step(b, &d, n, args));
    return od_input_gradient_end(b, 0, args[0].memory);
}

enum vbs_status od_train_lrn(struct od_train_build *b, enum od_pass pass)
{
    if (pass != OD_PASS_BACKWARD)
        return forward_lrn(b, pass == OD_PASS_TRAIN);
    return input_of(b)->learns ? backward_lrn(b) : VBS_OK;
}
