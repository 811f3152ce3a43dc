/* The shape of every operator's output, and the inputs that each operator refuses. */
#include "model/network/operation.h"

#include "base/arith.h"
#include "base/fail.h"
#include "model/network/fourier.h"
#include "model/network/op.h"

#include <math.h>

#define MOST_PLACES 16777216 /* whole numbers that floats have */

static bool within(int64_t value, int64_t low)
{
    return value >= low && value <= VBS_MAX_DIM;
}

static bool is_pool(enum vbs_op op)
{
    return op == VBS_OP_POOL_MAX || op == VBS_OP_POOL_AVG;
}

static enum vbs_status shapes_differ(struct vbs_ctx *ctx, const char *what,
                                     const struct vbs_shape *a, const struct vbs_shape *b)
{
    char a_text[64], b_text[64];

    return vbs_fail(ctx, VBS_FORMAT, "%s differ: %s and %s", what,
                    vbs_shape_format(a, a_text, sizeof a_text),
                    vbs_shape_format(b, b_text, sizeof b_text));
}

/* ---- windows ---- */

/* Counts the windows along spatial dimension i, of in elements: *out positions. */
static enum vbs_status infer_window(struct vbs_ctx *ctx, const struct vbs_operation *operation,
                                    struct vbs_window *window, int i, int64_t in, int64_t *out)
{
    int64_t stride = window->stride[i];
    int64_t low = window->pad_low[i], high = window->pad_high[i];
    int64_t extent = (window->kernel[i] - 1) * window->dilation[i] + 1;
    int64_t padded = in + low + high, positions;
    bool pool = is_pool(operation->op), round_up = pool && operation->round_up;

    if (extent > padded)
        return vbs_fail(ctx, VBS_FORMAT,
                        "kernel spans %lld, more than the %lld of its padded input",
                        (long long)extent, (long long)padded);
    if (pool && (low >= extent || high >= extent))
        return vbs_fail(ctx, VBS_FORMAT, "padding %lld leaves windows of kernel %lld without input",
                        (long long)(low > high ? low : high), (long long)extent);
    positions = (padded - extent + (round_up ? stride - 1 : 0)) / stride + 1;
    if (round_up && (positions - 1) * stride >= in + low)
        positions--;
    if (pool) {
        int64_t need = (positions - 1) * stride + extent - in - low;

        window->pad_high[i] = need > 0 ? need : 0;
    }
    *out = positions;
    return VBS_OK;
}

/* Computes the size of a deconv's output: window i spreads each of in values over *out
 * positions. */
static enum vbs_status infer_spread(struct vbs_ctx *ctx, const union vbs_attributes *attributes,
                                    int i, int64_t in, int64_t *out)
{
    const struct vbs_window *window = &attributes->weighted.window;
    int64_t extent = (window->kernel[i] - 1) * window->dilation[i] + 1;
    int64_t beyond = attributes->weighted.out_pad[i] - window->pad_high[i];

    if (!within(attributes->weighted.out_pad[i], 0))
        return vbs_fail(ctx, VBS_FORMAT, "padding of the output is out of range");
    if (beyond >= window->stride[i])
        return vbs_fail(ctx, VBS_FORMAT,
                        "its output goes %lld elements beyond the last window; up to %lld, less "
                        "than the stride, are supported",
                        (long long)beyond, (long long)window->stride[i] - 1);
    /* of 2^62 at most each */
    *out = (in - 1) * window->stride[i] + extent + attributes->weighted.out_pad[i] -
           window->pad_low[i] - window->pad_high[i];
    if (*out < 1)
        return vbs_fail(ctx, VBS_FORMAT, "padding cuts off the whole output");
    return VBS_OK;
}

static enum vbs_status check_window(struct vbs_ctx *ctx, const struct vbs_window *window, int i)
{
    if (within(window->kernel[i], 1) && within(window->stride[i], 1) &&
        within(window->dilation[i], 1) && within(window->pad_low[i], 0) &&
        within(window->pad_high[i], 0))
        return VBS_OK;
    return vbs_fail(ctx, VBS_FORMAT, "kernel, stride, dilation or padding is out of range");
}

