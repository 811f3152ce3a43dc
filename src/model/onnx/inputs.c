#include "model/onnx/inputs.h"

#include "base/fail.h"

#include <stdio.h>
#include <string.h>

/* ---- what the file says ---- */

static const char *label_of(const Onnx__TensorShapeProto__Dimension *dim)
{
    bool named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;

    return named && dim->dim_param ? dim->dim_param : "";
}

static enum vbs_status read_type(struct vbs_ctx *ctx, const struct vbs_onnx_value *value,
                                 struct vbs_onnx_input *input)
{
    const Onnx__TypeProto *any = value->input->type;
    enum vbs_element element;

    if (!any || any->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !any->tensor_type)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "input '%.100s' is no tensor", input->name);
    input->type = any->tensor_type;
    if (!vbs_onnx_element(input->type->elem_type, &element))
        return vbs_fail(ctx, VBS_UNSUPPORTED, "input '%.100s' has element type %s, no numbers",
                        input->name, vbs_onnx_type_name(input->type->elem_type));
    return VBS_OK;
}

static enum vbs_status read_dims(struct vbs_ctx *ctx, const struct vbs_onnx_value *value,
                                 struct vbs_onnx_input *input)
{
    const Onnx__TensorShapeProto *shape;

    input->name = value->name;
    input->rank = -1;
    VBS_TRY(read_type(ctx, value, input));
    shape = input->type->shape;
    if (!shape)
        return VBS_OK;
    if (shape->n_dim > VBS_MAX_DIMS)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "input '%.100s' has %zu dimensions", input->name,
                        shape->n_dim);
    input->rank = input->dims.n_dims = (int)shape->n_dim;
    for (int d = 0; d < input->rank; d++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[d];
        bool given = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        int64_t size = given && dim->dim_value != -1 ? dim->dim_value : 0; /* -1: Paddle's open */

        input->dims.dim[d] = size;
        input->labels[d] = label_of(dim);
        input->empty |= given && dim->dim_value == 0 ? 1u << d : 0;
        if (size < 0 || size > VBS_MAX_DIM)
            return vbs_fail(ctx, VBS_FORMAT, "dimension %d of input '%.100s' is %lld", d,
                            input->name, (long long)size);
    }
    return VBS_OK;
}

/* ---- what the caller chose ---- */

/* Checks a shape that was chosen. It has all dimensions of the file, or all but that of the
 * samples. */
static enum vbs_status check_choice(const struct vbs_onnx_inputs *inputs,
                                    struct vbs_onnx_input *input)
{
    int n = input->choice->n_dims, rank = input->rank;
    char which[128] = "the model's input";

    if (inputs->n > 1)
        snprintf(which, sizeof which, "input '%.100s'", input->name);
    if (rank == 0 && vbs_shape_elements(input->choice) == 1) {
        input->choice = NULL; /* of a scalar, in the form that it has in the network */
        return VBS_OK;
    }
    if (rank >= 0 && n != rank && n != rank - 1)
        return vbs_fail(inputs->ctx, VBS_FORMAT, "%s has %d dimensions with its batch, not %d",
                        which, rank, n + 1);
    if (rank < 0 && n == VBS_MAX_DIMS)
        return vbs_fail(inputs->ctx, VBS_UNSUPPORTED, "an input of %d dimensions", n + 1);
    if (rank < 0)
        input->rank = n + 1;
    return VBS_OK;
}

/* Finds the input that a choice is of; position: of the choice. */
static struct vbs_onnx_input *find_chosen(const struct vbs_onnx_inputs *inputs,
                                          const struct vbs_input_choice *choice, int position)
{
    if (!choice->name)
        return position < inputs->n ? &inputs->of[position] : NULL;
    for (int i = 0; i < inputs->n; i++)
        if (strcmp(inputs->of[i].name, choice->name) == 0)
            return &inputs->of[i];
    return NULL;
}

