/* A training session: opening, passes, the end. */
#include "backend/onednn/training/training.h"

#include "base/fail.h"
#include "base/options.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdlib.h>

/* ---- passes ---- */

static struct od_training *own(struct vbs_training *session)
{
    return (struct od_training *)session;
}

static enum vbs_status fail_pass(struct vbs_ctx *ctx, const struct od_training *t,
                                 enum od_pass pass, dnnl_status_t dnnl)
{
    if (dnnl == dnnl_out_of_memory)
        return vbs_no_memory(ctx);
    return vbs_fail(ctx, VBS_LIBRARY, "network '%s': oneDNN failed in a %s pass at batch %d (%d)",
                    t->network->name, pass == OD_PASS_BACKWARD ? "backward" : "forward",
                    t->session.batch, (int)dnnl);
}

/* Sets the addresses of the caller's values: src is read, dst is written. */
static dnnl_status_t set_addresses(const struct od_training *t, const struct od_kernel *kernel,
                                   const float *src, float *dst)
{
    dnnl_status_t dnnl = dnnl_success;

    for (int i = 0; i < kernel->n_memories && dnnl == dnnl_success; i++) {
        const struct od_memory *m = &kernel->memories[i];

        if (m->location == OD_SRC)
            dnnl = dnnl_memory_set_data_handle_v2(m->handle, vbs_writable(src), t->base.stream);
        else if (m->location == OD_DST)
            dnnl = dnnl_memory_set_data_handle_v2(m->handle, dst, t->base.stream);
    }
    return dnnl;
}

static enum vbs_status run_pass(struct vbs_ctx *ctx, struct od_training *t, enum od_pass pass,
                                const float *src, float *dst)
{
    const struct od_kernel *kernel = &t->passes[pass];
    struct od_threads before = od_threads_set(t->base.threads);
    dnnl_status_t dnnl = set_addresses(t, kernel, src, dst);

    if (dnnl == dnnl_success)
        dnnl = od_kernel_execute(&t->base, kernel);
    od_threads_restore(before);
    return dnnl == dnnl_success ? VBS_OK : fail_pass(ctx, t, pass, dnnl);
}

static enum vbs_status forward(struct vbs_ctx *ctx, struct vbs_training *session,
                               const struct vbs_training_pass *pass, float *output)
{
    struct od_training *t = own(session);

    t->pass = *pass;
    t->trained = false;
    VBS_TRY(run_pass(ctx, t, pass->training ? OD_PASS_TRAIN : OD_PASS_INFER, pass->input, output));
    t->trained = pass->training;
    return VBS_OK;
}

static enum vbs_status backward(struct vbs_ctx *ctx, struct vbs_training *session,
                                const float *output_gradient)
{
    struct od_training *t = own(session);

    if (!t->trained)
        return vbs_fail(ctx, VBS_USAGE, "a backward pass follows a forward pass of training");
    t->trained = false;
    return run_pass(ctx, t, OD_PASS_BACKWARD, output_gradient, t->input_gradient);
}

static enum vbs_status input_gradient(struct vbs_ctx *ctx, struct vbs_training *session,
                                      float *values)
{
    const struct od_training *t = own(session);

    if (!t->input_gradient)
        return vbs_fail(ctx, VBS_USAGE, "the session was opened without a gradient of the input");
    for (int64_t i = 0; i < session->input_elements * session->batch; i++)
        values[i] = t->input_gradient[i];
    return VBS_OK;
}

static bool is_finite(const struct od_activation *a)
{
    int64_t n = (int64_t)(dnnl_memory_desc_get_size(&a->md) / sizeof(float));

    for (int64_t i = 0; i < n; i++)
        if (!isfinite(a->values[i]))
            return false;
    return true;
}

/* Runs the steps of a pass up to the first operator whose output is not finite; 0: there is none.
 */
static dnnl_status_t run_until_overflow(struct od_training *t, enum od_pass pass, int *found)
{
    struct od_kernel part = t->passes[pass];
    dnnl_status_t dnnl = dnnl_success;
    int first = 0;

    *found = 0;
    for (int i = 1; i <= t->n_operators && dnnl == dnnl_success && *found == 0; i++) {
        part.steps = t->passes[pass].steps + first;
        part.n_steps = t->operators[i].end_step[pass] - first;
        dnnl = od_kernel_execute(&t->base, &part);
        first = t->operators[i].end_step[pass];
        if (!is_finite(&t->activations[i]))
            *found = i;
    }
    return dnnl;
}

