#include "model/onnx/import/import.h"

#include "base/fail.h"
#include "base/utf8.h"
#include "model/network/network.h"

#include <stdio.h>
#include <string.h>

#define MAX_DEPTH    8   /* of drafts that read other drafts */
#define LONGEST_BASE 200 /* bytes of a name before a suffix is added to it */

/* ---- inputs and outputs ---- */

const struct vbs_onnx_state *vbs_onnx_in(const struct vbs_onnx_import *im, int index)
{
    if (index >= im->node->n_inputs || im->node->inputs[index] < 0)
        return NULL;
    return &im->states[im->node->inputs[index]];
}

bool vbs_onnx_output_used(const struct vbs_onnx_import *im, int index)
{
    return index < im->node->n_outputs && im->node->outputs[index] >= 0 &&
           im->graph->values[im->node->outputs[index]].n_uses > 0;
}

enum vbs_status vbs_onnx_tensor_in(struct vbs_onnx_import *im, int index,
                                   const struct vbs_onnx_state **state)
{
    *state = vbs_onnx_in(im, index);
    if (!*state)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d is missing", index);
    if (!(*state)->tensor)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "input %d is a constant", index);
    return VBS_OK;
}

enum vbs_status vbs_onnx_constant_in(struct vbs_onnx_import *im, int index,
                                     struct vbs_onnx_constant **constant)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, index);

    if (!state)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d is missing", index);
    *constant = state->constant;
    if (!state->constant)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "input %d depends on the network's input; it is to be a constant", index);
    return VBS_OK;
}

enum vbs_status vbs_onnx_give(struct vbs_onnx_import *im, int index, struct vbs_onnx_tensor *tensor,
                              const struct vbs_shape *shape)
{
    struct vbs_onnx_state *state;

    if (index >= im->node->n_outputs || im->node->outputs[index] < 0)
        return VBS_OK;
    if (vbs_shape_elements(shape) != vbs_shape_elements(&tensor->shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output has another number of elements");
    state = &im->states[im->node->outputs[index]];
    *state = (struct vbs_onnx_state){.tensor = tensor,
                                     .shape = *shape,
                                     .at = im->at_out,
                                     .outer = im->outer_out,
                                     .shared = im->shared};
    if (tensor->draft && tensor->draft->from == im->node && !tensor->draft->name)
        tensor->draft->name =
            index == 0 ? im->node->label : im->graph->values[im->node->outputs[index]].name;
    return VBS_OK;
}

void vbs_onnx_give_constant(struct vbs_onnx_import *im, int index,
                            struct vbs_onnx_constant *constant)
{
    if (index < im->node->n_outputs && im->node->outputs[index] >= 0)
        im->states[im->node->outputs[index]] = (struct vbs_onnx_state){.constant = constant};
}

/* ---- dimensions ---- */

enum vbs_status vbs_onnx_mixes(struct vbs_onnx_import *im)
{
    im->mixed = true;
    return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                    "works along dimension %d, the batch, or depends on its size", im->at);
}

enum vbs_status vbs_onnx_counts(struct vbs_onnx_import *im)
{
    im->mixed = true;
    return vbs_fail(im->ctx, VBS_UNSUPPORTED, "depends on the number of samples");
}

enum vbs_status vbs_onnx_constant_axis(struct vbs_onnx_import *im, int64_t axis, int rank, int *dim)
{
    if (axis < -rank || axis >= rank)
        return vbs_fail(im->ctx, VBS_FORMAT, "there is no dimension %lld among %d", (long long)axis,
                        rank);
    *dim = (int)(axis < 0 ? axis + rank : axis);
    return VBS_OK;
}

enum vbs_status vbs_onnx_axis(struct vbs_onnx_import *im, int64_t axis, int rank, int *dim)
{
    VBS_TRY(vbs_onnx_constant_axis(im, axis, rank, dim));
    if (im->batch && *dim == im->at)
        return vbs_onnx_mixes(im);
    *dim -= vbs_onnx_is_apart(im) && *dim > im->at;
    return VBS_OK;
}

bool vbs_onnx_is_apart(const struct vbs_onnx_import *im)
{
    return im->batch && im->outer == 0;
}

int vbs_onnx_file_dim(const struct vbs_onnx_import *im, int dim)
{
    return dim + (vbs_onnx_is_apart(im) && dim >= im->at);
}

int vbs_onnx_rank(const struct vbs_onnx_import *im, const struct vbs_onnx_state *state)
{
    return state->shape.n_dims + (im->batch && state->outer == 0);
}

struct vbs_shape vbs_onnx_shape(const struct vbs_onnx_state *state)
{
    if (state->shape.n_dims == 0)
        return (struct vbs_shape){.n_dims = 1, .dim = {1}};
    return state->shape;
}

enum vbs_status vbs_onnx_channels(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                  struct vbs_shape *view)
{
    *view = state->shape;
    if (!im->batch && view->n_dims > 0) {
        if (view->dim[0] != 1)
            return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                            "has %lld samples in dimension 0, which other nodes mix",
                            (long long)view->dim[0]);
        vbs_shape_drop(view, 0);
    }
    if (view->n_dims == 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "its input has no channels");
    return VBS_OK;
}

