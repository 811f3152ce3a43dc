/*
 * Kernels on rows of a sample. The operators build them as they build whole layers: the build's
 * layer then has as many rows as the stripe, its inputs have those rows that the stripe reads, and
 * the padding is what is left of it at the borders of the input.
 *
 * A stripe at the top of a layer has other padding than one in the middle, and so is another
 * primitive. A row of a profile stands for all of them.
 */
#include "backend/onednn/stripes.h"

#include "base/fail.h"
#include "model/network/network.h"
#include "profile/reach.h"

#include <stdlib.h>
#include <string.h>

/* ---- the layers that have such kernels ---- */

/* Gives whether rows of a transposed convolution lie between its windows, because a window is
 * smaller than the stride. */
static bool has_gaps(const struct vbs_layer *l)
{
    const struct vbs_window *w = &l->attributes.weighted.window;

    return l->op == VBS_OP_CONV_TRANSPOSE && w->dilation[0] * (w->kernel[0] - 1) < w->stride[0] - 1;
}

/* Gives whether the operator's builder makes kernels on rows. */
static bool is_supported(const struct vbs_layer *l)
{
    switch (l->op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
    case VBS_OP_RESIZE:
    case VBS_OP_LRN:
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
    case VBS_OP_BATCHNORM:
    case VBS_OP_SCALE:
    case VBS_OP_CONCAT:
    case VBS_OP_DROPOUT:
    case VBS_OP_IDENTITY:
    case VBS_OP_SHUFFLE:
    case VBS_OP_SLICE:
    case VBS_OP_PAD:
        return true;
    default:
        return vbs_op_class(l->op) == VBS_CLASS_UNARY || vbs_op_class(l->op) == VBS_CLASS_BINARY;
    }
}

/* Gives whether a constant operand has values of its own for each row. */
static bool has_constant_rows(const struct vbs_layer *l)
{
    int axis = 1 - (l->shape.n_dims - l->operand.n_dims);

    return l->operand.n_dims > 0 && axis >= 0 && l->operand.dim[axis] > 1;
}

/* Gives whether each row of the output reads a row that the input has: some windows may lie wholly
 * in the padding. */
static bool reads_rows(const struct vbs_reach *reach, int64_t in_rows, int64_t rows)
{
    const struct vbs_reached top = vbs_reach_rows(reach, in_rows, 0, 1);
    const struct vbs_reached bottom = vbs_reach_rows(reach, in_rows, rows - 1, 1);

    return top.first < top.end && bottom.first < bottom.end;
}

/* Gives whether a layer that accumulates has kernels on rows: a global pooling of floats, behind
 * which no operators with parameters are fused. */
static bool can_accumulate(const struct od_session *s, int k)
{
    const struct vbs_layer *l = &s->core.network->layers[k];
    const struct od_tensor *in = &s->inputs[k][0], *out = &s->tensors[k];
    bool can = out->positions == 1 && in->stored_channels == out->stored_channels &&
               in->channels == in->stored_channels &&
               s->stored[k].encoding.storage == VBS_FLOAT32 &&
               s->stored[l->inputs[0]].encoding.storage == VBS_FLOAT32;

    for (int i = 0; i < in->n_spatial; i++)
        can = can && l->attributes.pool.window.kernel[i] == in->spatial[i];
    for (int i = 0; i < l->n_fused; i++)
        can = can && vbs_op_class(l->fused[i].op) == VBS_CLASS_UNARY;
    return can;
}

/* Gives whether the layer has kernels on rows, as far as its operator decides. */
static bool can_have_rows(const struct od_session *s, int k)
{
    const struct vbs_layer *l = &s->core.network->layers[k];
    const struct vbs_profile_layer *layer = &s->core.layers[k];

    if (!is_supported(l) || has_constant_rows(l) || has_gaps(l))
        return false;
    if (vbs_layer_accumulates(layer))
        return can_accumulate(s, k);
    for (int i = 0; i < layer->n_inputs; i++) {
        const struct od_tensor *in = &s->inputs[k][i];

        /* What is read whole is the same for all rows. A tensor in another layout may not be. */
        if (vbs_reach_is_whole(&layer->reaches[i])
                ? in->shape.dim[1] > 1
                : !reads_rows(&layer->reaches[i], in->spatial[0], layer->rows))
            return false;
    }
    return true;
}

enum vbs_status od_stripes_init(struct od_build *b)
{
    struct od_session *s = b->session;
    int n_layers = b->network->n_layers;
    bool *rows = vbs_arena_alloc(&s->core.arena, (size_t)n_layers + 1, sizeof *rows);

    if (!rows)
        return vbs_no_memory(b->ctx);
    for (int k = 0; k <= n_layers; k++)
        rows[k] = s->tensors[k].canonical == OD_CHANNELS_LAST;
    VBS_TRY(vbs_graph_init_rows(b->ctx, &s->core, rows));
    for (int k = 1; k <= n_layers; k++)
        if (s->core.layers[k].reaches && !can_have_rows(s, k)) {
            s->core.layers[k].reaches = NULL;
            s->core.layers[k].rows = rows[k] ? vbs_shape_rows(&b->network->layers[k].shape) : 0;
        }
    return VBS_OK;
}