static enum vbs_status find_overflow(struct vbs_ctx *ctx, struct vbs_training *session,
                                     const struct vbs_training_pass *pass, const char **name)
{
    struct od_training *t = own(session);
    enum od_pass kind = pass->training ? OD_PASS_TRAIN : OD_PASS_INFER;
    struct od_threads before = od_threads_set(t->base.threads);
    dnnl_status_t dnnl = set_addresses(t, &t->passes[kind], pass->input, NULL);
    int found = 0;

    t->pass = *pass;
    t->trained = false;
    if (dnnl == dnnl_success)
        dnnl = run_until_overflow(t, kind, &found);
    od_threads_restore(before);
    if (dnnl != dnnl_success)
        return fail_pass(ctx, t, kind, dnnl);
    *name = found > 0 ? t->operators[found].name : NULL;
    return VBS_OK;
}

static void close_session(struct vbs_training *session)
{
    struct od_training *t = own(session);

    for (int i = 0; i < OD_N_PASSES; i++)
        od_kernel_release(&t->passes[i]);
    for (int i = 1; t->operators && i <= t->n_operators; i++)
        dnnl_primitive_desc_destroy(t->operators[i].forward);
    for (int64_t i = 0; i < t->n_memory; i++)
        free(t->memory[i]);
    free(t->memory);
    free(t->arrays);
    free(session->trainable);
    free(session->statistics);
    dnnl_stream_destroy(t->base.stream);
    dnnl_engine_destroy(t->base.engine);
    vbs_arena_clear(&t->base.core.arena);
    free(t);
}

/* ---- making the passes ---- */

static enum vbs_status add_operator(struct od_train_build *b, int number, enum od_pass pass)
{
    struct od_operator *o = &b->t->operators[number];

    b->o = o;
    b->number = number;
    b->build.layer = o->layer;
    b->build.l = &b->t->network->layers[o->layer];
    VBS_TRY(vbs_check_cancel(b->build.ctx));
    switch (o->op) {
    case VBS_OP_CONV:
        return od_train_conv(b, pass);
    case VBS_OP_FC:
        return od_train_fc(b, pass);
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        return od_train_pool(b, pass);
    case VBS_OP_BATCHNORM:
        return od_train_batchnorm(b, pass);
    case VBS_OP_SCALE:
        return od_train_scale(b, pass);
    case VBS_OP_LRN:
        return od_train_lrn(b, pass);
    case VBS_OP_ADD:
        return od_train_add(b, pass);
    case VBS_OP_CONCAT:
        return od_train_concat(b, pass);
    case VBS_OP_DROPOUT:
        return od_train_dropout(b, pass);
    default:
        return od_train_eltwise(b, pass);
    }
}

/* Appends the copy of an activation or its gradient from or to the plain values of the caller. */
static enum vbs_status add_transfer(struct od_train_build *b, int activation,
                                    enum od_location location, float *data)
{
    const struct od_activation *a = &b->t->activations[activation];
    dnnl_memory_t own_memory = NULL, plain = NULL;
    dnnl_memory_desc_t md;

    VBS_TRY(od_describe(&b->build, &a->tensor, b->build.batch, OD_PLAIN, false, &md));
    VBS_TRY(od_at(b, &a->md, data, &own_memory));
    VBS_TRY(od_kernel_memory(&b->build, &md, location, 0, NULL, &plain));
    return location == OD_SRC ? od_kernel_reorder(&b->build, &md, plain, &a->md, own_memory)
                              : od_kernel_reorder(&b->build, &a->md, own_memory, &md, plain);
}

static enum vbs_status make_forward(struct od_train_build *b, enum od_pass pass)
{
    struct od_training *t = b->t;

    b->build.kernel = &t->passes[pass];
    VBS_TRY(add_transfer(b, 0, OD_SRC, t->activations[0].values));
    for (int i = 1; i <= t->n_operators; i++) {
        VBS_TRY(add_operator(b, i, pass));
        t->operators[i].end_step[pass] = t->passes[pass].n_steps;
    }
    return add_transfer(b, t->output, OD_DST, t->activations[t->output].values);
}

static enum vbs_status make_backward(struct od_train_build *b)
{
    struct od_training *t = b->t;

    b->build.kernel = &t->passes[OD_PASS_BACKWARD];
    if (!t->activations[t->output].learns)
        return VBS_OK;
    VBS_TRY(add_transfer(b, t->output, OD_SRC, t->activations[t->output].gradient));
    for (int i = t->n_operators; i >= 1; i--)
        if (t->operators[i].learns)
            VBS_TRY(add_operator(b, i, OD_PASS_BACKWARD));
    if (!t->options.input_gradient)
        return VBS_OK;
    VBS_TRY(od_train_alloc(b, t->session.input_elements * b->build.batch * (int64_t)sizeof(float),
                           &t->input_gradient));
    return add_transfer(b, 0, OD_DST, t->activations[0].gradient);
}

