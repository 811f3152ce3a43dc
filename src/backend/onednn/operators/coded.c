/*
 * Convolutions and inner products that are computed from coded weights (coded_layer.h). Each form
 * of coded weights is a packed weight format; each method on each form is an algorithm.
 */
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

/* An algorithm: a method on a form of coded weights. */
struct coded_algorithm {
    const char *name;
    enum vbs_coding coding;
    enum vbs_coded_method method;
};

static const struct coded_algorithm ALGORITHMS[] = {
    {"bytes:sparse", VBS_CODING_BYTES, VBS_CODED_SPARSE},
    {"joint:sparse", VBS_CODING_JOINT, VBS_CODED_SPARSE},
    {"comp:sparse", VBS_CODING_COMP, VBS_CODED_SPARSE},
    {"bytes:gemm", VBS_CODING_BYTES, VBS_CODED_DENSE},
    {"joint:gemm", VBS_CODING_JOINT, VBS_CODED_DENSE},
    {"comp:gemm", VBS_CODING_COMP, VBS_CODED_DENSE},
};

#define N_ALGORITHMS ((int)(sizeof ALGORITHMS / sizeof *ALGORITHMS))
#define MOST_BITS    8 /* of an index, where products are computed from entries */

/* ---- coded weights in the forms that kernels read ---- */

/* Gives whether weights that are coded otherwise are coded in this form. COMP's own form is only
 * used where it is stored: the joint form is about as small, and faster. */
static bool may_recode(const struct od_build *b, const struct vbs_coded_shape *shape,
                       enum vbs_coding coding)
{
    return vbs_network_may_code(b->network, b->layer, coding) &&
           (coding == VBS_CODING_BYTES ||
            (coding == VBS_CODING_JOINT && shape->bits < VBS_MAX_PAIR_BITS));
}

/* Gives the weights of a channel in each row of the matrix. */
static int64_t window_of(const struct od_build *b)
{
    int64_t window = 1;

    for (int i = 0; b->l->op == VBS_OP_CONV && i < od_input(b, 0)->n_spatial; i++)
        window *= b->l->attributes.weighted.window.kernel[i];
    return window;
}

static enum vbs_status recode(struct od_build *b, const struct vbs_coded *coded,
                              const struct vbs_coded_shape *shape, struct od_coding *coding,
                              enum vbs_coding form)
{
    struct vbs_coding_options options = {.coding = form}; /* as small as it can be */

    vbs_coded_choose_blocks(form, shape->n_rows, shape->n_columns, window_of(b), &options);
    VBS_TRY(vbs_coded_recode(b->ctx, coded, &options, &coding->made));
    coding->coded = coding->made;
    return VBS_OK;
}

/* Gives the coded weights of b's layer in a form; *found is null where the network does not offer
 * it. */
static enum vbs_status find_coding(struct od_build *b, enum vbs_coding form,
                                   const struct vbs_coded **found)
{
    struct od_weights *w = &b->session->weights[b->layer];
    const struct vbs_coded *coded = vbs_network_coded(b->network, b->layer);
    struct vbs_coded_shape shape;
    struct od_coding *coding;
    enum vbs_status status = VBS_OK;

    for (coding = w->codings; coding; coding = coding->next) {
        vbs_coded_describe(coding->coded, &shape);
        if (shape.coding == form) {
            *found = coding->coded;
            return VBS_OK;
        }
    }
    *found = NULL;
    vbs_coded_describe(coded, &shape);
    if (shape.coding != form && !may_recode(b, &shape, form))
        return VBS_OK;
    coding = calloc(1, sizeof *coding);
    if (!coding)
        return vbs_no_memory(b->ctx);
    coding->coded = coded;
    if (shape.coding != form)
        status = recode(b, coded, &shape, coding, form);
    if (status != VBS_OK) {
        free(coding);
        return status;
    }
    coding->next = w->codings;
    w->codings = coding;
    *found = coding->coded;
    return VBS_OK;
}

/* ---- the layer, as coded_layer.h describes it ---- */

