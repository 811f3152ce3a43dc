/*
 * Recurrent operators. A primitive computes all elements of the sequences of all samples. Its
 * weights are those of the input [directions, I, gates, hidden], then those of the state
 * [directions, hidden, gates, hidden], in one format for all batches, so that they can be copied as
 * one range of bytes.
 */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

#include <stdlib.h>

#define MAX_GATES 4

/* The sizes of a recurrent operator. */
struct sizes {
    int64_t elements, input, hidden, directions, gates;
};

static struct sizes sizes_of(const struct od_build *b)
{
    const struct vbs_layer *l = b->l;

    return (struct sizes){.elements = l->views[0].dim[0],
                          .input = l->views[0].dim[1],
                          .hidden = l->attributes.recurrent.hidden,
                          .directions = l->operand.dim[0],
                          .gates = vbs_op_gates(l->op)};
}

/* ---- parameters ---- */

/* Gives the place in oneDNN's order (u r o; i f c o) of ONNX's gate (z r h; i o f c). */
static int64_t place_of(enum vbs_op op, int64_t gate)
{
    static const int64_t LSTM[MAX_GATES] = {0, 3, 1, 2};

    return op == VBS_OP_LSTM ? LSTM[gate] : gate;
}

/* Writes a parameter [directions, gates, hidden, n_in] as [directions, n_in, gates, hidden]. */
static enum vbs_status fill_gates(struct od_build *b, enum vbs_parameter what, int64_t n_in,
                                  float *values)
{
    const struct sizes s = sizes_of(b);
    int64_t n = s.hidden * n_in, row = s.gates * s.hidden;
    float *gate = malloc((size_t)n * sizeof *gate);
    enum vbs_status status = gate ? VBS_OK : vbs_no_memory(b->ctx);

    for (int64_t g = 0; g < s.directions * s.gates && status == VBS_OK; g++) {
        float *to = values + g / s.gates * n_in * row + place_of(b->l->op, g % s.gates) * s.hidden;

        status = vbs_parameter_values(b->ctx, b->network, b->layer, -1, what, g * n, n, gate);
        for (int64_t i = 0; i < n_in && status == VBS_OK; i++)
            for (int64_t h = 0; h < s.hidden; h++)
                to[i * row + h] = gate[h * n_in + i];
    }
    free(gate);
    return status;
}

/* Gives the number of weights of the input, and fills both kinds. */
static int64_t input_weights(const struct sizes *s)
{
    return s->directions * s->input * s->gates * s->hidden;
}

static enum vbs_status fill_weights(struct od_build *b, void *memory)
{
    const struct sizes s = sizes_of(b);
    float *values = memory;

    VBS_TRY(fill_gates(b, VBS_PARAMETER_WEIGHTS, s.input, values));
    return fill_gates(b, VBS_PARAMETER_OPERAND, s.hidden, values + input_weights(&s));
}

/* Gives whether the candidate of a gru has a bias of its own for its product with the state. */
static bool has_state_bias(const struct od_build *b)
{
    return b->l->op == VBS_OP_GRU && b->l->attributes.recurrent.reset_after;
}

/* Fills the biases [directions, gates, hidden], where a gru may have one gate more, from those of
 * input and state [directions, 2, gates, hidden]. */
static enum vbs_status fill_bias(struct od_build *b, float *bias)
{
    const struct sizes s = sizes_of(b);
    int64_t n = s.gates * s.hidden, stride = n + (has_state_bias(b) ? s.hidden : 0);
    float *pair = malloc(2 * (size_t)n * sizeof *pair);
    enum vbs_status status = pair ? VBS_OK : vbs_no_memory(b->ctx);

    for (int64_t d = 0; d < s.directions && status == VBS_OK; d++) {
        float *to = bias + d * stride;

        status = vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_BIAS,
                                      2 * d * n, 2 * n, pair);
        for (int64_t i = 0; i < n && status == VBS_OK; i++) {
            int64_t at = place_of(b->l->op, i / s.hidden) * s.hidden + i % s.hidden;
            bool apart = has_state_bias(b) && i / s.hidden == s.gates - 1;

            to[at] = pair[i] + (apart ? 0 : pair[n + i]);
            if (apart)
                to[at + s.hidden] = pair[n + i];
        }
    }
    free(pair);
    return status;
}

/* ---- the primitive ---- */

/* The memory descriptors of a primitive. */
struct descriptors {
    dnnl_memory_desc_t src, dst, input_weights, state_weights, bias;
    dnnl_memory_desc_t first, last; /* states before the sequence, and behind it */
};

/* Describes sequences of n elements of all samples, which lie sample after sample, each with this
 * number of rows. */