static enum vbs_status infer_windows(struct vbs_ctx *ctx, const struct vbs_operation *operation,
                                     union vbs_attributes *attributes, struct vbs_shape *output)
{
    const struct vbs_shape *input = &operation->inputs[0];
    enum vbs_op op = operation->op;
    struct vbs_window *window = vbs_op_windows(op, attributes);
    int n = vbs_shape_n_spatial(input);

    if (n == 0)
        return vbs_fail(ctx, VBS_FORMAT, "'%s' needs spatial dimensions; its input has shape %lld",
                        vbs_op_word(op), (long long)input->dim[0]);
    if (n > VBS_MAX_SPATIAL)
        return vbs_fail(ctx, VBS_FORMAT, "'%s' takes up to %d spatial dimensions, not %d",
                        vbs_op_word(op), VBS_MAX_SPATIAL, n);
    *output = *input;
    for (int i = 0; i < n; i++) {
        int64_t in = input->dim[i + 1], *out = &output->dim[i + 1];

        VBS_TRY(check_window(ctx, window, i));
        if (op == VBS_OP_CONV_TRANSPOSE)
            VBS_TRY(infer_spread(ctx, attributes, i, in, out));
        else
            VBS_TRY(infer_window(ctx, operation, window, i, in, out));
    }
    return VBS_OK;
}

static enum vbs_status infer_conv(struct vbs_ctx *ctx, const struct vbs_operation *operation,
                                  union vbs_attributes *attributes, struct vbs_shape *output)
{
    const struct vbs_shape *input = &operation->inputs[0];
    int64_t groups = attributes->weighted.groups, out = attributes->weighted.out_channels;

    if (!within(out, 1) || !within(groups, 1))
        return vbs_fail(ctx, VBS_FORMAT, "output channels or groups are out of range");
    if (input->dim[0] % groups != 0 || out % groups != 0)
        return vbs_fail(ctx, VBS_FORMAT,
                        "%lld groups do not divide %lld input and %lld output channels",
                        (long long)groups, (long long)input->dim[0], (long long)out);
    VBS_TRY(infer_windows(ctx, operation, attributes, output));
    output->dim[0] = out;
    return VBS_OK;
}

static enum vbs_status infer_fc(struct vbs_ctx *ctx, const union vbs_attributes *attributes,
                                struct vbs_shape *output)
{
    if (!within(attributes->weighted.out_channels, 1))
        return vbs_fail(ctx, VBS_FORMAT, "output channels are out of range");
    if (attributes->weighted.rows)
        output->dim[output->n_dims - 1] = attributes->weighted.out_channels;
    else
        *output = (struct vbs_shape){.n_dims = 1, .dim = {attributes->weighted.out_channels}};
    return VBS_OK;
}

static enum vbs_status check_lrn(struct vbs_ctx *ctx, const union vbs_attributes *attributes)
{
    if (!within(attributes->lrn.size, 1) || attributes->lrn.size % 2 == 0)
        return vbs_fail(ctx, VBS_FORMAT, "LRN size %lld is not odd and above 0",
                        (long long)attributes->lrn.size);
    if (!isfinite(attributes->lrn.alpha) || attributes->lrn.alpha < 0 ||
        !isfinite(attributes->lrn.beta) || attributes->lrn.beta < 0 ||
        !isfinite(attributes->lrn.k) || attributes->lrn.k <= 0)
        return vbs_fail(ctx, VBS_FORMAT,
                        "LRN needs alpha and beta of at least 0 and k above 0, all finite");
    return VBS_OK;
}

/* ---- pairs ---- */

/* Gives dimension i of a shape counted from the last, 1 beyond its first. */
static int64_t dim_from_end(const struct vbs_shape *shape, int i)
{
    return i < shape->n_dims ? shape->dim[shape->n_dims - 1 - i] : 1;
}