/* Returns whether a name is that of an input that nothing reads. */
static bool is_unread(const struct vbs_onnx_inputs *inputs, const char *name)
{
    for (int i = 0; name && i < inputs->graph->n_unread; i++)
        if (strcmp(inputs->graph->values[inputs->graph->unread[i]].name, name) == 0)
            return true;
    return false;
}

/* Appends the open sizes that the file names, each once, to the names of the inputs. */
static void list_labels(const struct vbs_onnx_inputs *inputs, char *names, size_t size)
{
    char quoted[VBS_MAX_NAME + 3];
    size_t before = strlen(names);

    for (int i = 0; i < inputs->n; i++)
        for (int d = 0; d < inputs->of[i].dims.n_dims; d++) {
            size_t at = strlen(names);

            snprintf(quoted, sizeof quoted, "'%.80s'", inputs->of[i].labels[d]);
            if (inputs->of[i].labels[d][0] && at < size - 110 && !strstr(names + before, quoted))
                snprintf(names + at, size - at, "%s%s", at == before ? ", with sizes " : ", ",
                         quoted);
        }
}

/* Says which inputs there are, because a choice is of none of them. */
static enum vbs_status refuse_choice(const struct vbs_onnx_inputs *inputs,
                                     const struct vbs_input_choice *choice)
{
    char names[400] = "";
    size_t at = 0;

    for (int i = 0; i < inputs->n && at < sizeof names - 210; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s'%.80s'", i ? ", " : "",
                               inputs->of[i].name);
    list_labels(inputs, names, sizeof names);
    if (choice->name)
        return vbs_fail(inputs->ctx, VBS_USAGE,
                        "there is no input '%.80s' that varies; there is %s", choice->name, names);
    return vbs_fail(inputs->ctx, VBS_USAGE, "shapes of more inputs than %d are given: %s",
                    inputs->n, names);
}

/* Sets the dimensions of all inputs that the file calls by this name; *n counts them. */
static enum vbs_status set_label(const struct vbs_onnx_inputs *inputs,
                                 const struct vbs_input_choice *choice, int *n)
{
    *n = 0;
    for (int i = 0; i < inputs->n; i++) {
        struct vbs_onnx_input *input = &inputs->of[i];

        for (int d = 0; d < input->dims.n_dims; d++) {
            if (strcmp(input->labels[d], choice->name) != 0)
                continue;
            if (input->dims.dim[d] > 0)
                return vbs_fail(inputs->ctx, VBS_USAGE, "two sizes are given for '%.80s'",
                                choice->name);
            input->dims.dim[d] = choice->shape.dim[0];
            (*n)++;
        }
    }
    return VBS_OK;
}

/* Takes a choice that names no input: the size of a dimension that the file names, or the shape of
 * an input that nothing reads, which changes nothing. */
static enum vbs_status take_other(const struct vbs_onnx_inputs *inputs,
                                  const struct vbs_input_choice *choice)
{
    int n = 0;

    if (is_unread(inputs, choice->name))
        return VBS_OK;
    if (choice->name && choice->name[0] && choice->shape.n_dims == 1)
        VBS_TRY(set_label(inputs, choice, &n));
    return n > 0 ? VBS_OK : refuse_choice(inputs, choice);
}

static enum vbs_status take_choice(const struct vbs_onnx_inputs *inputs,
                                   const struct vbs_input_choice *choice, int position)
{
    struct vbs_onnx_input *input = find_chosen(inputs, choice, position);

    if (!input)
        return take_other(inputs, choice);
    if (choice->shape.n_dims == 0)
        return VBS_OK;
    if (input->choice)
        return vbs_fail(inputs->ctx, VBS_USAGE, "two shapes are given for input '%.80s'",
                        input->name);
    if (!vbs_shape_valid(&choice->shape))
        return vbs_fail(inputs->ctx, VBS_USAGE, "the shape given for input '%.80s' is none",
                        input->name);
    input->choice = &choice->shape;
    return VBS_OK;
}

