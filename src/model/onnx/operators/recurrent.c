/* RNN, GRU and LSTM. */
#include "base/fail.h"
#include "model/network/network.h"
#include "model/onnx/operators/operators.h"

#include <math.h>
#include <string.h>

#define MOST_SAMPLES 64 /* of a node in a network that mixes samples elsewhere */

/* The inputs of a node. */
enum { SEQUENCE, WEIGHTS, STATE_WEIGHTS, BIAS, LENGTHS, FIRST_STATE, FIRST_MEMORY, PEEPHOLES };

/* What a node computes: its attributes, whether the samples come before the elements, and the
 * tensors that are its first state and memory; null: they are 0. */
struct recurrence {
    union vbs_attributes attributes;
    int64_t directions, gates;
    bool samples_first;
    const struct vbs_onnx_state *first[2];
};

/* What functions have where the file does not say it, by kind: floats, as files have. */
static const struct vbs_cell_function DEFAULTS[] = {
    [VBS_CELL_AFFINE] = {VBS_CELL_AFFINE, 1, 0},
    [VBS_CELL_LEAKY_RELU] = {VBS_CELL_LEAKY_RELU, 0.01f, 0},
    [VBS_CELL_THRESHOLDED_RELU] = {VBS_CELL_THRESHOLDED_RELU, 1, 0},
    [VBS_CELL_SCALED_TANH] = {VBS_CELL_SCALED_TANH, 1, 1},
    [VBS_CELL_HARD_SIGMOID] = {VBS_CELL_HARD_SIGMOID, 0.2f, 0.5f},
    [VBS_CELL_ELU] = {VBS_CELL_ELU, 1, 0},
    [VBS_CELL_SOFTPLUS] = {VBS_CELL_SOFTPLUS, 0, 0}};

/* Reads function number i of all. Those that have an alpha, or a beta, take the next one that the
 * file gives. */
static enum vbs_status read_function(struct vbs_onnx_import *im, int i, int *n_alpha, int *n_beta,
                                     struct vbs_cell_function *f)
{
    static const char *const NAMES[] = {
        "-",          "Tanh",        "Relu", "Sigmoid",  "Affine",   "LeakyRelu", "ThresholdedRelu",
        "ScaledTanh", "HardSigmoid", "Elu",  "Softsign", "Softplus", NULL};
    int kind = vbs_onnx_word_of(im, "activations", i, NAMES), alphas, betas;
    const float *alpha = vbs_onnx_reals(im, "activation_alpha", &alphas);
    const float *beta = vbs_onnx_reals(im, "activation_beta", &betas);

    if (kind < VBS_CELL_TANH)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "activation %d is not known", i);
    *f = DEFAULTS[kind];
    f->kind = (enum vbs_cell_kind)kind;
    if (vbs_cell_has_alpha(f->kind) && (*n_alpha)++ < alphas)
        f->alpha = (double)alpha[*n_alpha - 1];
    if (vbs_cell_has_beta(f->kind) && (*n_beta)++ < betas)
        f->beta = (double)beta[*n_beta - 1];
    return isfinite(f->alpha) && isfinite(f->beta)
               ? VBS_OK
               : vbs_fail(im->ctx, VBS_FORMAT, "an activation has a number that is not finite");
}

/* Makes functions the usual ones where they are. */
static void find_usual(enum vbs_op op, union vbs_attributes *a)
{
    struct vbs_cell_function *f = a->recurrent.functions;
    bool usual = f[0].kind == VBS_CELL_SIGMOID && f[1].kind == VBS_CELL_TANH &&
                 (op == VBS_OP_GRU || f[2].kind == VBS_CELL_TANH);

    if (op == VBS_OP_RNN) {
        usual = f[0].kind <= VBS_CELL_SIGMOID;
        if (usual)
            a->recurrent.function = (enum vbs_rnn_function)(f[0].kind - VBS_CELL_TANH);
    }
    if (usual)
        memset(f, 0, VBS_CELL_FUNCTIONS * sizeof *f);
}