/* Broadcasts as numpy does: shapes are aligned at the last dimension, and a dimension of 1 fits
 * any. The dimensions before the last n_own are combined; the last n_own ones of the output are set
 * already. */
static enum vbs_status broadcast(struct vbs_ctx *ctx, const struct vbs_shape *a,
                                 const struct vbs_shape *b, int n_own, struct vbs_shape *output)
{
    int n = a->n_dims > b->n_dims ? a->n_dims : b->n_dims;

    output->n_dims = n;
    for (int i = n_own; i < n; i++) {
        int64_t x = dim_from_end(a, i), y = dim_from_end(b, i);

        if (x != y && x != 1 && y != 1)
            return shapes_differ(ctx, "shapes of the inputs", a, b);
        output->dim[n - 1 - i] = x > y ? x : y;
    }
    return VBS_OK;
}

static enum vbs_status infer_binary(struct vbs_ctx *ctx, enum vbs_op op, const struct vbs_shape *a,
                                    const struct vbs_shape *b, struct vbs_shape *output)
{
    VBS_TRY(broadcast(ctx, a, b, 0, output));
    if (op == VBS_OP_PRELU && !vbs_shape_equal(a, output))
        return shapes_differ(ctx, "input and slopes", a, b);
    return VBS_OK;
}

static enum vbs_status infer_matmul(struct vbs_ctx *ctx, const struct vbs_shape *a,
                                    const struct vbs_shape *b, struct vbs_shape *output)
{
    enum vbs_status status;

    if (a->n_dims < 2 || b->n_dims < 2)
        return vbs_fail(ctx, VBS_FORMAT, "a matrix has two dimensions or more");
    if (dim_from_end(a, 0) != dim_from_end(b, 1))
        return shapes_differ(ctx, "inner sizes of the matrices", a, b);
    status = broadcast(ctx, a, b, 2, output);
    output->dim[output->n_dims - 2] = dim_from_end(a, 1);
    output->dim[output->n_dims - 1] = dim_from_end(b, 0);
    return status;
}

/* ---- dimensions moved, cut and joined ---- */

static enum vbs_status check_axis(struct vbs_ctx *ctx, int axis, const struct vbs_shape *input)
{
    if (axis >= 0 && axis < input->n_dims)
        return VBS_OK;
    return vbs_fail(ctx, VBS_FORMAT, "there is no dimension %d among %d", axis, input->n_dims);
}

/* Computes the shape of a concatenation along axis; the other dimensions must be equal. */
static enum vbs_status infer_concat(struct vbs_ctx *ctx, int axis, const struct vbs_shape *inputs,
                                    int n_inputs, struct vbs_shape *output)
{
    if (axis < 0 || axis >= inputs[0].n_dims)
        return vbs_fail(ctx, VBS_FORMAT, "there is no dimension %d to concatenate along", axis);
    for (int i = 1; i < n_inputs; i++) {
        struct vbs_shape joined = inputs[i];

        if (axis < joined.n_dims)
            joined.dim[axis] = inputs[0].dim[axis];
        if (!vbs_shape_equal(&inputs[0], &joined))
            return shapes_differ(ctx, axis == 0 ? "sizes beside channels" : "sizes beside the axis",
                                 &inputs[0], &inputs[i]);
        /* sum of dimensions of at most 2^31, of which there are fewer than 2^31 */
        output->dim[axis] += inputs[i].dim[axis];
    }
    return VBS_OK;
}

static enum vbs_status infer_reduce(struct vbs_ctx *ctx, unsigned axes, struct vbs_shape *output)
{
    if (axes >> output->n_dims)
        return vbs_fail(ctx, VBS_FORMAT, "there is no dimension to reduce beyond %d",
                        output->n_dims - 1);
    for (int i = 0; i < output->n_dims; i++)
        if (axes >> i & 1)
            output->dim[i] = 1;
    return VBS_OK;
}