static struct vbs_coded_tensor describe_tensor(const struct od_session *s,
                                               const struct od_tensor *tensor)
{
    bool blocked = tensor->canonical == OD_BLOCKED, last = tensor->canonical == OD_CHANNELS_LAST;

    return (struct vbs_coded_tensor){.channels = tensor->channels,
                                     .stored_channels = tensor->stored_channels,
                                     .n_positions = tensor->positions,
                                     .block = blocked ? s->block : tensor->stored_channels,
                                     .block_stride = s->block * tensor->positions,
                                     .channel_stride = blocked || last ? 1 : tensor->positions,
                                     .position_stride = blocked ? s->block
                                                        : last  ? tensor->channels
                                                                : 1,
                                     .sample_stride = tensor->stored_channels * tensor->positions};
}

/* Describes rows of floats, one after the other. */
static struct vbs_coded_tensor describe_rows(int64_t length)
{
    return (struct vbs_coded_tensor){.channels = length,
                                     .stored_channels = length,
                                     .n_positions = 1,
                                     .block = length,
                                     .channel_stride = 1,
                                     .sample_stride = length};
}

/* A product of dense matrices by oneDNN; in a parallel region it runs on the calling thread. */
static bool multiply(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_stride,
                     const float *b, int64_t b_stride, float *c, int64_t c_stride)
{
    return dnnl_sgemm('N', 'N', m, n, k, 1, a, a_stride, b, b_stride, 1, c, c_stride) ==
           dnnl_success;
}

/* The parts of a run. */
struct part_list {
    void (*body)(void *job, int i);
    void *job;
};

static void run_part(void *job, int64_t i)
{
    const struct part_list *parts = job;

    parts->body(parts->job, (int)i);
}

static void run_parts(int n, void (*body)(void *job, int i), void *job)
{
    struct part_list parts = {body, job};

    od_parallel(n, INT64_MAX, run_part, &parts);
}

static void describe_window(const struct od_build *b, struct vbs_coded_layer *layer)
{
    const struct vbs_window *window = &b->l->attributes.weighted.window;
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);

    layer->n_spatial = in->n_spatial;
    for (int i = 0; i < in->n_spatial; i++) {
        layer->in_size[i] = in->spatial[i];
        layer->out_size[i] = out->spatial[i];
        layer->kernel[i] = window->kernel[i];
        layer->stride[i] = window->stride[i];
        layer->dilation[i] = window->dilation[i];
        layer->pad_low[i] = window->pad_low[i];
    }
}

static void describe_layer(const struct od_build *b, struct vbs_coded_layer *layer)
{
    const struct od_weights *w = &b->session->weights[b->layer];
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);

    layer->batch = b->batch;
    layer->groups = 1;
    layer->input = describe_tensor(b->session, in);
    layer->output = describe_tensor(b->session, out);
    if (b->l->op == VBS_OP_CONV) {
        layer->groups = b->l->attributes.weighted.groups;
        describe_window(b, layer);
    }
    if (b->l->op == VBS_OP_FC && b->l->attributes.weighted.rows) {
        layer->input = describe_rows(od_weights_inputs(b));
        layer->output = describe_rows(od_weights_outputs(b));
        layer->batch *= (int)(vbs_shape_elements(&in->shape) / layer->input.channels);
    }
    layer->scale = w->scale;
    layer->bias = w->bias;
    layer->relu = od_weights_relu(b);
    layer->gemm = multiply;
    layer->threads = b->session->threads;
    layer->parallel = run_parts;
}

/* Gives whether the layer can be computed from coded weights: rows of an fc lie side by side, and a
 * convolution whose groups have one channel each (depthwise) has nothing to gain. */
static bool can_be_coded(const struct od_build *b)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);

    if (b->row_output)
        return false;
    if (b->l->op == VBS_OP_FC && b->l->attributes.weighted.rows)
        return in->canonical == OD_PLAIN && out->canonical == OD_PLAIN &&
               vbs_shape_elements(&in->shape) / od_weights_inputs(b) <= INT32_MAX / b->batch;
    return b->l->op == VBS_OP_FC ||
           (b->l->op == VBS_OP_CONV &&
            (in->channels == 1 || b->l->attributes.weighted.groups < in->channels));
}

/* ---- kernels ---- */