static dnnl_status_t describe_sequence(const struct od_build *b, int64_t elements, int64_t n,
                                       int64_t rows, dnnl_memory_desc_t *md)
{
    const dnnl_dims_t dims = {elements, b->batch, n}, strides = {n, rows * n, 1};

    return dnnl_memory_desc_init_by_strides(md, 3, dims, dnnl_f32, strides);
}

/* Describes the states [directions, hidden] of all samples, which lie this number of rows apart. */
static dnnl_status_t describe_state(const struct od_build *b, int64_t rows, dnnl_memory_desc_t *md)
{
    const struct sizes s = sizes_of(b);
    const dnnl_dims_t dims = {1, s.directions, b->batch, s.hidden};
    int64_t row = s.directions * s.hidden;
    const dnnl_dims_t strides = {row * rows * b->batch, s.hidden, row * rows, 1};

    return dnnl_memory_desc_init_by_strides(md, 4, dims, dnnl_f32, strides);
}

static enum vbs_status describe(struct od_build *b, struct descriptors *to)
{
    const struct sizes s = sizes_of(b);
    const dnnl_dims_t input = {1, s.directions, s.input, s.gates, s.hidden};
    const dnnl_dims_t state = {1, s.directions, s.hidden, s.gates, s.hidden};
    const dnnl_dims_t bias = {1, s.directions, s.gates + (has_state_bias(b) ? 1 : 0), s.hidden};
    int64_t rows = b->l->shape.dim[0];
    dnnl_status_t dnnl = describe_sequence(b, s.elements, s.input, s.elements, &to->src);

    if (dnnl == dnnl_success)
        dnnl = describe_sequence(b, s.elements, s.directions * s.hidden, rows, &to->dst);
    if (dnnl == dnnl_success)
        dnnl = describe_state(b, 1, &to->first);
    if (dnnl == dnnl_success)
        dnnl = describe_state(b, rows, &to->last);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_desc_init_by_tag(&to->input_weights, 5, input, dnnl_f32, dnnl_ldigo);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_desc_init_by_tag(&to->state_weights, 5, state, dnnl_f32, dnnl_ldigo);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_desc_init_by_tag(&to->bias, 4, bias, dnnl_f32, dnnl_ldgo);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "describing a recurrent operator");
}

static dnnl_status_t init_desc(const struct od_build *b, const struct descriptors *of,
                               dnnl_rnn_desc_t *desc)
{
    static const dnnl_rnn_direction_t DIRECTIONS[] = {
        [VBS_FORWARD] = dnnl_unidirectional_left2right,
        [VBS_BACKWARD] = dnnl_unidirectional_right2left,
        [VBS_BOTH_WAYS] = dnnl_bidirectional_concat};
    static const dnnl_alg_kind_t FUNCTIONS[] = {[VBS_RNN_TANH] = dnnl_eltwise_tanh,
                                                [VBS_RNN_RELU] = dnnl_eltwise_relu,
                                                [VBS_RNN_SIGMOID] = dnnl_eltwise_logistic};
    const union vbs_attributes *a = &b->l->attributes;
    dnnl_rnn_direction_t direction = DIRECTIONS[a->recurrent.direction];
    const dnnl_memory_desc_t *first = b->l->n_inputs > 1 ? &of->first : NULL;
    const dnnl_memory_desc_t *last = a->recurrent.cells ? &of->last : NULL;

    if (b->l->op == VBS_OP_LSTM)
        return dnnl_lstm_forward_desc_init(desc, dnnl_forward_inference, direction, &of->src, first,
                                           first, &of->input_weights, &of->state_weights, &of->bias,
                                           &of->dst, last, last, 0);
    if (has_state_bias(b))
        return dnnl_lbr_gru_forward_desc_init(desc, dnnl_forward_inference, direction, &of->src,
                                              first, &of->input_weights, &of->state_weights,
                                              &of->bias, &of->dst, NULL, 0);
    if (b->l->op == VBS_OP_GRU)
        return dnnl_gru_forward_desc_init(desc, dnnl_forward_inference, direction, &of->src, first,
                                          &of->input_weights, &of->state_weights, &of->bias,
                                          &of->dst, NULL, 0);
    return dnnl_vanilla_rnn_forward_desc_init(
        desc, dnnl_forward_inference, FUNCTIONS[a->recurrent.function], direction, &of->src, first,
        &of->input_weights, &of->state_weights, &of->bias, &of->dst, NULL, 0, 0, 0);
}