/* Reads the functions of gates, of what is new, and of the memory, the same ones in both
 * directions. */
static enum vbs_status read_functions(struct vbs_onnx_import *im, enum vbs_op op,
                                      struct recurrence *cell)
{
    int each = op == VBS_OP_LSTM ? 3 : op == VBS_OP_GRU ? 2 : 1, n_alpha = 0, n_beta = 0;
    int n = vbs_onnx_n_words(im, "activations");
    struct vbs_cell_function *all = cell->attributes.recurrent.functions, f;

    if (!vbs_onnx_has(im, "activations"))
        return VBS_OK;
    if (n != each * (int)cell->directions)
        return vbs_fail(im->ctx, VBS_FORMAT, "has %d activations, not %d", n,
                        each * (int)cell->directions);
    for (int i = 0; i < n; i++) {
        VBS_TRY(read_function(im, i, &n_alpha, &n_beta, &f));
        if (i < each)
            all[i] = f;
        else if (f.kind != all[i - each].kind || f.alpha != all[i - each].alpha ||
                 f.beta != all[i - each].beta)
            return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its directions have different activations");
    }
    find_usual(op, &cell->attributes);
    return VBS_OK;
}

static enum vbs_status read_cell(struct vbs_onnx_import *im, enum vbs_op op,
                                 struct recurrence *cell)
{
    static const char *const DIRECTIONS[] = {"forward", "reverse", "bidirectional", NULL};
    int direction = vbs_onnx_word(im, "direction", DIRECTIONS, VBS_FORWARD);

    if (direction < 0)
        return im->bad;
    *cell = (struct recurrence){.directions = direction == VBS_BOTH_WAYS ? 2 : 1,
                                .gates = vbs_op_gates(op),
                                .samples_first = vbs_onnx_int(im, "layout", 0) != 0};
    cell->attributes.recurrent.direction = (enum vbs_direction)direction;
    cell->attributes.recurrent.reset_after = vbs_onnx_int(im, "linear_before_reset", 0) != 0;
    if (vbs_onnx_has(im, "clip") || vbs_onnx_int(im, "input_forget", 0) != 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "attribute '%s' is not supported",
                        vbs_onnx_has(im, "clip") ? "clip" : "input_forget");
    return read_functions(im, op, cell);
}

/* Reads a constant of this shape. */
static enum vbs_status shaped_constant(struct vbs_onnx_import *im, int index,
                                       struct vbs_shape shape, struct vbs_onnx_constant **constant)
{
    char have[64], want[64];

    VBS_TRY(vbs_onnx_constant_in(im, index, constant));
    if (vbs_shape_equal(&(*constant)->shape, &shape))
        return VBS_OK;
    return vbs_fail(im->ctx, VBS_FORMAT, "input %d has shape %s, not %s", index,
                    vbs_onnx_shape_text(&(*constant)->shape, have, sizeof have),
                    vbs_onnx_shape_text(&shape, want, sizeof want));
}

/* Fails unless an optional input is a constant all of whose values are `value`. */
static enum vbs_status check_fill(struct vbs_onnx_import *im, int index, double value,
                                  const char *why)
{
    const struct vbs_onnx_number *numbers;
    struct vbs_onnx_constant *constant;

    if (!vbs_onnx_in(im, index))
        return VBS_OK;
    VBS_TRY(vbs_onnx_constant_in(im, index, &constant));
    VBS_TRY(vbs_onnx_numbers(im, constant, &numbers));
    for (int64_t i = 0; i < vbs_shape_elements(&constant->shape); i++)
        if (numbers[i].batch || (double)numbers[i].value != value)
            return vbs_fail(im->ctx, VBS_UNSUPPORTED, "%s", why);
    return VBS_OK;
}

/* Fails unless the lengths of the sequences, where there are any, are all that of the input. */
static enum vbs_status check_lengths(struct vbs_onnx_import *im, int64_t elements)
{
    const struct vbs_onnx_number *numbers;
    struct vbs_onnx_constant *lengths;