static bool run_plan(const void *plan, float *const *data)
{
    return vbs_coded_plan_run(plan, data[2], data[0], data[1], data[3]);
}

/* Makes the plan, which the session owns. */
static enum vbs_status make_plan(struct od_build *b, const struct vbs_coded_layer *layer,
                                 const struct vbs_coded_plan **plan)
{
    struct od_coded_step *step = calloc(1, sizeof *step);
    enum vbs_status status;

    if (!step)
        return vbs_no_memory(b->ctx);
    status = vbs_coded_plan_new(b->ctx, layer, &step->plan);
    if (status != VBS_OK) {
        free(step);
        return status;
    }
    step->next = b->session->coded;
    b->session->coded = step;
    *plan = step->plan;
    return VBS_OK;
}

/* Makes a memory object of all floats of a tensor. */
static enum vbs_status add_floats(struct od_build *b, int64_t bytes, enum od_location location,
                                  dnnl_memory_t *memory)
{
    dnnl_memory_desc_t md;

    VBS_TRY(od_describe_vector(b, bytes / (int64_t)sizeof(float), &md));
    return od_kernel_memory(b, &md, location, 0, NULL, memory);
}

static enum vbs_status build_kernel(struct od_build *b, const struct coded_algorithm *algorithm,
                                    const struct vbs_coded *coded)
{
    struct vbs_coded_layer layer = {.coded = coded, .method = algorithm->method};
    const struct od_weights *w = &b->session->weights[b->layer];
    const struct vbs_coded_plan *plan = NULL;
    dnnl_memory_t data[4] = {NULL};
    dnnl_status_t dnnl = dnnl_success;
    struct od_packed *packed;
    dnnl_memory_desc_t md;
    int64_t ws_bytes;

    if (algorithm->method == VBS_CODED_DENSE)
        dnnl = od_prepare_gemm();
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, algorithm->name);
    describe_layer(b, &layer);
    VBS_TRY(make_plan(b, &layer, &plan));
    VBS_TRY(od_weights_coded(b, coded, &packed));
    VBS_TRY(od_kernel_begin(b, algorithm->name));
    od_kernel_weights(b, packed, 0, 1);
    VBS_TRY(add_floats(b, od_input(b, 0)->bytes * b->batch, OD_SRC, &data[0]));
    VBS_TRY(add_floats(b, od_output(b)->bytes * b->batch, OD_DST, &data[1]));
    VBS_TRY(add_floats(b, packed->bytes, OD_WEIGHTS, &data[2]));
    ws_bytes = vbs_coded_plan_workspace(plan);
    VBS_TRY(od_describe_vector(b, (ws_bytes + 3) / (int64_t)sizeof(float) + 1, &md));
    VBS_TRY(od_kernel_at(b, &md, od_kernel_reserve(b, ws_bytes), &data[3]));
    VBS_TRY(od_kernel_call(b, run_plan, plan, 4, data));
    return od_fused_end(b, w->n_folded + layer.relu, packed->bytes + w->bias_bytes, packed->number);
}

/* Gives whether the algorithm is to be built. */
static bool is_wanted(const struct od_build *b, const struct coded_algorithm *algorithm)
{
    const struct vbs_requested *requested = b->requested;

    return !requested || (requested->row_slices == 0 && requested->n_slices <= 1 &&
                          strcmp(requested->name, algorithm->name) == 0);
}

enum vbs_status od_build_coded(struct od_build *b)
{
    if (b->serial || !vbs_network_coded(b->network, b->layer) || !can_be_coded(b))
        return VBS_OK;
    for (int i = 0; i < N_ALGORITHMS; i++) {
        const struct vbs_coded *coded = NULL;
        struct vbs_coded_shape shape;

        if (!is_wanted(b, &ALGORITHMS[i]))
            continue;
        VBS_TRY(find_coding(b, ALGORITHMS[i].coding, &coded));
        if (!coded)
            continue;
        vbs_coded_describe(coded, &shape);
        if (ALGORITHMS[i].method == VBS_CODED_DENSE || shape.bits <= MOST_BITS)
            VBS_TRY(build_kernel(b, &ALGORITHMS[i], coded));
    }
    return VBS_OK;
}
