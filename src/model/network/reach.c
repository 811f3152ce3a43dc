/*
 * Reaches: on which rows of its inputs a row of a layer's output depends. One function for each
 * kind of operator; what it does not know reads whole inputs.
 *
 * Rows are the indices of dimension 1. A layer passes rows where its output has them, the view of
 * an input keeps dimensions 0 and 1 of the tensor, and the operator neither moves values between
 * rows nor combines rows other than those that its reach names. All fused operators work on single
 * values or on channels.
 */
#include "model/network/network.h"

#define ROWS 1 /* the dimension */

static const struct vbs_reach SAME = {.step = 1, .unit = 1};

int vbs_shape_rows(const struct vbs_shape *shape)
{
    return shape->n_dims > ROWS ? (int)shape->dim[ROWS] : 0;
}

/* Makes a reach, unless a number is too large. */
static bool make(int64_t step, int64_t unit, int64_t low, int64_t high, struct vbs_reach *reach)
{
    if (step > VBS_MAX_REACH || unit > VBS_MAX_REACH || low < -(int64_t)VBS_MAX_REACH ||
        high > VBS_MAX_REACH)
        return false;
    *reach = (struct vbs_reach){
        .step = (int)step, .unit = (int)unit, .low = low < high ? low : high, .high = high};
    return true;
}

static bool window_reach(const struct vbs_window *w, struct vbs_reach *reach)
{
    return make(w->stride[0], 1, -w->pad_low[0],
                w->dilation[0] * (w->kernel[0] - 1) - w->pad_low[0], reach);
}

/* Gives whether one window of a pool is all rows of its input. */
static bool accumulates(const struct vbs_layer *l)
{
    const struct vbs_window *w = &l->attributes.pool.window;

    return (l->op == VBS_OP_POOL_MAX || l->op == VBS_OP_POOL_AVG) && l->shape.dim[ROWS] == 1 &&
           l->views[0].dim[ROWS] > 1 && w->kernel[0] == l->views[0].dim[ROWS] &&
           w->dilation[0] == 1 && w->pad_low[0] == 0 && w->pad_high[0] == 0;
}

/* Output row y of a transposed convolution reads the input rows i with y = stride i - pad +
 * dilation k for some k of the kernel. Where the kernel is smaller than the stride, some rows read
 * none. */
static bool transposed_reach(const struct vbs_window *w, struct vbs_reach *reach)
{
    int64_t extent = w->dilation[0] * (w->kernel[0] - 1);

    return make(1, w->stride[0], w->stride[0] - 1 + w->pad_low[0] - extent, w->pad_low[0], reach);
}

/* Two operands with numpy's broadcasting: dimensions are aligned at the last one. */
static bool binary_reach(const struct vbs_layer *l, int input, struct vbs_reach *reach)
{
    const struct vbs_shape *view = &l->views[input];
    int missing = l->shape.n_dims - view->n_dims, axis = ROWS - missing;

    *reach = SAME;
    if (axis >= 0 && view->dim[axis] == l->shape.dim[ROWS])
        return missing == 0;
    /* One row for all: it is read whole. */
    return false;
}

static bool resize_reach(const struct vbs_layer *l, struct vbs_reach *reach)
{
    int64_t in = l->views[0].dim[ROWS], out = l->shape.dim[ROWS];
    double scale = l->attributes.resize.scale[ROWS];
    bool nearest = l->attributes.resize.mode == VBS_RESIZE_NEAREST;
    int64_t beside = l->attributes.resize.mode == VBS_RESIZE_CUBIC ? 2 : 1;

    if (l->attributes.resize.coordinates == VBS_COORDINATES_TF_CROP)
        return false;
    if (in == out && scale == 1 &&
        l->attributes.resize.coordinates != VBS_COORDINATES_TF_HALF_PIXEL)
        return make(1, 1, 0, 0, reach);
    /* Only scales that are whole numbers, for which all other coordinates but one are simple. */
    if (scale != (double)(out / in) || out % in != 0 ||
        l->attributes.resize.coordinates == VBS_COORDINATES_ALIGN_CORNERS)
        return false;
    if (nearest && l->attributes.resize.coordinates == VBS_COORDINATES_ASYMMETRIC &&
        l->attributes.resize.nearest == VBS_NEAREST_FLOOR)
        return make(1, out / in, 0, 0, reach);
    /* The coordinate is between y / scale - 1/2 and y / scale + 1/2. */
    return make(2, 2 * (out / in), -(out / in) * (1 + 2 * beside), (out / in) * (1 + 2 * beside),
                reach);
}