    if (!vbs_onnx_in(im, LENGTHS))
        return VBS_OK;
    VBS_TRY(vbs_onnx_constant_in(im, LENGTHS, &lengths));
    VBS_TRY(vbs_onnx_numbers(im, lengths, &numbers));
    for (int64_t i = 0; i < vbs_shape_elements(&lengths->shape); i++)
        if (numbers[i].batch || vbs_onnx_clamp(numbers[i].value) != elements)
            return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                            "the length of a sequence is %lld; it is to be that of the input, %lld",
                            (long long)vbs_onnx_clamp(numbers[i].value), (long long)elements);
    return VBS_OK;
}

/* Checks that the input is a sequence; *view is that of one sample, [elements, values], and
 * *samples how many there are: more than 1 only where other nodes mix them. */
static enum vbs_status read_sequence(struct vbs_onnx_import *im, const struct recurrence *cell,
                                     const struct vbs_onnx_state *x, struct vbs_shape *view,
                                     int64_t *samples)
{
    int at = cell->samples_first ? 0 : 1;

    if (vbs_onnx_rank(im, x) != 3)
        return vbs_fail(im->ctx, VBS_FORMAT, "its input has %d dimensions, not 3",
                        vbs_onnx_rank(im, x));
    if (im->batch && im->at != at)
        return vbs_onnx_mixes(im);
    *samples = im->batch ? 1 : x->shape.dim[at];
    *view = im->batch ? x->shape : (struct vbs_shape){2, {x->shape.dim[1 - at], x->shape.dim[2]}};
    return *samples <= MOST_SAMPLES
               ? VBS_OK
               : vbs_fail(im->ctx, VBS_UNSUPPORTED,
                          "has %lld samples in dimension %d, which other nodes mix",
                          (long long)*samples, at);
}

static enum vbs_status add_parameters(struct vbs_onnx_import *im, const struct recurrence *cell,
                                      const struct vbs_shape *view, struct vbs_onnx_draft *draft)
{
    int64_t rows = cell->gates * cell->attributes.recurrent.hidden, n = cell->directions;
    const struct vbs_shape state = {3, {n, rows, cell->attributes.recurrent.hidden}};
    struct vbs_onnx_constant *constant;

    VBS_TRY(
        shaped_constant(im, WEIGHTS, (struct vbs_shape){3, {n, rows, view->dim[1]}}, &constant));
    VBS_TRY(vbs_onnx_weights(im, constant, 0, &draft->node.values[VBS_PARAMETER_WEIGHTS]));
    VBS_TRY(shaped_constant(im, STATE_WEIGHTS, state, &constant));
    draft->node.operand = state;
    VBS_TRY(vbs_onnx_weights(im, constant, 0, &draft->node.values[VBS_PARAMETER_OPERAND]));
    if (draft->node.attributes.recurrent.bias) {
        VBS_TRY(shaped_constant(im, BIAS, (struct vbs_shape){2, {n, 2 * rows}}, &constant));
        VBS_TRY(vbs_onnx_added(im, constant, 0, &draft->node.values[VBS_PARAMETER_BIAS]));
    }
    if (!draft->node.attributes.recurrent.peepholes)
        return VBS_OK;
    VBS_TRY(shaped_constant(im, PEEPHOLES,
                            (struct vbs_shape){2, {n, 3 * cell->attributes.recurrent.hidden}},
                            &constant));
    return vbs_onnx_weights(im, constant, 0, &draft->node.values[VBS_PARAMETER_GAMMA]);
}

/* Gives the shape in the file of the states of all directions, of all elements or of the last one
 * (elements 0). */
static struct vbs_shape states_shape(struct vbs_onnx_import *im, const struct recurrence *cell,
                                     int64_t elements, int64_t samples)
{
    struct vbs_shape shape = {.n_dims = 0};
    int at = cell->samples_first ? 0 : elements > 0 ? 2 : 1;

    if (!im->batch && at == 0)
        shape.dim[shape.n_dims++] = samples;
    if (elements > 0)
        shape.dim[shape.n_dims++] = elements;
    shape.dim[shape.n_dims++] = cell->directions;
    if (!im->batch && at > 0)
        shape.dim[shape.n_dims++] = samples;
    shape.dim[shape.n_dims++] = cell->attributes.recurrent.hidden;
    im->at_out = at;
    return shape;
}