static enum vbs_status infer_transpose(struct vbs_ctx *ctx, const int *perm,
                                       const struct vbs_shape *input, struct vbs_shape *output)
{
    unsigned seen = 0;

    for (int i = 0; i < input->n_dims; i++) {
        if (perm[i] < 0 || perm[i] >= input->n_dims || seen >> perm[i] & 1)
            return vbs_fail(ctx, VBS_FORMAT, "the order of dimensions is no permutation");
        seen |= 1u << perm[i];
        output->dim[i] = input->dim[perm[i]];
    }
    return VBS_OK;
}

static enum vbs_status infer_slice(struct vbs_ctx *ctx, const union vbs_attributes *attributes,
                                   const struct vbs_shape *input, struct vbs_shape *output)
{
    for (int i = 0; i < input->n_dims; i++) {
        int64_t begin = attributes->slice.begin[i], step = attributes->slice.step[i];
        int64_t positions = attributes->slice.count[i], last;

        if (!within(positions, 1) || step == 0 || step < -VBS_MAX_DIM || step > VBS_MAX_DIM)
            return vbs_fail(ctx, VBS_FORMAT, "the slice is empty or out of range");
        last = begin + (positions - 1) * step;
        if (begin < 0 || begin >= input->dim[i] || last < 0 || last >= input->dim[i])
            return vbs_fail(ctx, VBS_FORMAT, "the slice reaches beyond %lld elements",
                            (long long)input->dim[i]);
        output->dim[i] = positions;
    }
    return VBS_OK;
}

static enum vbs_status infer_pad(struct vbs_ctx *ctx, const union vbs_attributes *attributes,
                                 const struct vbs_shape *input, struct vbs_shape *output)
{
    for (int i = 0; i < input->n_dims; i++) {
        int64_t before = attributes->pad.before[i], behind = attributes->pad.behind[i];
        int64_t most = attributes->pad.mode == VBS_PAD_REFLECT ? input->dim[i] - 1 : VBS_MAX_DIM;

        if (before < -VBS_MAX_DIM || before > VBS_MAX_DIM || behind < -VBS_MAX_DIM ||
            behind > VBS_MAX_DIM || input->dim[i] + before + behind < 1)
            return vbs_fail(ctx, VBS_FORMAT, "padding is out of range");
        if ((attributes->pad.mode == VBS_PAD_REFLECT || attributes->pad.mode == VBS_PAD_WRAP) &&
            (before < 0 || behind < 0))
            return vbs_fail(ctx, VBS_FORMAT, "padding by values of the input cuts none off");
        if (before > most || behind > most)
            return vbs_fail(ctx, VBS_FORMAT, "%lld elements cannot be reflected further than that",
                            (long long)input->dim[i]);
        output->dim[i] = input->dim[i] + before + behind;
    }
    return VBS_OK;
}

static enum vbs_status infer_expand(struct vbs_ctx *ctx, const struct vbs_shape *target,
                                    const struct vbs_shape *input, struct vbs_shape *output)
{
    VBS_TRY(broadcast(ctx, input, target, 0, output));
    if (!vbs_shape_equal(output, target))
        return shapes_differ(ctx, "input and expanded shape", input, target);
    return VBS_OK;
}

static enum vbs_status infer_gather(struct vbs_ctx *ctx, const union vbs_attributes *attributes,
                                    const struct vbs_shape *input, const struct vbs_shape *operand,
                                    struct vbs_shape *output)
{
    const struct vbs_shape *target = &attributes->gather.indices;
    int axis = attributes->gather.axis, n = 0;

    VBS_TRY(check_axis(ctx, axis, input));
    if (!vbs_shape_valid(target) || operand->n_dims == 0 ||
        vbs_shape_elements(operand) != vbs_shape_elements(target) ||
        input->n_dims - 1 + target->n_dims > VBS_MAX_DIMS)
        return vbs_fail(ctx, VBS_FORMAT, "the indices have no valid shape");
    for (int i = 0; i < axis; i++)
        output->dim[n++] = input->dim[i];
    for (int i = 0; i < target->n_dims; i++)
        output->dim[n++] = target->dim[i];
    for (int i = axis + 1; i < input->n_dims; i++)
        output->dim[n++] = input->dim[i];
    output->n_dims = n;
    return VBS_OK;
}