/* Appends the two kinds of weights, which are the kernel's, and the bias to args. */
static enum vbs_status add_parameters(struct od_build *b, const struct descriptors *of,
                                      int64_t *weight_bytes, int *format, int *n_args,
                                      dnnl_exec_arg_t *args)
{
    const struct sizes s = sizes_of(b);
    int64_t n_bias = (int64_t)dnnl_memory_desc_get_size(&of->bias) / (int64_t)sizeof(float);
    int64_t n_input = input_weights(&s), n_state = vbs_shape_elements(&b->l->operand);
    const struct od_memory behind = {.location = OD_WEIGHTS,
                                     .offset = n_input * (int64_t)sizeof(float)};
    float *bias = od_constants(b, n_bias);
    struct od_packed *packed;

    if (!bias)
        return vbs_no_memory(b->ctx);
    VBS_TRY(od_weights_filled(b, n_input + n_state, fill_weights, &packed));
    VBS_TRY(od_kernel_weights(b, packed, 0, 1));
    *weight_bytes = packed->bytes + n_bias * (int64_t)sizeof(float);
    *format = packed->number;
    args[*n_args].arg = DNNL_ARG_WEIGHTS_LAYER;
    VBS_TRY(
        od_kernel_memory(b, &of->input_weights, OD_WEIGHTS, 0, NULL, &args[(*n_args)++].memory));
    args[*n_args].arg = DNNL_ARG_WEIGHTS_ITER;
    VBS_TRY(od_kernel_add(b, &of->state_weights, behind, NULL, &args[(*n_args)++].memory));
    VBS_TRY(fill_bias(b, bias));
    args[*n_args].arg = DNNL_ARG_BIAS;
    return od_kernel_memory(b, &of->bias, OD_FIXED, 0, bias, &args[(*n_args)++].memory);
}

#define MAX_ARGS 9

/* Appends the states before the sequence, which are the other inputs, to args. */
static enum vbs_status add_first(struct od_build *b, const struct descriptors *of, int *n_args,
                                 dnnl_exec_arg_t *args)
{
    static const int ARGS[] = {DNNL_ARG_SRC_LAYER, DNNL_ARG_SRC_ITER, DNNL_ARG_SRC_ITER_C};

    for (int i = 1; i < b->l->n_inputs; i++) {
        args[*n_args].arg = ARGS[i];
        VBS_TRY(od_source(b, i, OD_PLAIN, &of->first, &args[(*n_args)++].memory));
    }
    return VBS_OK;
}

/* Appends the states behind the sequence, which are the last rows of the output, to args. */
static enum vbs_status add_last(struct od_build *b, const struct descriptors *of, int *n_args,
                                dnnl_exec_arg_t *args)
{
    static const int ARGS[] = {DNNL_ARG_DST_ITER, DNNL_ARG_DST_ITER_C};
    const struct sizes s = sizes_of(b);

    for (int i = 0; i < 2 && b->l->attributes.recurrent.cells; i++) {
        const struct od_memory row = {.location = OD_DST,
                                      .offset = (s.elements + i) * s.directions * s.hidden *
                                                (int64_t)sizeof(float)};

        args[*n_args].arg = ARGS[i];
        VBS_TRY(od_kernel_add(b, &of->last, row, NULL, &args[(*n_args)++].memory));
    }
    return VBS_OK;
}

static enum vbs_status build(struct od_build *b, const struct descriptors *of,
                             const_dnnl_primitive_desc_t pd)
{
    dnnl_exec_arg_t args[MAX_ARGS] = {{DNNL_ARG_SRC_LAYER, NULL}, {DNNL_ARG_DST_LAYER, NULL}};
    int n_args = 2, format = 0;
    int64_t weight_bytes = 0;

    VBS_TRY(od_kernel_begin_with(b, pd));
    VBS_TRY(od_source(b, 0, OD_PLAIN, &of->src, &args[0].memory));
    VBS_TRY(od_kernel_memory(b, &of->dst, OD_DST, 0, NULL, &args[1].memory));
    VBS_TRY(add_first(b, of, &n_args, args));
    VBS_TRY(add_last(b, of, &n_args, args));
    VBS_TRY(add_parameters(b, of, &weight_bytes, &format, &n_args, args));
    VBS_TRY(od_kernel_step(b, pd, n_args, args));
    return od_fused_end(b, 0, weight_bytes, format);
}

enum vbs_status od_build_recurrent(struct od_build *b)
{
    int n_fused = 0;
    struct descriptors of;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_rnn_desc_t desc;
    dnnl_status_t dnnl;
    enum vbs_status status;

    VBS_TRY(describe(b, &of));
    dnnl = init_desc(b, &of, &desc);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a recurrent operator");
    status = od_best(b, &desc, 0, &n_fused, &pd);
    if (status == VBS_OK)
        status = build(b, &of, pd);
    dnnl_primitive_desc_destroy(pd);
    return status;
}