/* Gives whether the axis of an operator along one dimension leaves rows alone. */
static bool leaves_rows(int axis, struct vbs_reach *reach)
{
    *reach = SAME;
    return axis != ROWS;
}

static bool slice_reach(const struct vbs_layer *l, struct vbs_reach *reach)
{
    int64_t begin = l->attributes.slice.begin[ROWS], step = l->attributes.slice.step[ROWS];

    return step > 0 && make(step, 1, begin, begin, reach);
}

static bool pad_reach(const struct vbs_layer *l, struct vbs_reach *reach)
{
    int64_t before = l->attributes.pad.before[ROWS], behind = l->attributes.pad.behind[ROWS];

    if (before == 0 && behind == 0)
        return make(1, 1, 0, 0, reach);
    return l->attributes.pad.mode == VBS_PAD_CONSTANT && make(1, 1, -before, -before, reach);
}

static bool operator_reach(const struct vbs_layer *l, int input, struct vbs_reach *reach)
{
    *reach = SAME;
    switch (l->op) {
    case VBS_OP_CONV:
        return window_reach(&l->attributes.weighted.window, reach);
    case VBS_OP_CONV_TRANSPOSE:
        return transposed_reach(&l->attributes.weighted.window, reach);
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        if (accumulates(l)) {
            *reach = (struct vbs_reach){.step = 1};
            return true;
        }
        return window_reach(&l->attributes.pool.window, reach);
    case VBS_OP_LRN: /* across channels */
    case VBS_OP_BATCHNORM:
    case VBS_OP_SCALE:
    case VBS_OP_SHUFFLE: /* of channels */
        return true;
    case VBS_OP_CONCAT:
        return leaves_rows(l->attributes.concat.axis, reach);
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
        return leaves_rows(l->attributes.softmax.axis, reach);
    case VBS_OP_LAYER_NORM:
        return l->attributes.norm.axis > ROWS;
    case VBS_OP_TRANSPOSE:
        return l->attributes.transpose.perm[ROWS] == ROWS;
    case VBS_OP_RESIZE:
        return resize_reach(l, reach);
    case VBS_OP_SLICE:
        return slice_reach(l, reach);
    case VBS_OP_PAD:
        return pad_reach(l, reach);
    default:
        break;
    }
    if (vbs_op_class(l->op) == VBS_CLASS_BINARY)
        return binary_reach(l, input, reach);
    if (vbs_op_class(l->op) == VBS_CLASS_REDUCE)
        return !(l->attributes.reduce.axes >> ROWS & 1);
    return vbs_op_class(l->op) == VBS_CLASS_UNARY;
}

/* Gives whether an operator that is fused works on single values, or on the channels of one
 * position. */
static bool keeps_rows(const struct vbs_fused *fused)
{
    return vbs_op_class(fused->op) == VBS_CLASS_UNARY || fused->op == VBS_OP_BATCHNORM ||
           fused->op == VBS_OP_SCALE;
}

bool vbs_layer_reach(const struct vbs_network *network, int layer, int input,
                     struct vbs_reach *reach)
{
    const struct vbs_layer *l = &network->layers[layer];
    const struct vbs_shape *view = &l->views[input];
    const struct vbs_shape *own = &network->layers[l->inputs[input]].shape;
    bool passes =
        vbs_shape_rows(&l->shape) > 0 && vbs_shape_rows(own) > 0 && view->n_dims == own->n_dims;

    /* The output of a layer that accumulates is complete with its last step. */
    passes = passes && !accumulates(&network->layers[l->inputs[input]]);
    for (int d = 0; passes && d < own->n_dims; d++)
        passes = view->dim[d] == own->dim[d];
    for (int i = 0; passes && i < l->n_fused; i++)
        passes = keeps_rows(&l->fused[i]);
    if (passes && operator_reach(l, input, reach))
        return true;
    *reach = (struct vbs_reach){0};
    return false;
}