static enum vbs_status infer_resize(struct vbs_ctx *ctx, const union vbs_attributes *attributes,
                                    const struct vbs_shape *input, struct vbs_shape *output)
{
    if (attributes->resize.shape.n_dims != input->n_dims)
        return shapes_differ(ctx, "input and resized shape", input, &attributes->resize.shape);
    for (int i = 0; i < input->n_dims; i++)
        if (!isfinite(attributes->resize.scale[i]) || attributes->resize.scale[i] <= 0)
            return vbs_fail(ctx, VBS_FORMAT, "a scale of resizing is not above 0");
    *output = attributes->resize.shape;
    return VBS_OK;
}

static enum vbs_status check_shuffle(struct vbs_ctx *ctx, int64_t groups,
                                     const struct vbs_shape *input)
{
    if (within(groups, 1) && input->dim[0] % groups == 0)
        return VBS_OK;
    return vbs_fail(ctx, VBS_FORMAT, "%lld groups do not divide %lld channels", (long long)groups,
                    (long long)input->dim[0]);
}

static enum vbs_status infer_move(struct vbs_ctx *ctx, const struct vbs_operation *operation,
                                  const union vbs_attributes *attributes, struct vbs_shape *output)
{
    const struct vbs_shape *input = &operation->inputs[0];

    switch (operation->op) {
    case VBS_OP_TRANSPOSE:
        return infer_transpose(ctx, attributes->transpose.perm, input, output);
    case VBS_OP_SHUFFLE:
        return check_shuffle(ctx, attributes->shuffle.groups, input);
    case VBS_OP_SLICE:
        return infer_slice(ctx, attributes, input, output);
    case VBS_OP_PAD:
        return infer_pad(ctx, attributes, input, output);
    case VBS_OP_EXPAND:
        return infer_expand(ctx, &attributes->expand.shape, input, output);
    case VBS_OP_GATHER:
        return infer_gather(ctx, attributes, input, operation->operand, output);
    default:
        return VBS_OK;
    }
}

/* Checks the first states: none, or one of each kind, [directions, hidden]. */
static enum vbs_status check_first_states(struct vbs_ctx *ctx,
                                          const struct vbs_operation *operation, int64_t directions,
                                          int64_t hidden)
{
    const struct vbs_shape first = {2, {directions, hidden}};
    int n = operation->n_inputs, kinds = operation->op == VBS_OP_LSTM ? 2 : 1;

    if (n != 1 && n != 1 + kinds)
        return vbs_fail(ctx, VBS_FORMAT, "%d inputs; it takes a sequence, and %d first state%s", n,
                        kinds, kinds == 1 ? "" : "s");
    for (int i = 1; i < n; i++)
        if (!vbs_shape_equal(&operation->inputs[i], &first))
            return shapes_differ(ctx, "a first state and that needed", &operation->inputs[i],
                                 &first);
    return VBS_OK;
}

/* Computes the shape of the states of a sequence, and checks that of the weights of the state. */
static enum vbs_status infer_recurrent(struct vbs_ctx *ctx, const struct vbs_operation *operation,
                                       const union vbs_attributes *attributes,
                                       struct vbs_shape *output)
{
    const struct vbs_shape *input = &operation->inputs[0];
    int64_t hidden = attributes->recurrent.hidden;
    int64_t n = attributes->recurrent.direction == VBS_BOTH_WAYS ? 2 : 1;
    struct vbs_shape state;