/* Takes sample number `sample` of a tensor of the file, which has the samples in dimension at. */
static enum vbs_status take_sample(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                   int at, int64_t sample, struct vbs_onnx_tensor **own)
{
    union vbs_attributes range = {.slice = {.step = {1, 1, 1}}};

    memcpy(range.slice.count, state->shape.dim, 3 * sizeof range.slice.count[0]);
    range.slice.begin[at] = sample;
    range.slice.count[at] = 1;
    return vbs_onnx_apply(im, VBS_OP_SLICE, &range, state->tensor, &state->shape, own);
}

/* Makes the first state of a sample, or its memory where which is 1: zeros where only the other one
 * is given. */
static enum vbs_status read_first(struct vbs_onnx_import *im, const struct recurrence *cell,
                                  int which, int64_t n_samples, int64_t sample,
                                  struct vbs_onnx_draft *draft)
{
    const struct vbs_onnx_state *given = cell->first[which], *state;
    const struct vbs_shape view = {2, {cell->directions, cell->attributes.recurrent.hidden}};
    struct vbs_onnx_tensor *own;

    state = given ? given : cell->first[1 - which];
    own = state->tensor;
    if (n_samples > 1)
        VBS_TRY(take_sample(im, state, cell->samples_first ? 0 : 1, sample, &own));
    if (!given)
        VBS_TRY(vbs_onnx_apply(im, VBS_OP_LINEAR, NULL, own, NULL, &own)); /* 0 x + 0 */
    vbs_onnx_reads(draft, 1 + which, own, &view);
    return VBS_OK;
}

/* Gives the states [elements, directions x hidden] of sample number `sample`. */
static enum vbs_status run_sample(struct vbs_onnx_import *im, const struct recurrence *cell,
                                  const struct vbs_onnx_draft *like, int64_t n_samples,
                                  int64_t sample, struct vbs_onnx_tensor **states)
{
    const struct vbs_onnx_state *x = vbs_onnx_in(im, SEQUENCE);
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, like->node.op, like->n_inputs);
    struct vbs_onnx_tensor *own = x->tensor;

    if (!draft)
        return vbs_no_memory(im->ctx);
    draft->node = like->node;
    /* vbslab writes the name of the layer */
    if (vbs_onnx_belongs(im, like->node.op))
        draft->name = im->node->label;
    if (n_samples > 1)
        VBS_TRY(take_sample(im, x, cell->samples_first ? 0 : 1, sample, &own));
    vbs_onnx_reads(draft, 0, own, &like->views[0]);
    for (int i = 1; i < like->n_inputs; i++)
        VBS_TRY(read_first(im, cell, i - 1, n_samples, sample, draft));
    return vbs_onnx_tensor_new(im, draft, states);
}

/* Gives the elements of the sequence whose states these are. */
static int64_t elements_of(const struct recurrence *cell, const struct vbs_onnx_tensor *states)
{
    return states->shape.dim[0] - (cell->attributes.recurrent.cells ? 2 : 0);
}

/* Takes n values of a row of states. */
static enum vbs_status take_values(struct vbs_onnx_import *im, struct vbs_onnx_tensor *states,
                                   int64_t row, int64_t first, int64_t n,
                                   struct vbs_onnx_tensor **values)
{
    const union vbs_attributes range = {
        .slice = {.begin = {row, first}, .step = {1, 1}, .count = {1, n}}};

    return vbs_onnx_apply(im, VBS_OP_SLICE, &range, states, NULL, values);
}

/* Takes the state of one direction behind its last element, or its memory. */
static enum vbs_status last_state(struct vbs_onnx_import *im, const struct recurrence *cell,
                                  struct vbs_onnx_tensor *states, int64_t direction, bool memory,
                                  struct vbs_onnx_tensor **last)
{
    bool backward = direction == 1 || cell->attributes.recurrent.direction == VBS_BACKWARD;
    int64_t hidden = cell->attributes.recurrent.hidden, n = elements_of(cell, states);
    int64_t row = cell->attributes.recurrent.cells ? n + memory : backward ? 0 : n - 1;