struct vbs_shape vbs_onnx_unchannels(const struct vbs_onnx_import *im,
                                     const struct vbs_shape *shape)
{
    struct vbs_shape whole = {.n_dims = shape->n_dims + 1, .dim = {1}};

    if (im->batch || shape->n_dims == VBS_MAX_DIMS)
        return *shape;
    memcpy(whole.dim + 1, shape->dim, (size_t)shape->n_dims * sizeof shape->dim[0]);
    return whole;
}

static int leading_ones(const struct vbs_shape *shape)
{
    int n = 0;

    while (n < shape->n_dims && shape->dim[n] == 1)
        n++;
    return n;
}

bool vbs_onnx_same_but_ones(const struct vbs_shape *a, const struct vbs_shape *b)
{
    int i = leading_ones(a), k = leading_ones(b);

    if (a->n_dims - i != b->n_dims - k)
        return false;
    for (; i < a->n_dims; i++, k++)
        if (a->dim[i] != b->dim[k])
            return false;
    return true;
}

struct vbs_shape vbs_onnx_view(const struct vbs_onnx_state *state, int axis, int *shift)
{
    const struct vbs_shape *own = &state->tensor->shape;
    int differ = own->n_dims - state->shape.n_dims;

    *shift = 0;
    if (!vbs_onnx_same_but_ones(own, &state->shape) || axis + differ < 0)
        return vbs_onnx_shape(state);
    *shift = differ;
    return *own;
}

/* ---- drafts ---- */

struct vbs_onnx_draft *vbs_onnx_draft(struct vbs_onnx_import *im, enum vbs_op op, int n_inputs)
{
    struct vbs_onnx_draft *draft = vbs_arena_alloc(im->arena, 1, sizeof *draft);

    if (!draft)
        return NULL;
    *draft = (struct vbs_onnx_draft){
        .node = {.op = op},
        .n_inputs = n_inputs,
        .inputs = vbs_arena_alloc(im->arena, (size_t)n_inputs, sizeof(struct vbs_onnx_tensor *)),
        .views = vbs_arena_alloc(im->arena, (size_t)n_inputs, sizeof *draft->views),
        .from = im->node,
    };
    return draft->inputs && draft->views ? draft : NULL;
}

struct vbs_onnx_draft *vbs_onnx_again(struct vbs_onnx_import *im,
                                      const struct vbs_onnx_draft *draft)
{
    struct vbs_onnx_draft *made = vbs_onnx_draft(im, draft->node.op, draft->n_inputs);

    if (!made)
        return NULL;
    made->node = draft->node;
    made->from = draft->from;
    made->name = draft->name;
    for (int i = 0; i < draft->n_inputs; i++)
        vbs_onnx_reads(made, i, draft->inputs[i], &draft->views[i]);
    return made;
}

void vbs_onnx_reads(struct vbs_onnx_draft *draft, int index, struct vbs_onnx_tensor *tensor,
                    const struct vbs_shape *view)
{
    draft->inputs[index] = tensor;
    draft->views[index] = view ? *view : tensor->shape;
}

enum vbs_status vbs_onnx_tensor_new(struct vbs_onnx_import *im, struct vbs_onnx_draft *draft,
                                    struct vbs_onnx_tensor **tensor)
{
    struct vbs_onnx_tensor *made = vbs_arena_alloc(im->arena, 1, sizeof *made);
    struct vbs_node *node = &draft->node;
    const struct vbs_operation operation = {.op = node->op,
                                            .n_inputs = draft->n_inputs,
                                            .inputs = draft->views,
                                            .operand = &node->operand,
                                            .round_up = node->round_up};