/* Gives the shared memory to all memory objects in it. */
static enum vbs_status set_regions(struct od_train_build *b)
{
    struct od_training *t = b->t;
    void *regions[OD_N_REGIONS];

    for (int i = 0; i < OD_N_PASSES; i++)
        if (t->passes[i].scratch_bytes > t->region_bytes[OD_REGION_SCRATCH])
            t->region_bytes[OD_REGION_SCRATCH] = t->passes[i].scratch_bytes;
    for (int i = 0; i < OD_N_REGIONS; i++) {
        VBS_TRY(od_train_alloc(b, t->region_bytes[i], &regions[i]));
        t->session.workspace_bytes += t->region_bytes[i];
    }
    for (int p = 0; p < OD_N_PASSES; p++)
        for (int i = 0; i < t->passes[p].n_memories; i++) {
            const struct od_memory *m = &t->passes[p].memories[i];
            int region = m->location == OD_SCRATCH  ? (int)OD_REGION_SCRATCH
                         : m->location == OD_BUFFER ? m->index
                                                    : -1;

            if (region >= 0 && dnnl_memory_set_data_handle_v2(m->handle, regions[region],
                                                              t->base.stream) != dnnl_success)
                return od_fail(&b->build, dnnl_runtime_error, "giving memory to a step");
        }
    return VBS_OK;
}

static enum vbs_status make_session(struct od_train_build *b)
{
    struct od_training *t = b->t;
    dnnl_status_t dnnl = dnnl_engine_create(&t->base.engine, dnnl_cpu, 0);

    if (dnnl == dnnl_success)
        dnnl = dnnl_stream_create(&t->base.stream, t->base.engine, dnnl_stream_default_flags);
    if (dnnl != dnnl_success)
        return vbs_fail(b->build.ctx, dnnl == dnnl_out_of_memory ? VBS_NO_MEMORY : VBS_LIBRARY,
                        "cannot start oneDNN (%d)", (int)dnnl);
    t->base.block = od_block();
    b->build.l = &t->network->layers[0];
    VBS_TRY(od_unfold(b));
    VBS_TRY(od_place_activations(b));
    VBS_TRY(make_forward(b, OD_PASS_TRAIN));
    VBS_TRY(make_forward(b, OD_PASS_INFER));
    VBS_TRY(make_backward(b));
    VBS_TRY(set_regions(b));
    if (t->session.n_trainable == 0 && !t->options.input_gradient)
        return vbs_fail(b->build.ctx, VBS_UNSUPPORTED,
                        "network '%s' has no parameters that could be trained", t->network->name);
    return od_read_network(b);
}

/* ---- opening ---- */

static const struct vbs_training_ops ops = {
    .forward = forward,
    .backward = backward,
    .input_gradient = input_gradient,
    .read = od_read_array,
    .write = od_write_array,
    .find_overflow = find_overflow,
    .close = close_session,
};

static enum vbs_status check_options(struct vbs_ctx *ctx, const struct vbs_training_options *o)
{
    if (o->batch < 1 || o->batch > VBS_MAX_BATCH)
        return vbs_fail(ctx, VBS_USAGE, "a batch of %d for training; 1 to %d are allowed", o->batch,
                        VBS_MAX_BATCH);
    if (!(o->dropout_rate < 1))
        return vbs_fail(ctx, VBS_USAGE, "a dropout rate of %g; it must be below 1",
                        o->dropout_rate);
    if (!(o->statistics_rate >= 0 && o->statistics_rate <= 1))
        return vbs_fail(ctx, VBS_USAGE, "a rate of %g for running statistics; 0 to 1 are allowed",
                        o->statistics_rate);
    return VBS_OK;
}

enum vbs_status od_training_open(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 const struct vbs_training_options *options,
                                 struct vbs_training **session)
{
    struct vbs_training_options read;
    struct od_training *t;
    struct od_train_build b;
    struct od_threads before;
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_training_options", options, &read, sizeof read));
    VBS_TRY(check_options(ctx, &read));
    VBS_TRY(vbs_network_check_floats(ctx, network, "training"));
    t = calloc(1, sizeof *t);
    if (!t)
        return vbs_no_memory(ctx);
    t->session = (struct vbs_training){.ops = &ops, .batch = read.batch};
    t->network = network;
    t->options = read;
    b = (struct od_train_build){
        .build = {.ctx = ctx, .session = &t->base, .network = network, .batch = read.batch},
        .t = t};
    status = od_threads_choose(ctx, read.threads, &t->base.threads);
    if (status == VBS_OK) {
        before = od_threads_set(t->base.threads);
        status = make_session(&b);
        od_threads_restore(before);
    }
    if (status != VBS_OK) {
        close_session(&t->session);
        return status;
    }
    *session = &t->session;
    return VBS_OK;
}