    return take_values(im, states, row, direction * hidden, hidden, last);
}

/* Makes output 1, the last states of all directions and samples, or (memory) output 2, the last
 * memories. */
static enum vbs_status give_last(struct vbs_onnx_import *im, const struct recurrence *cell,
                                 struct vbs_onnx_tensor *const *states, int64_t n_samples,
                                 bool memory)
{
    int64_t n = cell->directions * n_samples, row = elements_of(cell, states[0]) + memory;
    struct vbs_onnx_draft *joined = vbs_onnx_draft(im, VBS_OP_CONCAT, (int)n);
    struct vbs_shape shape = states_shape(im, cell, 0, n_samples);
    struct vbs_onnx_tensor *last = NULL;

    if (!joined)
        return vbs_no_memory(im->ctx);
    if (cell->attributes.recurrent.cells && n_samples == 1) { /* one row has all of them */
        VBS_TRY(take_values(im, states[0], row, 0, states[0]->shape.dim[1], &last));
        return vbs_onnx_give(im, 1 + memory, last, &shape);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t sample = cell->samples_first ? i / cell->directions : i % n_samples;
        int64_t direction = cell->samples_first ? i % cell->directions : i / n_samples;

        VBS_TRY(last_state(im, cell, states[sample], direction, memory, &last));
        vbs_onnx_reads(joined, (int)i, last, NULL);
    }
    if (n > 1)
        VBS_TRY(vbs_onnx_tensor_new(im, joined, &last));
    return vbs_onnx_give(im, 1 + memory, last, &shape);
}

/* Takes the first n rows of states. */
static enum vbs_status take_rows(struct vbs_onnx_import *im, struct vbs_onnx_tensor *states,
                                 int64_t n, struct vbs_onnx_tensor **rows)
{
    const union vbs_attributes range = {
        .slice = {.step = {1, 1}, .count = {n, states->shape.dim[1]}}};

    return vbs_onnx_apply(im, VBS_OP_SLICE, &range, states, NULL, rows);
}

/* Makes output 0, the states of all elements, directions and samples. */
static enum vbs_status give_all(struct vbs_onnx_import *im, const struct recurrence *cell,
                                struct vbs_onnx_tensor *const *states, int64_t n_samples)
{
    struct vbs_onnx_draft *joined = vbs_onnx_draft(im, VBS_OP_CONCAT, (int)n_samples);
    int64_t n = elements_of(cell, states[0]);
    struct vbs_shape shape = states_shape(im, cell, n, n_samples);
    struct vbs_shape one = states_shape(im, cell, n, 1);
    struct vbs_onnx_tensor *all = states[0];

    if (!joined)
        return vbs_no_memory(im->ctx);
    for (int i = 0; i < (int)n_samples; i++) {
        all = states[i];
        if (cell->attributes.recurrent.cells)
            VBS_TRY(take_rows(im, all, n, &all));
        vbs_onnx_reads(joined, i, all, &one);
    }
    joined->node.attributes.concat.axis = cell->samples_first ? 0 : 2;
    if (n_samples > 1)
        VBS_TRY(vbs_onnx_tensor_new(im, joined, &all));
    return vbs_onnx_give(im, 0, all, &shape);
}

/* Reads a first state, or memory: a tensor of one for each direction and sample, or zeros. */
static enum vbs_status find_first(struct vbs_onnx_import *im, const struct recurrence *cell,
                                  int index, int64_t n_samples, const struct vbs_onnx_state **first)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, index);
    struct vbs_shape want = {.n_dims = 0};
    char have[64], needed[64];

    if (!state || !state->tensor)
        return check_fill(im, index, 0, "begins with a state that is a constant other than 0");
    if (!im->batch && cell->samples_first)
        want.dim[want.n_dims++] = n_samples;
    want.dim[want.n_dims++] = cell->directions;
    if (!im->batch && !cell->samples_first)
        want.dim[want.n_dims++] = n_samples;
    want.dim[want.n_dims++] = cell->attributes.recurrent.hidden;
    if (!vbs_shape_equal(&state->shape, &want))
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d has shape %s, not %s", index,
                        vbs_onnx_shape_text(&state->shape, have, sizeof have),
                        vbs_onnx_shape_text(&want, needed, sizeof needed));
    *first = state;
    return VBS_OK;
}