    if (!made)
        return vbs_no_memory(im->ctx);
    made->id = -1;
    made->draft = draft;
    for (int i = 0; i < draft->n_inputs; i++) {
        struct vbs_onnx_tensor *input = draft->inputs[i];

        if (!vbs_shape_valid(&draft->views[i]) ||
            vbs_shape_elements(&draft->views[i]) != vbs_shape_elements(&input->shape))
            return vbs_fail(im->ctx, VBS_FORMAT, "input has another number of elements than asked");
        /* One node may make thousands of operators, each of which reads the one before it: adding
         * the last of them adds all others, as deep as they are. */
        if (input->id < 0 && input->draft->depth >= MAX_DEPTH)
            VBS_TRY(vbs_onnx_add(im, input));
        if (input->id < 0 && input->draft->depth >= draft->depth)
            draft->depth = input->draft->depth + 1;
    }
    VBS_TRY(vbs_operation_shape(im->ctx, &operation, &node->attributes, &made->shape));
    *tensor = made;
    return VBS_OK;
}

enum vbs_status vbs_onnx_apply(struct vbs_onnx_import *im, enum vbs_op op,
                               const union vbs_attributes *attributes,
                               struct vbs_onnx_tensor *input, const struct vbs_shape *view,
                               struct vbs_onnx_tensor **output)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, op, 1);

    if (!draft)
        return vbs_no_memory(im->ctx);
    vbs_onnx_reads(draft, 0, input, view);
    if (attributes)
        draft->node.attributes = *attributes;
    return vbs_onnx_tensor_new(im, draft, output);
}

bool vbs_onnx_has_bias(const struct vbs_node *node)
{
    return node->op == VBS_OP_SCALE ? node->attributes.scale.bias : node->attributes.weighted.bias;
}

struct vbs_onnx_draft *vbs_onnx_pending(const struct vbs_onnx_tensor *tensor, enum vbs_op op)
{
    /* a draft of no node is an input, which is copied as a whole */
    bool pending = tensor->id < 0 && tensor->draft->from;

    return pending && tensor->draft->node.op == op ? tensor->draft : NULL;
}

/* ---- names ---- */

char *vbs_onnx_clean(const char *text, char *buffer, size_t size)
{
    size_t at = 0;

    while (*text) {
        char shown[VBS_UTF8_SHOWN];
        int length = vbs_utf8_show(text, shown);
        bool harmless = (int)strlen(shown) == length && memcmp(shown, text, (size_t)length) == 0;

        if (at + (size_t)length >= size)
            break;
        if (harmless)
            memcpy(buffer + at, text, (size_t)length);
        else
            memset(buffer + at, '_', (size_t)length);
        at += (size_t)length;
        text += length;
    }
    buffer[at] = '\0';
    return buffer;
}

/* Makes a name for draft that no layer has yet. */
static void unique_name(const struct vbs_onnx_import *im, const struct vbs_onnx_draft *draft,
                        char name[VBS_MAX_NAME])
{
    char base[VBS_MAX_NAME];
    int n = 1;

    vbs_onnx_clean(draft->name ? draft->name : draft->from->label, base, LONGEST_BASE);
    if (draft->name && base[0])
        strcpy(name, base);
    else
        snprintf(name, VBS_MAX_NAME, "%.*s%s%s", LONGEST_BASE, base, base[0] ? "." : "",
                 vbs_op_word(draft->node.op));
    strcpy(base, name);
    /* Suffixes begin at the number of layers so far: most suffixes that were given before are
     * smaller. */
    for (; vbs_builder_find(im->builder, name) >= 0; n++)
        snprintf(name, VBS_MAX_NAME, "%.230s.%d", base, vbs_builder_count(im->builder) + n);
}

/* ---- adding to the builder ---- */

static enum vbs_status add_draft(struct vbs_onnx_import *im, struct vbs_onnx_tensor *tensor);

/* Adds the operator that is input index of draft. Where an earlier input is the same operator, a
 * copy of it is added instead. */
