/* Kernels as points: what their times are proportional to, and what else they may depend on. */
#include "predict/predict.h"

#include "model/network/network.h"

#include <math.h>
#include <string.h>

/* Gives the product of the dimensions of a sample behind the channels. */
static double positions(const struct vbs_shape *shape)
{
    double n = 1;

    for (int i = 1; i < shape->n_dims; i++)
        n *= (double)shape->dim[i];
    return n;
}

/* Gives the elements of a window, and in *stride those by which it moves. */
static double window_elements(const struct vbs_layer *l, double *stride)
{
    union vbs_attributes attributes = l->attributes;
    const struct vbs_window *window = vbs_op_windows(l->op, &attributes);
    double n = 1;

    *stride = 1;
    for (int i = 0; window && i + 1 < l->views[0].n_dims && i < VBS_MAX_SPATIAL; i++) {
        n *= (double)window->kernel[i];
        *stride *= (double)window->stride[i];
    }
    return n;
}

/* Counts the operations on values for one sample. */
static double work_of(const struct vbs_layer *l)
{
    double elements = (double)vbs_shape_elements(&l->shape), stride;

    if (l->macs > 0)
        return (double)l->macs;
    if (l->op == VBS_OP_LRN)
        return elements * (double)l->attributes.lrn.size;
    return elements * window_elements(l, &stride);
}

static double groups_of(const struct vbs_layer *l)
{
    return l->op == VBS_OP_CONV || l->op == VBS_OP_CONV_TRANSPOSE
               ? (double)l->attributes.weighted.groups
               : 1;
}

/* Copies the name of an algorithm without the number of slices behind its last slash. */
static const char *without_slices(const char *name, int n_slices, struct vbs_arena *arena)
{
    char *copy = vbs_arena_strdup(arena, name);
    char *slash = copy && n_slices > 1 ? strrchr(copy, '/') : NULL;

    if (slash)
        *slash = '\0';
    return copy;
}

/* Returns the bytes of weights that a kernel reads: those of the states of a recurrent operator are
 * read again for each element of the sequence. */
static double weight_bytes_read(const struct vbs_layer *l, const struct vbs_profile_row *row)
{
    double bytes = (double)row->weight_bytes;

    if (vbs_op_gates(l->op) > 0)
        bytes += ((double)l->views[0].dim[0] - 1) * (double)vbs_shape_elements(&l->operand) *
                 (double)sizeof(float);
    return bytes;
}

/* Writes the terms in units that bring all of them to microseconds on a processor of middling
 * speed: one for a kernel, its operations, the bytes of activations, weights and workspace. */
static void fill_terms(const struct vbs_layer *l, const struct vbs_profile_layer *about, int batch,
                       const struct vbs_profile_row *row, double *terms)
{
    const double operations = 1e5, bytes = 4e4;

    terms[0] = 1;
    terms[1] = work_of(l) * batch / operations;
    terms[2] = (double)(about->in_bytes + about->out_bytes) * batch / bytes;
    terms[3] = weight_bytes_read(l, row) / bytes;
    terms[4] = (double)row->ws_bytes / bytes;
}

static void fill_features(const struct vbs_layer *l, const struct vbs_profile_layer *about,
                          int batch, const struct vbs_profile_row *row, double *features)
{
    const double doublings = 8; /* that count as 1 along most coordinates */
    double groups = groups_of(l), stride, elements = window_elements(l, &stride);
    double bytes =
        (double)(about->in_bytes + about->out_bytes) * batch + (double)row->weight_bytes + 1;

    features[0] = log2((double)l->views[0].dim[0] / groups) / doublings;
    features[1] = log2((double)l->shape.dim[0] / groups) / doublings;
    features[2] = log2(positions(&l->shape)) / doublings;
    features[3] = log2(batch) / doublings * 2;
    features[4] = log2(elements) / doublings;
    features[5] = log2(stride) / doublings * 2;
    features[6] = log2(groups) / doublings;
    features[7] = log2(bytes) / doublings;
    features[8] = log2(row->n_slices > 1 ? row->n_slices : 1) / doublings * 2;
}

struct predict_point vbs_predict_describe(const struct vbs_layer *l,
                                          const struct vbs_profile_layer *about, int batch,
                                          const char *algorithm, const struct vbs_profile_row *row,
                                          struct vbs_arena *arena)
{
    struct predict_point point = {.op = l->op};

    point.algorithm = without_slices(algorithm, row->n_slices, arena);
    if (groups_of(l) > 1)
        point.groups =
            groups_of(l) == (double)l->views[0].dim[0] ? PREDICT_DEPTHWISE : PREDICT_GROUPED;
    fill_terms(l, about, batch, row, point.terms);
    fill_features(l, about, batch, row, point.features);
    return point;
}