static enum vbs_status take_choices(const struct vbs_onnx_inputs *inputs,
                                    const struct vbs_input_choice *choices, int n)
{
    int position = 0, n_shapes = 0;

    for (int i = 0; i < n; i++)
        n_shapes += !choices[i].fixed && !choices[i].until;
    for (int i = 0; i < n; i++) {
        if (choices[i].fixed || choices[i].until)
            continue; /* is no input, or none any more */
        if (!choices[i].name && n_shapes == 1 && inputs->n > 1)
            return vbs_fail(inputs->ctx, VBS_USAGE,
                            "it has %d inputs ('%.60s', '%.60s'%s); say of which one the shape is, "
                            "NAME=SHAPE",
                            inputs->n, inputs->of[0].name, inputs->of[1].name,
                            inputs->n > 2 ? ", ..." : "");
        VBS_TRY(take_choice(inputs, &choices[i], position++));
    }
    for (int i = 0; i < inputs->n; i++)
        if (inputs->of[i].choice)
            VBS_TRY(check_choice(inputs, &inputs->of[i]));
    return VBS_OK;
}

/* Gives whether the caller's shape has all dimensions of the file. */
static bool is_complete(const struct vbs_onnx_input *input)
{
    return input->choice && input->choice->n_dims == input->rank;
}

/* Returns whether the shape of an input, as the caller or the file gives it, has all dimensions and
 * one sample in front. */
static bool is_one_sample(const struct vbs_onnx_input *input)
{
    const struct vbs_shape *shape = input->choice ? input->choice : &input->dims;
    bool whole = shape->n_dims == input->rank && shape->dim[0] == 1;

    for (int d = 0; d < shape->n_dims; d++)
        whole = whole && shape->dim[d] > 0;
    return whole && input->dims.n_dims == input->rank && input->dims.dim[0] <= 1;
}

/* Returns whether the caller gave shapes as ONNX has them, as 1x3x224x224 for an input of which a
 * sample is 3x224x224. */
static bool are_in_full(const struct vbs_onnx_inputs *inputs)
{
    bool any = false;

    for (int i = 0; i < inputs->n; i++) {
        if (inputs->of[i].rank > 1 && !is_one_sample(&inputs->of[i]))
            return false;
        any = any || (inputs->of[i].rank > 1 && inputs->of[i].choice);
    }
    return any;
}

/* Gives the first input that may have samples beside other dimensions. */
static int find_first(const struct vbs_onnx_inputs *inputs)
{
    for (int i = 0; i < inputs->n; i++)
        if (inputs->of[i].rank > 1 && (inputs->in_full || !is_complete(&inputs->of[i])))
            return i;
    return -1;
}

enum vbs_status vbs_onnx_inputs_read(struct vbs_ctx *ctx, const struct vbs_onnx_graph *graph,
                                     const struct vbs_input_choice *choices, int n_choices,
                                     struct vbs_arena *arena, struct vbs_onnx_inputs *inputs)
{
    struct vbs_onnx_inputs made = {.ctx = ctx, .graph = graph, .n = graph->n_inputs};

    made.of = vbs_arena_alloc(arena, (size_t)made.n, sizeof *made.of);
    if (!made.of)
        return vbs_no_memory(ctx);
    for (int i = 0; i < made.n; i++) {
        made.of[i].value = graph->inputs[i];
        VBS_TRY(read_dims(ctx, &graph->values[graph->inputs[i]], &made.of[i]));
    }
    VBS_TRY(take_choices(&made, choices, n_choices));
    for (int i = 0; i < made.n; i++)
        if (made.of[i].rank < 0)
            return vbs_fail(ctx, VBS_USAGE,
                            "the shape of input '%.100s' is open; give that of a sample (--input "
                            "%.60s%sCxHxW)",
                            made.of[i].name, made.n > 1 ? made.of[i].name : "",
                            made.n > 1 ? "=" : "");
    made.in_full = are_in_full(&made);
    made.first = find_first(&made);
    *inputs = made;
    return VBS_OK;
}