static enum vbs_status add_input(struct vbs_onnx_import *im, struct vbs_onnx_draft *draft,
                                 int index, int *inputs)
{
    struct vbs_onnx_tensor *input = draft->inputs[index], *twin;
    enum vbs_status status = vbs_onnx_add(im, input);
    struct vbs_onnx_draft *copy;
    bool taken = false;

    inputs[index] = input->id;
    for (int i = 0; i < index; i++)
        taken |= inputs[i] == input->id;
    if (status != VBS_OK || !taken)
        return status;
    copy = vbs_onnx_draft(im, VBS_OP_IDENTITY, 1);
    if (!copy)
        return vbs_no_memory(im->ctx);
    copy->from = draft->from;
    vbs_onnx_reads(copy, 0, input, NULL);
    VBS_TRY(vbs_onnx_tensor_new(im, copy, &twin));
    VBS_TRY(add_draft(im, twin));
    inputs[index] = twin->id;
    return VBS_OK;
}

static enum vbs_status add_draft(struct vbs_onnx_import *im, struct vbs_onnx_tensor *tensor)
{
    struct vbs_onnx_draft *draft = tensor->draft;
    int *inputs = vbs_arena_alloc(im->arena, (size_t)draft->n_inputs, sizeof *inputs);
    struct vbs_node node = draft->node;
    char name[VBS_MAX_NAME];
    enum vbs_status status;

    if (!inputs)
        return vbs_no_memory(im->ctx);
    for (int i = 0; i < draft->n_inputs; i++)
        VBS_TRY(add_input(im, draft, i, inputs));
    unique_name(im, draft, name);
    node.name = name;
    node.n_inputs = draft->n_inputs;
    node.inputs = inputs;
    node.views = draft->views;
    status = vbs_builder_add(im->ctx, im->builder, &node);
    if (status != VBS_OK)
        return draft->from == im->node || !draft->from
                   ? status
                   : vbs_onnx_within_node(im->ctx, status, draft->from);
    tensor->id = vbs_builder_count(im->builder);
    return VBS_OK;
}

enum vbs_status vbs_onnx_add(struct vbs_onnx_import *im, struct vbs_onnx_tensor *tensor)
{
    return tensor->id >= 0 ? VBS_OK : add_draft(im, tensor);
}

/* ---- the run through the graph ---- */

