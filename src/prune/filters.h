/* Filters of layers. Internal to the room. */
#ifndef VBS_PRUNE_FILTERS_H
#define VBS_PRUNE_FILTERS_H

#include "vbslab/model.h"

/* Gives whether a layer has filters: a conv, deconv or fc. */
bool vbs_prune_has_filters(const struct vbs_network *network, int layer);

/* The order of the weights of a conv, deconv or fc, or of its biases, by filter. */
struct vbs_filter_order {
    int64_t n_columns;    /* weights of a row; a bias is a row of its own */
    int64_t group_rows;   /* rows of a group, of a deconv whose rows are inputs; else 0 */
    int64_t n_each, size; /* then: filters of a group, and weights of each in a row */
};

struct vbs_filter_order vbs_filter_order(const struct vbs_network *network, int layer,
                                         enum vbs_parameter what);

/* Gives the filter to which value number i of the parameter belongs. */
int64_t vbs_filter_of(const struct vbs_filter_order *order, int64_t i);

#endif