/* ---- an attempt ---- */

bool vbs_onnx_inputs_may_count(const struct vbs_onnx_inputs *inputs, int at)
{
    const struct vbs_onnx_input *first = &inputs->of[inputs->first];

    return !inputs->in_full && at < first->dims.n_dims && first->dims.dim[at] <= 1;
}

/* Gives whether dimension d of an input may count the samples that `first` has in dimension at. */
static bool suits(const struct vbs_onnx_input *first, int at, const struct vbs_onnx_input *input,
                  int d)
{
    if (d >= input->dims.n_dims || at >= first->dims.n_dims)
        return d == at; /* the file does not say */
    return input->dims.dim[d] == first->dims.dim[at] || input->dims.dim[d] == 0;
}

/* Finds the dimension of an input that counts the samples, which `first` has in dimension at; where
 * several suit, the first or the second of them. */
static int find_samples(const struct vbs_onnx_inputs *inputs, int at,
                        const struct vbs_onnx_input *input, bool second)
{
    const struct vbs_onnx_input *first = &inputs->of[inputs->first];
    const char *label = at < first->dims.n_dims ? first->labels[at] : "";
    int found = VBS_ONNX_WHOLE;

    if (input == first)
        return at;
    if ((is_complete(input) && !inputs->in_full) || input->rank == 0)
        return VBS_ONNX_WHOLE;
    for (int d = 0; d < input->dims.n_dims && label[0]; d++)
        if (strcmp(input->labels[d], label) == 0 &&
            (!is_complete(input) || input->choice->dim[d] == 1))
            return d;
    if (inputs->in_full && input->rank > 1)
        return at;
    if (at < input->rank && suits(first, at, input, at))
        found = at;
    for (int d = 0; d < input->rank && (found < 0 || second); d++)
        if (d != at && suits(first, at, input, d)) {
            second &= found >= 0;
            found = d;
            if (second)
                break;
        }
    if (found >= 0)
        return found;
    return input->choice && at < input->rank ? at : VBS_ONNX_WHOLE;
}

#define DIGITS "0123456789"

/* Gives whether a file's name of a dimension can stand for its size in a shape. PyTorch makes up
 * names such as s53, which tell nothing. */