static bool is_among(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

/* Gives whether reader may absorb an operator such as this draft. */
static bool may_absorb(const struct vbs_onnx_draft *draft, const char *reader)
{
    static const char *const ADD[] = {"Add", NULL}, *const CONV[] = {"Conv", NULL};
    static const char *const MUL[] = {"Mul", NULL}, *const TANH[] = {"Tanh", NULL};
    static const char *const DIV[] = {"Div", NULL};
    static const char *const SLICE[] = {"Slice", NULL};
    static const char *const TRANSPOSE[] = {"Transpose", "Conv", NULL};
    static const char *const LINEAR[] = {"Add", "Sub", "Mul", "Div", "Erf", "Clip", NULL};

    switch (draft->node.op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
    case VBS_OP_FC:
    case VBS_OP_SCALE:
        return !vbs_onnx_has_bias(&draft->node) && is_among(reader, ADD);
    case VBS_OP_PAD:
        return is_among(reader, CONV);
    case VBS_OP_SIGMOID:
    case VBS_OP_HARD_SIGMOID:
    case VBS_OP_TANH:
        return is_among(reader, MUL);
    case VBS_OP_CLIP:
        return is_among(reader, MUL) || is_among(reader, DIV);
    case VBS_OP_TRANSPOSE:
        return is_among(reader, TRANSPOSE);
    case VBS_OP_SLICE:
        return is_among(reader, SLICE);
    case VBS_OP_SOFTPLUS:
        return is_among(reader, TANH);
    case VBS_OP_ERF:
        return is_among(reader, ADD);
    case VBS_OP_LINEAR:
        return is_among(reader, LINEAR);
    default:
        return false;
    }
}

/* Adds the layers that the node has made, except those that their only reader may absorb. */
static enum vbs_status settle(struct vbs_onnx_import *im)
{
    const struct vbs_onnx_graph *graph = im->graph;

    for (int i = 0; i < im->node->n_outputs; i++) {
        const struct vbs_onnx_value *value;
        struct vbs_onnx_tensor *tensor;

        if (im->node->outputs[i] < 0)
            continue;
        value = &graph->values[im->node->outputs[i]];
        tensor = im->states[im->node->outputs[i]].tensor;
        if (!tensor || tensor->id >= 0 || value->n_uses == 0)
            continue;
        /* A part of the input that the node reshapes becomes a layer when another one reads it. */
        if (!tensor->draft->from)
            continue;
        if (value->n_uses == 1 && value->reader && tensor->draft->depth < MAX_DEPTH &&
            (!vbs_onnx_is_hinted(im->node) || vbs_onnx_is_part(im->node)) &&
            may_absorb(tensor->draft, value->reader->op))
            continue;
        VBS_TRY(vbs_onnx_add(im, tensor));
    }
    return VBS_OK;
}

/* Finds the dimension of the samples in the node's tensors. Where it is not 0 in all of them, it
 * must be the same one, counted from the end as in broadcasting, of an operator that knows it. */
static enum vbs_status find_batch(struct vbs_onnx_import *im)
{
    const struct vbs_onnx_state *first = NULL;
    bool differ = false, chooses = im->node->operator->traits & VBS_ONNX_CHOOSES;

    im->at = 0;
    im->outer = 0;
    for (int i = 0; im->batch && i < im->node->n_inputs; i++) {
        const struct vbs_onnx_state *state = vbs_onnx_in(im, i);

        if (!state || !state->tensor)
            continue;
        if (chooses && (first || state->shared))
            continue;
        first = first ? first : state;
        differ |= state->outer != first->outer ||
                  first->shape.n_dims - first->at != state->shape.n_dims - state->at;
        im->at = state->at > im->at ? state->at : im->at;
        im->outer = state->outer > im->outer ? state->outer : im->outer;
    }
    im->at_out = im->at;
    im->outer_out = im->outer;
    if (im->at == 0 && im->outer == 0)
        return VBS_OK;
    differ |= !(im->node->operator->traits &(im->outer > 0 ? VBS_ONNX_FOLDED : VBS_ONNX_APART));
    return differ ? vbs_onnx_mixes(im) : VBS_OK;
}

/* ---- tensors that all samples share ---- */

/* Gives whether an operator combines its inputs as numpy broadcasts them. */
static bool broadcasts(const char *op)
{
    static const char *const WORDS[] = {
        "Add", "Sub",  "Mul",   "Div",  "Pow",     "Max",         "Min",
        "Sum", "Mean", "PRelu", "Mod",  "MatMul",  "Where",       "Equal",
        "And", "Or",   "Xor",   "Less", "Greater", "LessOrEqual", "GreaterOrEqual",
        NULL};

    return is_among(op, WORDS);
}

/* Gives a state that all samples share the form of one that each sample has: in the file it gets
 * `rank` dimensions, of which dimension at is 1 and counts the samples. */
static enum vbs_status adapt_shared(struct vbs_onnx_import *im, int rank, int at,
                                    struct vbs_onnx_state *state)
{
    struct vbs_shape wide = {.n_dims = rank}, shape = {.n_dims = 0};
    int more = rank - state->shape.n_dims;

    if (more < 0 || rank > VBS_MAX_DIMS || (more > 0 && !broadcasts(im->node->op)))
        return vbs_onnx_mixes(im);
    for (int d = 0; d < rank; d++)
        wide.dim[d] = d < more ? 1 : state->shape.dim[d - more];
    if (wide.dim[at] != 1)
        return vbs_onnx_mixes(im);
    for (int d = 0; d < rank; d++)
        if (d != at)
            shape.dim[shape.n_dims++] = wide.dim[d];
    state->shape = shape;
    state->at = at;
    state->shared = false;
    return VBS_OK;
}

/* What adapting changed: the states of the inputs, in their order. */
struct adapted {
    struct vbs_onnx_state *states; /* null: nothing */
    bool batch;
};

/* Brings the tensors that the node reads into one form where all samples share some of them: where
 * they share all, the node is imported as out of batch mode. */
static enum vbs_status adapt(struct vbs_onnx_import *im, struct adapted *before)
{
    const struct vbs_onnx_state *own = NULL;
    bool shared = false;

    *before = (struct adapted){.batch = im->batch};
    im->shared = false;
    for (int i = 0; im->batch && i < im->node->n_inputs; i++) {
        const struct vbs_onnx_state *state = vbs_onnx_in(im, i);

        if (!state || !state->tensor)
            continue;
        shared |= state->shared;
        if (!state->shared && (!own || vbs_onnx_rank(im, state) > vbs_onnx_rank(im, own)))
            own = state;
    }
    if (!shared)
        return VBS_OK;
    im->shared = !own;
    im->batch = own != NULL;
    if (!own || im->node->operator->traits & VBS_ONNX_CHOOSES)
        return VBS_OK;
    if (own->outer > 0)
        return vbs_onnx_mixes(im);
    before->states = vbs_arena_alloc(im->arena, (size_t)im->node->n_inputs, sizeof *before->states);
    if (!before->states)
        return vbs_no_memory(im->ctx);
    for (int i = 0; i < im->node->n_inputs; i++)
        if (im->node->inputs[i] >= 0)
            before->states[i] = im->states[im->node->inputs[i]];
    for (int i = 0; i < im->node->n_inputs; i++)
        if (im->node->inputs[i] >= 0 && im->states[im->node->inputs[i]].shared)
            VBS_TRY(adapt_shared(im, vbs_onnx_rank(im, own), own->at,
                                 &im->states[im->node->inputs[i]]));
    return VBS_OK;
}

static void adapt_back(struct vbs_onnx_import *im, const struct adapted *before)
{
    im->batch = before->batch;
    im->shared = false;
    for (int i = 0; before->states && i < im->node->n_inputs; i++)
        if (im->node->inputs[i] >= 0)
            im->states[im->node->inputs[i]] = before->states[i];
}

/* Notes of which dimension the constants that the node has made have copies for each sample. */
static enum vbs_status note_copies(struct vbs_onnx_import *im)
{
    bool any = false;

    if (im->node->operator->traits & VBS_ONNX_INSIDE)
        return VBS_OK;
    for (int i = 0; i < im->node->n_inputs; i++) {
        const struct vbs_onnx_state *state = vbs_onnx_in(im, i);

        any |= state && state->constant && state->constant->copies > 0;
    }
    for (int i = 0; i < im->node->n_outputs; i++) {
        struct vbs_onnx_constant *made =
            im->node->outputs[i] < 0 ? NULL : im->states[im->node->outputs[i]].constant;

        if (made && any && im->copies == VBS_ONNX_UNSAID)
            return vbs_onnx_counts(im);
        if (made)
            made->copies = im->copies > 0 ? im->copies : 0;
    }
    return VBS_OK;
}

enum vbs_status vbs_onnx_run_operator(struct vbs_onnx_import *im, bool tensors)
{
    const struct vbs_onnx_operator *operator= im->node->operator;

    im->copies = VBS_ONNX_UNSAID;
    VBS_TRY(tensors ? operator->import(im, operator) : operator->fold(im, operator));
    return note_copies(im);
}

/* Imports the node, some of whose inputs may be tensors. */
static enum vbs_status import_with(struct vbs_onnx_import *im, bool tensors)
{
    struct adapted before;
    enum vbs_status status = adapt(im, &before);

    if (status == VBS_OK)
        status = find_batch(im);
    if (status == VBS_OK)
        status = vbs_onnx_run_operator(im, tensors);
    adapt_back(im, &before);
    return status;
}

/* Checks that an input of the node is known, and gives whether one of them is a tensor. */
static enum vbs_status check_states(struct vbs_onnx_import *im, bool *tensors)
{
    *tensors = false;
    for (int i = 0; i < im->node->n_inputs; i++) {
        const struct vbs_onnx_state *state = vbs_onnx_in(im, i);

        *tensors |= state && state->tensor;
        if (state && !state->tensor && !state->constant)
            return vbs_fail(im->ctx, VBS_UNSUPPORTED, "input %d is made by no supported output", i);
    }
    return VBS_OK;
}

bool vbs_onnx_holds_whole(const struct vbs_onnx_state *state)
{
    if (!state || (!state->tensor && !state->constant))
        return false;
    return state->tensor ? state->whole : vbs_onnx_is_whole(state->constant->type);
}

int vbs_onnx_type(const struct vbs_onnx_state *state)
{
    if (!state || (!state->tensor && !state->constant))
        return 0;
    if (state->tensor)
        return state->type;
    return vbs_onnx_is_whole(state->constant->type) ? state->constant->type : 0;
}

/* Returns whether the outputs of an operator have the type of its first input. */
static bool keeps_type(const char *op)
{
    static const char *const WORDS[] = {
        "Abs",      "Add",     "Clip",      "Concat",    "Div",
        "Expand",   "Flatten", "Gather",    "GatherND",  "GatherElements",
        "Identity", "Max",     "Min",       "Mod",       "Mul",
        "Neg",      "Pad",     "Pow",       "ReduceMax", "ReduceMin",
        "Reshape",  "Sign",    "Slice",     "Split",     "Squeeze",
        "Sub",      "Tile",    "Transpose", "Unsqueeze", NULL};

    return is_among(op, WORDS);
}

/* ---- whole numbers that depend on the position of the sample ---- */

/* Returns whether an operator gives the numbers of its first input. */
static bool keeps_numbers(const char *op)
{
    static const char *const WORDS[] = {"Cast",    "Expand",  "Flatten",   "Identity",
                                        "Reshape", "Squeeze", "Unsqueeze", NULL};

    return is_among(op, WORDS);
}

/* Returns whether an operator can read numbers that depend on the sample's position. */
static bool knows_position(const char *op, const struct vbs_onnx_state *state)
{
    static const char *const SHAPES[] = {"Shape", "Size", NULL};
    static const char *const LINEAR[] = {"Add", "Concat", "Gather", "GatherND", "Max",
                                         "Min", "Mul",    "Sub",    NULL};

    if (state->own == 0 || keeps_numbers(op) || is_among(op, SHAPES))
        return true;
    return state->own == VBS_ONNX_ELSE ? state->within && strcmp(op, "GatherND") == 0
                                       : is_among(op, LINEAR);
}

/* Begins with what the node's first input has of the sample's position. */
static enum vbs_status begin_positions(struct vbs_onnx_import *im)
{
    const char *op = im->node->operator->name;
    const struct vbs_onnx_state *first = vbs_onnx_in(im, 0);
    bool keeps = keeps_numbers(op) && first;

    im->own_out = keeps ? first->own : 0;
    im->within_out = keeps ? first->within : NULL;
    for (int i = 0; i < im->node->n_inputs; i++)
        if (vbs_onnx_in(im, i) && !knows_position(op, vbs_onnx_in(im, i)))
            return vbs_onnx_counts(im);
    return VBS_OK;
}

/* Notes what output 0 has of the sample's position, of which only whole numbers can have any. */
static enum vbs_status note_positions(struct vbs_onnx_import *im)
{
    bool is_wide = im->whole_out && (im->type_out == 0 || vbs_onnx_is_wide(im->type_out));
    const struct vbs_onnx_state *first = vbs_onnx_in(im, 0);
    struct vbs_onnx_state *made = im->node->n_outputs > 0 && im->node->outputs[0] >= 0
                                      ? &im->states[im->node->outputs[0]]
                                      : NULL;

    if (!made || !made->tensor)
        return VBS_OK;
    if (im->own_out != 0 && !is_wide)
        return vbs_onnx_counts(im);
    made->own = im->own_out;
    made->within = im->within_out;
    if (keeps_numbers(im->node->operator->name) &&
        (made->tensor != first->tensor || !vbs_shape_equal(&made->shape, &first->shape)))
        made->within = NULL;
    return VBS_OK;
}

/* Refuses a first input of a type for which ONNX does not define the operator and layers would give
 * other numbers than those of the type. */
static enum vbs_status check_type(struct vbs_onnx_import *im)
{
    unsigned traits = im->node->operator->traits;
    int type = vbs_onnx_type(vbs_onnx_in(im, 0));
    bool wide = traits & VBS_ONNX_WIDE, real = traits & VBS_ONNX_REAL;

    if (type == 0 || !(wide || real) || (wide && vbs_onnx_is_wide(type)))
        return VBS_OK;
    return vbs_fail(im->ctx, VBS_FORMAT,
                    "ONNX does not define it for %s; a Cast in front of it, to FLOAT%s, helps",
                    vbs_onnx_type_name(type), wide ? " or INT32" : "");
}

static enum vbs_status run_operator(struct vbs_onnx_import *im)
{
    const struct vbs_onnx_operator *operator= im->node->operator;
    bool tensors;

    im->bad = VBS_OK;
    im->whole_more = false;
    im->type_out = keeps_type(operator->name) ? vbs_onnx_type(vbs_onnx_in(im, 0)) : 0;
    im->whole_out = vbs_onnx_holds_whole(vbs_onnx_in(im, 0));
    if (operator->traits & VBS_ONNX_INSIDE)
        return operator->import(im, operator);
    VBS_TRY(check_states(im, &tensors));
    VBS_TRY(check_type(im));
    VBS_TRY(begin_positions(im));
    if (!tensors && !operator->fold)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "works on the network's input only, not on "
                        "constants");
    if (tensors && !operator->import)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "works on constants only");
    return import_with(im, tensors);
}