/* Finds whether gates read the memory: peepholes of zeros are none. */
static enum vbs_status find_peepholes(struct vbs_onnx_import *im, struct recurrence *cell)
{
    const struct vbs_onnx_number *numbers;
    struct vbs_onnx_constant *peepholes;

    if (!vbs_onnx_in(im, PEEPHOLES))
        return VBS_OK;
    VBS_TRY(vbs_onnx_numbers_in(im, PEEPHOLES, &peepholes, &numbers));
    for (int64_t i = 0; i < vbs_shape_elements(&peepholes->shape); i++)
        cell->attributes.recurrent.peepholes |= numbers[i].value != 0;
    return VBS_OK;
}

/* Checks the optional inputs: sequences of one length; and finds the first states. */
static enum vbs_status read_options(struct vbs_onnx_import *im, enum vbs_op op, int64_t elements,
                                    int64_t n_samples, struct recurrence *cell)
{
    VBS_TRY(check_lengths(im, elements));
    VBS_TRY(find_first(im, cell, FIRST_STATE, n_samples, &cell->first[0]));
    if (op != VBS_OP_LSTM)
        return VBS_OK;
    VBS_TRY(find_first(im, cell, FIRST_MEMORY, n_samples, &cell->first[1]));
    cell->attributes.recurrent.cells = vbs_onnx_output_used(im, 2);
    return find_peepholes(im, cell);
}

/* Makes the outputs that are used. */
static enum vbs_status give_outputs(struct vbs_onnx_import *im, const struct recurrence *cell,
                                    struct vbs_onnx_tensor *const *states, int64_t n_samples)
{
    if (vbs_onnx_output_used(im, 1))
        VBS_TRY(give_last(im, cell, states, n_samples, false));
    if (cell->attributes.recurrent.cells)
        VBS_TRY(give_last(im, cell, states, n_samples, true));
    return give_all(im, cell, states, n_samples);
}

VBS_ONNX_HANDLER(recurrent)
{
    enum vbs_op op = (enum vbs_op) operator->op;
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, op, 3);
    struct vbs_onnx_tensor *states[MOST_SAMPLES];
    struct vbs_onnx_constant *state_weights;
    const struct vbs_onnx_state *x;
    int64_t n_samples = 1;
    struct vbs_shape view;
    struct recurrence cell;

    if (!draft)
        return vbs_no_memory(im->ctx);
    VBS_TRY(vbs_onnx_tensor_in(im, SEQUENCE, &x));
    VBS_TRY(read_cell(im, op, &cell));
    VBS_TRY(read_sequence(im, &cell, x, &view, &n_samples));
    VBS_TRY(vbs_onnx_constant_in(im, STATE_WEIGHTS, &state_weights));
    cell.attributes.recurrent.hidden =
        state_weights->shape.n_dims == 3 ? state_weights->shape.dim[2] : 0;
    cell.attributes.recurrent.bias = vbs_onnx_in(im, BIAS) != NULL;
    VBS_TRY(read_options(im, op, view.dim[0], n_samples, &cell));
    draft->n_inputs = !cell.first[0] && !cell.first[1] ? 1 : op == VBS_OP_LSTM ? 3 : 2;
    draft->node.attributes = cell.attributes;
    VBS_TRY(add_parameters(im, &cell, &view, draft));
    draft->views[0] = view;
    for (int64_t i = 0; i < n_samples; i++)
        VBS_TRY(run_sample(im, &cell, draft, n_samples, i, &states[i]));
    return give_outputs(im, &cell, states, n_samples);
}