static bool is_word(const char *label)
{
    size_t n = strspn(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_" DIGITS);
    bool made_up = label[0] == 's' && n > 1 && strspn(label + 1, DIGITS) == n - 1;

    return n > 0 && n < 20 && label[n] == '\0' && !strchr(DIGITS, label[0]) && !made_up;
}

/* Returns whether another input has the size that dimension d of an input has, by its name. */
static bool is_shared_label(const struct vbs_onnx_inputs *inputs,
                            const struct vbs_onnx_input *input, int d)
{
    const char *label = d < input->dims.n_dims ? input->labels[d] : "";

    for (int i = 0; i < inputs->n && is_word(label); i++)
        for (int e = 0; e < inputs->of[i].dims.n_dims; e++)
            if (&inputs->of[i] != input && strcmp(inputs->of[i].labels[e], label) == 0)
                return true;
    return false;
}

/* Refuses dimension d of an input, which is open, and says how to give the shape of a sample. */
static enum vbs_status refuse_open(const struct vbs_onnx_inputs *inputs,
                                   const struct vbs_onnx_input *input, int samples, int d)
{
    char shape[VBS_MAX_DIMS * 24] = "", once[100] = "";
    size_t used = 0;

    if (is_shared_label(inputs, input, d))
        snprintf(once, sizeof once, ", or %.20s of all inputs at once (--input %.20s=SIZE)",
                 input->labels[d], input->labels[d]);
    for (int i = 0; i < input->rank; i++) {
        const char *label =
            i < input->dims.n_dims && is_word(input->labels[i]) ? input->labels[i] : "SIZE";

        if (i == samples)
            continue;
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s", used ? "x" : "");
        if (i < input->dims.n_dims && input->dims.dim[i] > 0)
            used += (size_t)snprintf(shape + used, sizeof shape - used, "%lld",
                                     (long long)input->dims.dim[i]);
        else
            used += (size_t)snprintf(shape + used, sizeof shape - used, "%s", label);
    }
    return vbs_fail(inputs->ctx, VBS_USAGE,
                    "dimension %d of input '%.100s' is %s; give the shape of a sample (--input "
                    "%.60s%s%s)%s",
                    d, input->name, input->empty >> d & 1 ? "0" : "open",
                    inputs->n > 1 ? input->name : "", inputs->n > 1 ? "=" : "", shape, once);
}

/* Makes the shape of an input, in which `samples` is the dimension that counts them: it is left out
 * where it is one of its own (apart), else it is 1 where it is open. */
static enum vbs_status settle_shape(const struct vbs_onnx_inputs *inputs,
                                    struct vbs_onnx_input *input, int samples, bool apart)
{
    const struct vbs_shape *choice = input->choice;
    bool is_shorter = choice && choice->n_dims < input->rank;
    struct vbs_shape shape = {.n_dims = 0};

    if (is_shorter && samples < 0)
        samples = 0;
    for (int d = 0; d < input->rank; d++) {
        bool own = !choice || (is_shorter && d == samples);
        int64_t dim = own ? (d < input->dims.n_dims ? input->dims.dim[d] : 0)
                          : choice->dim[d - (is_shorter && d > samples)];

        if (apart && d == samples)
            continue;
        if (dim == 0 && d != samples)
            return refuse_open(inputs, input, samples, d);
        shape.dim[shape.n_dims++] = dim > 0 ? dim : 1;
    }
    if (shape.n_dims > 0 && !vbs_shape_valid(&shape))
        return vbs_fail(inputs->ctx, VBS_FORMAT, "input '%.100s' is larger than 2^36 elements",
                        input->name);
    input->shape = shape;
    return VBS_OK;
}

bool vbs_onnx_inputs_open(const struct vbs_onnx_inputs *inputs)
{
    for (int i = 0; i < inputs->n; i++) {
        const struct vbs_onnx_input *input = &inputs->of[i];

        if (input->rank > 0 && (input->dims.n_dims == 0 || input->dims.dim[0] == 0) &&
            input->shape.dim[0] == 1)
            return true;
    }
    return false;
}

bool vbs_onnx_inputs_have_second(const struct vbs_onnx_inputs *inputs, int at)
{
    for (int i = 0; i < inputs->n; i++)
        if (find_samples(inputs, at, &inputs->of[i], true) !=
            find_samples(inputs, at, &inputs->of[i], false))
            return true;
    return false;
}

enum vbs_status vbs_onnx_inputs_place(struct vbs_onnx_inputs *inputs, int at, bool second)
{
    for (int i = 0; i < inputs->n; i++) {
        struct vbs_onnx_input *input = &inputs->of[i];
        int samples = inputs->first >= 0 ? find_samples(inputs, at < 0 ? 0 : at, input, second) : 0;

        input->at = at < 0 ? VBS_ONNX_WHOLE : samples;
        VBS_TRY(settle_shape(inputs, input, samples, input->at >= 0));
    }
    return VBS_OK;
}

int64_t vbs_onnx_inputs_samples(const struct vbs_onnx_inputs *inputs)
{
    const struct vbs_onnx_input *first = inputs->first < 0 ? NULL : &inputs->of[inputs->first];

    return !first || first->at < 0 || first->at >= first->dims.n_dims ? 0
                                                                      : first->dims.dim[first->at];
}

enum vbs_status vbs_onnx_inputs_shape(const struct vbs_onnx_inputs *inputs, struct vbs_shape *shape)
{
    int64_t n = 0;

    *shape = inputs->of[0].shape;
    if (inputs->n == 1 && shape->n_dims > 0)
        return VBS_OK;
    for (int i = 0; i < inputs->n && n <= VBS_MAX_DIM; i++)
        n += vbs_shape_elements(&inputs->of[i].shape);
    *shape = (struct vbs_shape){.n_dims = 1, .dim = {n}};
    return n <= VBS_MAX_DIM ? VBS_OK
                            : vbs_fail(inputs->ctx, VBS_UNSUPPORTED,
                                       "its inputs have more than 2^31 elements together");
}

/* Makes the tensor of an input, which begins with element `first` of tensor 0: a slice of it, which
 * becomes a layer when a node reads it. */
static enum vbs_status make_part(struct vbs_onnx_import *im, const struct vbs_onnx_input *input,
                                 struct vbs_onnx_tensor *whole, int64_t first,
                                 struct vbs_onnx_tensor **part)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_SLICE, 1);

    if (!draft)
        return vbs_no_memory(im->ctx);
    vbs_onnx_reads(draft, 0, whole, NULL);
    draft->name = input->name;
    draft->node.attributes.slice.begin[0] = first;
    draft->node.attributes.slice.step[0] = 1;
    draft->node.attributes.slice.count[0] = vbs_shape_elements(&input->shape);
    return vbs_onnx_tensor_new(im, draft, part);
}