static void set_type(struct vbs_onnx_state *state, bool whole, int type)
{
    state->whole = whole;
    state->type = type;
}

static enum vbs_status note_whole(struct vbs_onnx_import *im)
{
    if (im->node->operator->traits & VBS_ONNX_INSIDE)
        return VBS_OK;
    for (int i = 0; i < im->node->n_outputs; i++)
        if (im->node->outputs[i] >= 0)
            set_type(&im->states[im->node->outputs[i]], im->whole_out || (i > 0 && im->whole_more),
                     im->type_out);
    return note_positions(im);
}

static enum vbs_status import_node(struct vbs_onnx_import *im)
{
    enum vbs_status status = run_operator(im);

    if (im->bad != VBS_OK)
        return vbs_fail(im->ctx, im->bad, "%s", im->bad_why);
    if (status != VBS_OK)
        return status;
    for (int i = 0; i < im->node->n_outputs; i++)
        if (vbs_onnx_output_used(im, i) && !im->states[im->node->outputs[i]].tensor &&
            !im->states[im->node->outputs[i]].constant)
            return vbs_fail(im->ctx, VBS_UNSUPPORTED, "output %d is not supported", i);
    VBS_TRY(note_whole(im));
    return settle(im);
}

enum vbs_status vbs_onnx_add_states(struct vbs_onnx_import *im, int first)
{
    int need = im->graph->n_values + VBS_ONNX_SPARE, room = im->n_states;