    if (input->n_dims != 2)
        return vbs_fail(ctx, VBS_FORMAT, "a sequence has two dimensions, not %d", input->n_dims);
    if (!within(hidden, 1) || !within(n * vbs_op_gates(operation->op) * hidden, 1))
        return vbs_fail(ctx, VBS_FORMAT, "a state of %lld elements", (long long)hidden);
    state = (struct vbs_shape){3, {n, vbs_op_gates(operation->op) * hidden, hidden}};
    if (!vbs_shape_equal(operation->operand, &state))
        return shapes_differ(ctx, "weights of the state and those needed", operation->operand,
                             &state);
    if ((attributes->recurrent.cells || attributes->recurrent.peepholes) &&
        operation->op != VBS_OP_LSTM)
        return vbs_fail(ctx, VBS_FORMAT, "only an lstm has memories");
    VBS_TRY(check_first_states(ctx, operation, n, hidden));
    *output =
        (struct vbs_shape){2, {input->dim[0] + (attributes->recurrent.cells ? 2 : 0), n * hidden}};
    return VBS_OK;
}

/* Computes the shape of rows of a table, [rows, width], one for each element of input. */
static enum vbs_status infer_embed(struct vbs_ctx *ctx, const struct vbs_shape *input,
                                   const struct vbs_shape *table, struct vbs_shape *output)
{
    if (table->n_dims != 2 || !vbs_shape_valid(table))
        return vbs_fail(ctx, VBS_FORMAT, "its table has not two dimensions");
    if (input->n_dims == VBS_MAX_DIMS)
        return vbs_fail(ctx, VBS_FORMAT, "an output of more than %d dimensions", VBS_MAX_DIMS);
    *output = *input;
    output->dim[output->n_dims++] = table->dim[1];
    return VBS_OK;
}

static enum vbs_status infer_topk(struct vbs_ctx *ctx, const union vbs_attributes *attributes,
                                  const struct vbs_shape *input, struct vbs_shape *output)
{
    int axis = attributes->topk.axis;

    VBS_TRY(check_axis(ctx, axis, input));
    if (attributes->topk.k < 1 || attributes->topk.k > input->dim[axis] ||
        input->dim[axis] > MOST_PLACES)
        return vbs_fail(ctx, VBS_FORMAT, "%lld of %lld elements", (long long)attributes->topk.k,
                        (long long)input->dim[axis]);
    output->dim[axis] = attributes->topk.k;
    return VBS_OK;
}

/* Computes the shape of elements of data, which is that of their positions. */
static enum vbs_status infer_pick(struct vbs_ctx *ctx, int axis, const struct vbs_shape *data,
                                  const struct vbs_shape *places, struct vbs_shape *output)
{
    VBS_TRY(check_axis(ctx, axis, data));
    if (data->n_dims != places->n_dims || data->dim[axis] > MOST_PLACES)
        return shapes_differ(ctx, "data and positions", data, places);
    for (int d = 0; d < data->n_dims; d++)
        if (d != axis && places->dim[d] > data->dim[d])
            return shapes_differ(ctx, "data and positions", data, places);
    *output = *places;
    return VBS_OK;
}

/* Computes the shape of parts of data: the dimensions that both inputs have, those of the places,
 * and those of a part. */
static enum vbs_status infer_take(struct vbs_ctx *ctx, int common, const struct vbs_shape *data,
                                  const struct vbs_shape *places, struct vbs_shape *output)
{
    int before = places->n_dims - 1;
    int64_t n = places->dim[before];

    if (common < 0 || common > before || n > data->n_dims - common)
        return shapes_differ(ctx, "data and places", data, places);
    for (int d = 0; d < common; d++)
        if (places->dim[d] != data->dim[d])
            return shapes_differ(ctx, "data and places", data, places);
    for (int d = common; d < common + n; d++)
        if (data->dim[d] > MOST_PLACES)
            return shapes_differ(ctx, "data and places", data, places);
    if (before + data->n_dims - common - n > VBS_MAX_DIMS)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    *output = *places;
    output->n_dims = before;
    for (int d = common + (int)n; d < data->n_dims; d++)
        output->dim[output->n_dims++] = data->dim[d];
    if (output->n_dims == 0)
        *output = (struct vbs_shape){1, {1}};
    return VBS_OK;
}