/* ---- a layer of some rows ---- */

/* Everything that a build of a stripe points to. */
struct od_stripe {
    struct vbs_layer layer;
    struct od_tensor *inputs; /* [n_inputs] */
    struct od_tensor output;
    int64_t row_read; /* the first row of input 0 */
};

/* Gives the tensor that has n of the rows of another one. */
static struct od_tensor cut(const struct od_session *s, const struct od_tensor *tensor, int64_t n)
{
    struct od_tensor part = *tensor;

    part.shape.dim[1] = n;
    part.spatial[0] = n;
    part.positions = tensor->positions / tensor->spatial[0] * n;
    return od_in_layout(s, &part, tensor->canonical);
}

/* Sets the padding of a layer of rows [row, row + n), which reads these rows of its input. */
static void pad(struct vbs_layer *l, const struct vbs_reached *read, int64_t row, int64_t n)
{
    struct vbs_window *w = vbs_op_windows(l->op, &l->attributes);
    int64_t extent;

    if (!w)
        return;
    if (l->op != VBS_OP_CONV_TRANSPOSE) {
        w->pad_low[0] = read->above;
        w->pad_high[0] = read->below;
        return;
    }
    /* Row y of the output is row y + pad of all windows together, in which those of input row i
     * begin at row stride * i. The padding cuts off what other stripes write. */
    extent = w->dilation[0] * (w->kernel[0] - 1);
    w->pad_low[0] += row - w->stride[0] * read->first;
    w->pad_high[0] = w->stride[0] * (read->end - 1 - read->first) + extent + 1 - n - w->pad_low[0];
    l->attributes.weighted.out_pad[0] = 0;
}

/* Makes the layer of rows [row, row + n) of layer number k. */
static enum vbs_status stripe_init(struct od_build *b, int k, int row, int n,
                                   struct od_stripe *stripe)
{
    struct od_session *s = b->session;
    const struct vbs_profile_layer *layer = &s->core.layers[k];
    const struct vbs_layer *l = &b->network->layers[k];

    stripe->layer = *l;
    stripe->row_read = 0;
    stripe->layer.macs = l->macs / layer->rows * n;
    stripe->output = s->tensors[k];
    if (!vbs_layer_accumulates(layer)) {
        stripe->layer.shape.dim[1] = n;
        stripe->output = cut(s, &s->tensors[k], n);
    }
    stripe->inputs = vbs_arena_alloc(&s->core.arena, (size_t)l->n_inputs, sizeof *stripe->inputs);
    if (!stripe->inputs)
        return vbs_no_memory(b->ctx);
    for (int i = 0; i < l->n_inputs; i++) {
        const struct od_tensor *whole = &s->inputs[k][i];
        const struct vbs_reach *reach = &layer->reaches[i];
        struct vbs_reached read;

        stripe->inputs[i] = *whole;
        if (vbs_reach_is_whole(reach))
            continue;
        read = vbs_reach_rows(reach, whole->spatial[0], row, n);
        stripe->inputs[i] = cut(s, whole, read.end - read.first);
        stripe->row_read = i == 0 ? read.first : stripe->row_read;
        pad(&stripe->layer, &read, row, n);
    }
    return VBS_OK;
}

/* Appends the kernels of rows [row, row + n), or the requested one. */
static enum vbs_status make(struct od_build *b, od_maker *make_kernels, int layer, int row, int n,
                            const struct vbs_requested *requested)
{
    struct od_stripe stripe;
    enum vbs_status status;

    b->l = &b->network->layers[layer];
    VBS_TRY(stripe_init(b, layer, row, n, &stripe));
    b->row_inputs = stripe.inputs;
    b->row_output = &stripe.output;
    b->row = row;
    b->row_read = stripe.row_read;
    status = make_kernels(b, layer, &stripe.layer, requested);
    b->row_inputs = NULL;
    b->row_output = NULL;
    b->l = &b->network->layers[layer];
    return status;
}

/* ---- kernels that stand for stripes at all places ---- */

/* Gives whether stripes of n rows that begin at two rows are the same primitive. */
static bool are_alike(const struct od_session *s, int layer, int a, int b, int n)
{
    const struct vbs_profile_layer *l = &s->core.layers[layer];

    for (int i = 0; i < l->n_inputs; i++) {
        int64_t in_rows = s->inputs[layer][i].spatial[0];
        struct vbs_reached x, y;

        if (vbs_reach_is_whole(&l->reaches[i]))
            continue;
        x = vbs_reach_rows(&l->reaches[i], in_rows, a, n);
        y = vbs_reach_rows(&l->reaches[i], in_rows, b, n);
        if (x.end - x.first != y.end - y.first || x.above != y.above || x.below != y.below ||
            vbs_reach_phase(&l->reaches[i], in_rows, a, n) !=
                vbs_reach_phase(&l->reaches[i], in_rows, b, n))
            return false;
    }
    return true;
}