    if (need > room) {
        struct vbs_onnx_state *states;

        room = need > 2 * room ? need : 2 * room;
        states = vbs_arena_alloc(im->arena, (size_t)room, sizeof *states);
        if (!states)
            return vbs_no_memory(im->ctx);
        if (first > 0)
            memcpy(states, im->states, (size_t)first * sizeof *states);
        im->states = states;
        im->n_states = room;
    }
    for (int v = first; v < need; v++)
        im->states[v] = (struct vbs_onnx_state){
            .constant = v < im->graph->n_values ? im->graph->values[v].constant : NULL};
    return VBS_OK;
}

/* Returns whether the shape of what a node makes depends on data: on any of its inputs, or on one
 * behind the first. */
static bool depends_in_shape(const struct vbs_onnx_import *im, const struct vbs_onnx_node *node)
{
    static const char *const ON_ANY[] = {
        "ConstantOfShape", "NonMaxSuppression", "NonZero", "Range", "Unique", NULL};
    static const char *const BEHIND[] = {"Compress", "Expand",    "OneHot",   "Pad",     "Reshape",
                                         "Resize",   "Slice",     "Split",    "Squeeze", "Tile",
                                         "TopK",     "Unsqueeze", "Upsample", NULL};
    bool on_any = is_among(node->op, ON_ANY);

    for (int i = on_any ? 0 : 1; i < node->n_inputs && (on_any || is_among(node->op, BEHIND)); i++)
        if (node->inputs[i] >= 0 && im->states[node->inputs[i]].tensor)
            return true;
    return false;
}

enum vbs_status vbs_onnx_import_nodes(struct vbs_onnx_import *im, const struct vbs_onnx_node *nodes,
                                      int n)
{
    const struct vbs_onnx_node *around = im->node;
    enum vbs_status status = VBS_OK;

    for (int i = 0; i < n && status == VBS_OK; i++) {
        im->node = &nodes[i];
        if (vbs_cancelled(im->ctx))
            return vbs_fail(im->ctx, VBS_INTERRUPTED, "%s", vbs_status_text(VBS_INTERRUPTED));
        status = import_node(im);
        if (status != VBS_OK && !around) {
            im->failed = im->node;
            im->failed_shape = depends_in_shape(im, im->node);
        }
        if (status != VBS_OK)
            status = vbs_onnx_within_node(im->ctx, status, im->node);
    }
    im->node = around;
    return status;
}