/* Computes the shape of the values of images at points. */
static enum vbs_status infer_grid_sample(struct vbs_ctx *ctx, const struct vbs_shape *images,
                                         const struct vbs_shape *points, struct vbs_shape *output)
{
    int n = images->n_dims;

    if (n < 3 || n > 4 || points->n_dims != n || points->dim[n - 1] != 2 ||
        (n == 4 && points->dim[0] != images->dim[0]))
        return shapes_differ(ctx, "images and points", images, points);
    output->dim[n - 2] = points->dim[n - 3];
    output->dim[n - 1] = points->dim[n - 2];
    return VBS_OK;
}

/* Checks the groups of a deformconv. */
static enum vbs_status check_groups(struct vbs_ctx *ctx, int64_t channels,
                                    const union vbs_attributes *attributes)
{
    int64_t groups = attributes->weighted.groups, out = attributes->weighted.out_channels;
    int64_t offset_groups = attributes->weighted.offset_groups;

    if (!within(out, 1) || !within(groups, 1) || !within(offset_groups, 1))
        return vbs_fail(ctx, VBS_FORMAT, "output channels or groups are out of range");
    if (channels % groups != 0 || out % groups != 0 || channels % offset_groups != 0)
        return vbs_fail(ctx, VBS_FORMAT,
                        "%lld groups and %lld groups of offsets do not divide %lld input and %lld "
                        "output channels",
                        (long long)groups, (long long)offset_groups, (long long)channels,
                        (long long)out);
    return VBS_OK;
}

/* Computes the shape of a convolution of images at moved places. */
static enum vbs_status infer_deform_conv(struct vbs_ctx *ctx, const struct vbs_operation *operation,
                                         union vbs_attributes *attributes, struct vbs_shape *output)
{
    static const char *const WORDS[] = {"", "places and offsets", "places and factors"};
    const struct vbs_shape *images = &operation->inputs[0];
    struct vbs_window *window = &attributes->weighted.window;
    int n = images->n_dims;
    int64_t places;

    if (n < 3 || n > 4)
        return vbs_fail(ctx, VBS_FORMAT, "its input has %d dimensions; images have 3 or 4", n);
    VBS_TRY(check_groups(ctx, images->dim[n - 3], attributes));
    for (int i = 0; i < 2; i++) {
        VBS_TRY(check_window(ctx, window, i));
        VBS_TRY(infer_window(ctx, operation, window, i, images->dim[n - 2 + i],
                             &output->dim[n - 2 + i]));
    }
    /* of 2^31 at most each */
    places = window->kernel[0] * window->kernel[1];
    for (int i = 1; i < operation->n_inputs; i++) {
        struct vbs_shape expected = *output;

        if (!vbs_mul(places, (3 - i) * attributes->weighted.offset_groups, &expected.dim[n - 3]) ||
            !vbs_shape_equal(&expected, &operation->inputs[i]))
            return shapes_differ(ctx, WORDS[i], &expected, &operation->inputs[i]);
    }
    output->dim[n - 3] = attributes->weighted.out_channels;
    return VBS_OK;
}