/* Gives whether a stripe of n rows from row on is like that of one of the places. */
static bool is_like_one(const struct od_session *s, int layer, const int *places, int n_places,
                        int row, int n)
{
    /* Most stripes are like the one at the last place that was found, or like the first place. */
    for (int i = n_places - 1; i >= 0; i--)
        if (are_alike(s, layer, places[i], row, n))
            return true;
    return false;
}

/* Finds the kernel of a name among those from number first on; -1: there is none. */
static int find_named(const struct od_session *s, int first, const char *algorithm)
{
    for (int i = first; i < s->core.session.n_kernels; i++)
        if (strcmp(s->core.offers[i].algorithm, algorithm) == 0)
            return i;
    return -1;
}

/* Removes the kernels from number end on. */
static void release_from(struct od_session *s, int end)
{
    for (int i = end; i < s->core.session.n_kernels; i++)
        od_kernel_release(&s->kernels[i]);
    s->core.session.n_kernels = end;
}

/* Removes kernel number index. */
static void drop(struct od_session *s, int index)
{
    int n = --s->core.session.n_kernels;

    od_kernel_release(&s->kernels[index]);
    for (int i = index; i < n; i++) {
        s->core.offers[i] = s->core.offers[i + 1];
        s->kernels[i] = s->kernels[i + 1];
    }
}

/* Makes kernel number index stand for another place too, where it is kernel number other: it gets
 * the larger workspace of both. False: they read other weights. */
static bool join(struct od_session *s, int index, int other)
{
    struct vbs_kernel *kept = &s->core.offers[index];
    const struct vbs_kernel *there = &s->core.offers[other];

    if (there->format != kept->format || there->packed_bytes != kept->packed_bytes ||
        there->weight_bytes != kept->weight_bytes)
        return false;
    if (kept->ws_bytes < there->ws_bytes)
        kept->ws_bytes = there->ws_bytes;
    return true;
}

/* Finds kernel number index among those of the rows from row on, which are the kernels from number
 * first on; *other is -1 where these rows have none. A kernel that cannot matter there is made when
 * it is asked for. */
static enum vbs_status find_there(struct od_build *b, od_maker *make_kernels, int index, int first,
                                  int row, int n, int *other)
{
    struct od_session *s = b->session;
    const struct vbs_kernel offer = s->core.offers[index];
    struct vbs_requested requested = vbs_requested_read(
        &(struct vbs_requested_kernel){.layer = offer.layer, .algorithm = offer.algorithm});

    *other = find_named(s, first, offer.algorithm);
    if (*other >= 0)
        return VBS_OK;
    VBS_TRY(make(b, make_kernels, offer.layer, row, n, &requested));
    *other = find_named(s, first, offer.algorithm);
    return VBS_OK;
}

/* Makes the kernels from number first on stand for the rows from row on too, and drops those that
 * these rows do not have. */
static enum vbs_status cover(struct od_build *b, od_maker *make_kernels, int layer, int first,
                             int row, int n)
{
    struct od_session *s = b->session;
    int end = s->core.session.n_kernels;

    VBS_TRY(make(b, make_kernels, layer, row, n, NULL));
    for (int i = first; i < end;) {
        int other;

        VBS_TRY(find_there(b, make_kernels, i, end, row, n, &other));
        if (other >= 0 && join(s, i, other)) {
            i++;
        } else {
            drop(s, i);
            end--;
        }
    }
    release_from(s, end);
    return VBS_OK;
}

/* Makes the kernels from number first on, which are those of the rows from row on, stand for
 * stripes of n rows anywhere in the layer, and drops those of which some place has none. */
static enum vbs_status cover_all(struct od_build *b, od_maker *make_kernels, int layer, int first,
                                 int row, int n)
{
    struct od_session *s = b->session;
    int last = s->core.layers[layer].rows - n, n_places = 1;
    enum vbs_status status = VBS_OK;
    int *places = malloc(((size_t)last + 2) * sizeof *places);

    if (!places)
        return vbs_no_memory(b->ctx);
    places[0] = row;
    b->sizes_only = true;
    for (int r = 0; r <= last && status == VBS_OK; r++) {
        if (is_like_one(s, layer, places, n_places, r, n))
            continue;
        places[n_places++] = r;
        status = cover(b, make_kernels, layer, first, r, n);
    }
    b->sizes_only = false;
    free(places);
    return status;
}

enum vbs_status od_stripes_make(struct od_build *b, od_maker *make_kernels, int layer, int row,
                                int n, const struct vbs_requested *requested)
{
    int first = b->session->core.session.n_kernels;

    b->batch = 1;
    VBS_TRY(make(b, make_kernels, layer, row, n, requested));
    return requested ? VBS_OK : cover_all(b, make_kernels, layer, first, row, n);
}