enum vbs_status vbs_onnx_inputs_begin(const struct vbs_onnx_inputs *inputs,
                                      struct vbs_onnx_import *im)
{
    struct vbs_onnx_tensor *whole = vbs_arena_alloc(im->arena, 1, sizeof *whole);
    int64_t first = 0;

    if (!whole)
        return vbs_no_memory(im->ctx);
    VBS_TRY(vbs_onnx_inputs_shape(inputs, &whole->shape));
    for (int i = 0; i < inputs->n; i++) {
        const struct vbs_onnx_input *input = &inputs->of[i];
        struct vbs_onnx_state *state = &im->states[input->value];

        *state = (struct vbs_onnx_state){
            .tensor = whole,
            .shape = input->shape,
            .at = input->at < 0 ? 0 : input->at,
            .whole = vbs_onnx_is_whole(input->type->elem_type),
            .type = vbs_onnx_is_whole(input->type->elem_type) ? (int)input->type->elem_type : 0,
            .shared = im->batch && input->at < 0};
        if (inputs->n > 1)
            VBS_TRY(make_part(im, input, whole, first, &state->tensor));
        first += vbs_shape_elements(&input->shape);
    }
    return VBS_OK;
}

static enum vbs_number number_of(int type)
{
    if (type == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL)
        return VBS_NUMBER_BOOL;
    return vbs_onnx_is_whole(type) ? VBS_NUMBER_WHOLE : VBS_NUMBER_REAL;
}

enum vbs_status vbs_onnx_inputs_end(const struct vbs_onnx_inputs *inputs,
                                    struct vbs_onnx_import *im)
{
    for (int i = 0; i < inputs->n; i++) {
        const struct vbs_onnx_input *from = &inputs->of[i];
        char name[VBS_MAX_NAME];
        struct vbs_input input = {.name = vbs_onnx_clean(from->name, name, sizeof name),
                                  .shape = from->shape,
                                  .number = number_of(from->type->elem_type),
                                  .shared = im->batch && from->at < 0};

        if (inputs->n == 1 && input.shape.n_dims == 0)
            input.shape = (struct vbs_shape){.n_dims = 1, .dim = {1}};
        if (input.number != VBS_NUMBER_REAL)
            vbs_onnx_range(from->type->elem_type, &input.least, &input.most);
        if (input.number != VBS_NUMBER_REAL)
            input.high = from->type->elem_type == ONNX__TENSOR_PROTO__DATA_TYPE__UINT8 ? 255 : 1;
        if (input.number == VBS_NUMBER_WHOLE && im->states[from->value].tensor->rows > 0) {
            input.is_index = true;
            input.high = im->states[from->value].tensor->rows - 1;
        }
        VBS_TRY(vbs_builder_input(im->ctx, im->builder, &input));
    }
    return VBS_OK;
}
