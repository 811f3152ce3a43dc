#include "model/network/view.h"

#include "model/network/shape.h"

/* Gives the distance of neighbours along a dimension, in elements. */
static int64_t stride_of(const struct vbs_shape *shape, int axis)
{
    int64_t stride = 1;

    for (int d = axis + 1; d < shape->n_dims; d++)
        stride *= shape->dim[d];
    return stride;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Gives how many sets of positions a dimension of the view tells apart. Element e has position (e /
 * from_stride) % n_positions and index (e / stride) % extent: of the two strides, and of the two
 * periods, one has to divide the other, and the longer stride the shorter period. 0: sets cannot be
 * told apart by index. */
static int64_t count_apart(const struct vbs_view_axis *a)
{
    int64_t period = a->extent * a->stride, from_period = a->n_positions * a->from_stride;
    int64_t wide = a->stride > a->from_stride ? a->stride : a->from_stride;

    if (a->stride % a->from_stride != 0 && a->from_stride % a->stride != 0)
        return 0;
    if (period % from_period != 0 && from_period % period != 0)
        return 0;
    if (least(period, from_period) % wide != 0)
        return 0;
    return least(period, from_period) / wide;
}

bool vbs_view_find(const struct vbs_shape *shape, int axis, const struct vbs_shape *view,
                   struct vbs_view_axis *found)
{
    struct vbs_view_axis best = {.n_apart = 0};

    for (int d = 0; d < view->n_dims; d++) {
        struct vbs_view_axis a = {.axis = d,
                                  .extent = view->dim[d],
                                  .stride = stride_of(view, d),
                                  .n_positions = shape->dim[axis],
                                  .from_stride = stride_of(shape, axis)};

        a.n_apart = count_apart(&a);
        if (a.n_apart >= best.n_apart)
            best = a;
        if (d == axis && vbs_shape_equal(shape, view)) {
            best = a;
            break;
        }
    }
    *found = best;
    return best.n_apart > 1 || (best.n_apart == 1 && best.n_positions == 1);
}

int64_t vbs_view_position(const struct vbs_view_axis *a, int64_t index)
{
    return index * a->stride / a->from_stride % a->n_positions;
}

int64_t vbs_view_index(const struct vbs_view_axis *a, int64_t position)
{
    return position * a->from_stride / a->stride % a->extent;
}
