#include "prune/filters.h"

bool vbs_prune_has_filters(const struct vbs_network *network, int layer)
{
    enum vbs_op op = network->layers[layer].op;

    return op == VBS_OP_CONV || op == VBS_OP_CONV_TRANSPOSE || op == VBS_OP_FC;
}

struct vbs_filter_order vbs_filter_order(const struct vbs_network *network, int layer,
                                         enum vbs_parameter what)
{
    const struct vbs_layer *l = &network->layers[layer];
    int64_t n_out = l->attributes.weighted.out_channels, groups = l->attributes.weighted.groups;
    int64_t n_weights = vbs_weight_count(network, layer), n_in;
    struct vbs_filter_order order = {.n_columns = 1};

    if (what == VBS_PARAMETER_BIAS)
        return order;
    if (l->op != VBS_OP_CONV_TRANSPOSE) {
        order.n_columns = n_weights / n_out;
        return order;
    }
    n_in = l->views[0].dim[0];
    order.n_columns = n_weights / n_in;
    order.group_rows = n_in / groups;
    order.n_each = n_out / groups;
    order.size = order.n_columns / order.n_each;
    return order;
}

int64_t vbs_filter_of(const struct vbs_filter_order *order, int64_t i)
{
    int64_t row = i / order->n_columns;

    if (order->group_rows == 0)
        return row;
    return row / order->group_rows * order->n_each + i % order->n_columns / order->size;
}