/* Computes the shape of a Fourier transform. */
static enum vbs_status infer_dft(struct vbs_ctx *ctx, const union vbs_attributes *attributes,
                                 const struct vbs_shape *input, struct vbs_shape *output)
{
    int last = input->n_dims - 1, axis = attributes->dft.axis;

    if (last < 1 || axis < 0 || axis >= last || input->dim[last] > 2)
        return vbs_fail(ctx, VBS_FORMAT,
                        "dimension %d of %d, of %lld numbers for each element, has no transform",
                        axis, input->n_dims, (long long)input->dim[last]);
    if (attributes->dft.n < 1 || attributes->dft.n > VBS_FOURIER_MOST)
        return vbs_fail(ctx, VBS_FORMAT, "a transform of %lld elements; %lld is the most",
                        (long long)attributes->dft.n, (long long)VBS_FOURIER_MOST);
    if (attributes->dft.onesided && (input->dim[last] == 2) != attributes->dft.inverse)
        return vbs_fail(ctx, VBS_FORMAT,
                        "half of a transform is that of real numbers, and is complex; its input "
                        "has %lld numbers for each element",
                        (long long)input->dim[last]);
    output->dim[axis] = attributes->dft.onesided && !attributes->dft.inverse
                            ? attributes->dft.n / 2 + 1
                            : attributes->dft.n;
    output->dim[last] = attributes->dft.onesided && attributes->dft.inverse ? 1 : 2;
    return VBS_OK;
}

static enum vbs_status infer(struct vbs_ctx *ctx, const struct vbs_operation *operation,
                             union vbs_attributes *attributes, struct vbs_shape *output)
{
    const struct vbs_shape *input = &operation->inputs[0];
    const struct vbs_shape *other =
        operation->n_inputs > 1 ? &operation->inputs[1] : operation->operand;

    switch (operation->op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
        return infer_conv(ctx, operation, attributes, output);
    case VBS_OP_FC:
        return infer_fc(ctx, attributes, output);
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        return infer_windows(ctx, operation, attributes, output);
    case VBS_OP_LRN:
        return check_lrn(ctx, attributes);
    case VBS_OP_CONCAT:
        return infer_concat(ctx, attributes->concat.axis, operation->inputs, operation->n_inputs,
                            output);
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
        return check_axis(ctx, attributes->softmax.axis, input);
    case VBS_OP_LAYER_NORM:
        return check_axis(ctx, attributes->norm.axis, input);
    case VBS_OP_INSTANCE_NORM:
        return check_axis(ctx, 1, input);
    case VBS_OP_MATMUL:
        return attributes->binary.swapped ? infer_matmul(ctx, other, input, output)
                                          : infer_matmul(ctx, input, other, output);
    case VBS_OP_RESIZE:
        return infer_resize(ctx, attributes, input, output);
    case VBS_OP_EMBED:
        return infer_embed(ctx, input, operation->operand, output);
    case VBS_OP_TOPK:
        return infer_topk(ctx, attributes, input, output);
    case VBS_OP_PICK:
        return infer_pick(ctx, attributes->pick.axis, input, other, output);
    case VBS_OP_TAKE:
        return infer_take(ctx, attributes->take.common, input, other, output);
    case VBS_OP_GRID_SAMPLE:
        return infer_grid_sample(ctx, input, other, output);
    case VBS_OP_DEFORM_CONV:
        return infer_deform_conv(ctx, operation, attributes, output);
    case VBS_OP_DFT:
        return infer_dft(ctx, attributes, input, output);
    case VBS_OP_RNN:
    case VBS_OP_GRU:
    case VBS_OP_LSTM:
        return infer_recurrent(ctx, operation, attributes, output);
    default:
        break;
    }
    switch (vbs_op_class(operation->op)) {
    case VBS_CLASS_BINARY:
        return infer_binary(ctx, operation->op, input, other, output);
    case VBS_CLASS_REDUCE:
        return infer_reduce(ctx, attributes->reduce.axes, output);
    case VBS_CLASS_MOVE:
        return infer_move(ctx, operation, attributes, output);
    default:
        return VBS_OK;
    }
}

enum vbs_status vbs_operation_shape(struct vbs_ctx *ctx, const struct vbs_operation *operation,
                                    union vbs_attributes *attributes, struct vbs_shape *output)
{
    struct vbs_shape inferred = operation->inputs[0];

    VBS_TRY(infer(ctx, operation, attributes, &inferred));
    if (!vbs_shape_valid(&inferred))
        return vbs_fail(ctx, VBS_FORMAT, "output is larger than 2^36 elements");
    *output = inferred;
    return VBS_OK;
}
