/* What a network has less without one channel of a group. */
#include "prune/groups.h"

#include "base/fail.h"
#include "prune/filters.h"

#include <stdlib.h>

/* What a layer loses with one channel of a group. */
struct lost {
    int64_t in;  /* elements of its first input */
    int64_t out; /* positions of its output along the dimension of the channels */
};

/* The sums of all groups, and the losses of one layer. */
struct tally {
    const struct vbs_network *network;
    struct vbs_prune_whole *whole;
    int *first_of;     /* [n_channels] the group of which it is the first channel, or -1 */
    struct lost *lost; /* [n_groups] of this layer */
    int *touched;      /* [n_touched] groups with a loss */
    int n_touched;
};

static struct lost *lost_of(struct tally *t, int group)
{
    struct lost *lost = &t->lost[group];

    if (lost->in == 0 && lost->out == 0)
        t->touched[t->n_touched++] = group;
    return lost;
}

/* Counts the first channels of all groups in a tensor, in which each position has so many elements
 * that count; as: whether they are read. */
static void count_tensor(struct tally *t, int tensor, int64_t each, bool read)
{
    const struct vbs_prune_tensor *channels = &t->whole->tensors[tensor];

    for (int64_t i = 0; channels->channels && i < channels->n; i++) {
        int channel = channels->channels[i];
        struct lost *lost;

        if (channel < 0 || t->first_of[channel] < 0)
            continue;
        lost = lost_of(t, t->first_of[channel]);
        *(read ? &lost->in : &lost->out) += each;
    }
}

/* Gives the weights of a conv, deconv or fc after a loss. */
static int64_t weights_left(const struct tally *t, int layer, const struct lost *lost)
{
    const struct vbs_layer *l = &t->network->layers[layer];
    const struct vbs_shape *view = &l->views[0];
    int64_t n_out = l->attributes.weighted.out_channels, groups = l->attributes.weighted.groups;
    int64_t n_in, each, left_in, left_out = n_out - lost->out;

    if (l->op == VBS_OP_FC)
        n_in = l->attributes.weighted.rows ? view->dim[view->n_dims - 1] : vbs_shape_elements(view);
    else
        n_in = view->dim[0];
    left_in = n_in - lost->in / (vbs_shape_elements(view) / n_in);
    if (groups <= 1)
        return vbs_weight_count(t->network, layer) / (n_in * n_out) * left_in * left_out;
    each = vbs_weight_count(t->network, layer) / (n_in / groups * n_out);
    if (groups <= n_in / groups)
        return each * (left_in / groups) * left_out;
    return each * (n_in / groups) * left_out;
}

/* Gives the parameters that one position of the output has, beside weights. */
static int64_t parameters_each(const struct vbs_layer *l, int axis)
{
    int operand = axis - (l->shape.n_dims - l->operand.n_dims);
    int64_t each = 0;

    for (int f = 0; f < l->n_fused && axis == 0; f++)
        each += l->fused[f].parameters / l->shape.dim[0];
    if (l->operand.n_dims > 0 && operand >= 0 && l->operand.dim[operand] > 1 &&
        vbs_op_class(l->op) == VBS_CLASS_BINARY)
        each += vbs_shape_elements(&l->operand) / l->operand.dim[operand];
    if (l->op == VBS_OP_GATHER && axis == l->attributes.gather.axis)
        each++;
    if (axis == 0 &&
        (l->op == VBS_OP_BATCHNORM || l->op == VBS_OP_SCALE || l->op == VBS_OP_INSTANCE_NORM)) {
        int64_t own = l->parameters;

        for (int f = 0; f < l->n_fused; f++)
            own -= l->fused[f].parameters;
        each += own / l->shape.dim[0];
    }
    return each;
}

/* Adds what a layer loses to the groups that it belongs to. */
static void add_layer(struct tally *t, int layer)
{
    const struct vbs_layer *l = &t->network->layers[layer];
    bool filters = vbs_prune_has_filters(t->network, layer);
    int64_t n = filters ? vbs_weight_count(t->network, layer) : 0;

    t->n_touched = 0;
    count_tensor(t, layer, 1, false);
    if (filters && t->whole->tensors[l->inputs[0]].channels)
        count_tensor(t, l->inputs[0],
                     vbs_shape_elements(&l->views[0]) / t->whole->tensors[l->inputs[0]].n, true);
    for (int i = 0; i < t->n_touched; i++) {
        struct lost *lost = &t->lost[t->touched[i]];
        struct vbs_prune_group *group = &t->whole->groups[t->touched[i]];

        group->parameters += lost->out * parameters_each(l, t->whole->tensors[layer].axis);
        if (filters) {
            int64_t less = n - weights_left(t, layer, lost);

            group->parameters += less + (l->attributes.weighted.bias ? lost->out : 0);
            group->macs += l->macs / n * less;
        }
        *lost = (struct lost){0};
    }
}

enum vbs_status vbs_prune_work(struct vbs_ctx *ctx, const struct vbs_network *network,
                               struct vbs_prune_whole *whole)
{
    size_t n_groups = (size_t)whole->head.n_groups + 1;
    size_t n_channels = (size_t)whole->head.n_channels + 1;
    struct tally t = {.network = network,
                      .whole = whole,
                      .first_of = malloc(n_channels * sizeof *t.first_of),
                      .lost = calloc(n_groups, sizeof *t.lost),
                      .touched = calloc(n_groups, sizeof *t.touched)};
    enum vbs_status status = t.first_of && t.lost && t.touched ? VBS_OK : vbs_no_memory(ctx);

    if (status == VBS_OK) {
        for (int64_t i = 0; i < whole->head.n_channels; i++)
            t.first_of[i] = -1;
        for (int g = 0; g < whole->head.n_groups; g++)
            t.first_of[whole->groups[g].first] = g;
        for (int k = 1; k <= network->n_layers; k++)
            add_layer(&t, k);
    }
    free(t.first_of);
    free(t.lost);
    free(t.touched);
    return status;
}
