/*
 * Resizing as ONNX defines it. oneDNN has one definition of coordinates (half_pixel). Where the
 * requested definition gives the same result position by position, its primitive is used; else each
 * dimension is resized in turn.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/kernels/kernels.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>

/* The input positions, and their weights, of which positions of one dimension are made. */
struct taps {
    int64_t n_in, n_out;
    int n;          /* per position */
    int64_t *index; /* [n_out][n]; the first < 0: the extrapolation's value */
    float *weight;  /* [n_out][n] */
    bool same;      /* every position is its own input */
};

/* ---- definitions ---- */

/* Gives the weight of a value at distance t (Keys 1981). */
static double cubic(double a, double t)
{
    if (t >= 2)
        return 0;
    return t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
}

static double weight_of(const union vbs_attributes *a, double t)
{
    return a->resize.mode == VBS_RESIZE_CUBIC ? cubic(a->resize.cubic_a, t) : t < 1 ? 1 - t : 0;
}

/* Returns how far from a coordinate values have weights. */
static double radius(const union vbs_attributes *a, int d)
{
    return (a->resize.mode == VBS_RESIZE_CUBIC ? 2 : 1) * vbs_resize_width(a, d);
}

static int n_taps(const union vbs_attributes *a, int d)
{
    if (a->resize.mode == VBS_RESIZE_NEAREST)
        return 1;
    return vbs_resize_width(a, d) > 1 ? (int)(2 * radius(a, d)) + 1 : (int)(2 * radius(a, d));
}

static int64_t clamped(double x, int64_t n)
{
    return x < 0 ? 0 : x > (double)(n - 1) ? n - 1 : (int64_t)x;
}

/* Lets taps of weight 0 read what another one reads, because 0 times infinity is no number. */
static void skip_zeros(int taps, const float *weight, int64_t *index)
{
    int used = 0;

    while (used < taps - 1 && weight[used] == 0)
        used++;
    for (int t = 0; t < taps; t++)
        index[t] = index[weight[t] == 0 ? used : t];
}

/* Fills the taps of one position along dimension d of n elements, whose coordinate is x. */
static void position_taps(const union vbs_attributes *a, int d, double x, int64_t n, int64_t *index,
                          float *weight)
{
    int taps = n_taps(a, d);
    double width = vbs_resize_width(a, d), sum = 0;
    double first = taps == 1   ? vbs_resize_nearest(a->resize.nearest, x)
                   : width > 1 ? ceil(x - radius(a, d))
                               : floor(x) - (taps == 4 ? 1 : 0);

    for (int t = 0; t < taps; t++) {
        double at = first + t;
        bool outside = at < 0 || at > (double)(n - 1);

        index[t] = clamped(at, n);
        weight[t] = taps == 1 ? 1 : (float)weight_of(a, fabs(x - at) / width);
        if (taps > 1 && a->resize.exclude_outside && outside)
            weight[t] = 0;
        sum += (double)weight[t];
    }
    for (int t = 0; t < taps && (a->resize.exclude_outside || width > 1) && sum != 0; t++)
        weight[t] = (float)((double)weight[t] / sum);
    skip_zeros(taps, weight, index);
    if (a->resize.coordinates == VBS_COORDINATES_TF_CROP && (x < 0 || x > (double)(n - 1)))
        index[0] = -1;
}

/* Gives whether all of a position's weight is on tap index. */
static bool is_only(const struct taps *taps, int64_t i, int64_t index)
{
    if (taps->index[i * taps->n] < 0)
        return false;
    for (int t = 0; t < taps->n; t++)
        if (taps->index[i * taps->n + t] != index && fabsf(taps->weight[i * taps->n + t]) > 1e-6f)
            return false;
    return true;
}

/* The positions of a dimension of the whole layer, and those that b's kernels read and write: some
 * rows are a part of them. */
struct extent {
    int64_t in, out;
    int64_t first_in, n_in, first_out, n_out;
};

static struct extent extent_of(const struct od_build *b, int d)
{
    struct extent e = {.n_in = od_input(b, 0)->shape.dim[d], .n_out = b->l->shape.dim[d]};

    e.in = b->session->inputs[b->layer][0].shape.dim[d];
    e.out = b->network->layers[b->layer].shape.dim[d];
    if (b->row_output && d == 1) {
        e.first_in = b->row_read;
        e.first_out = b->row;
    }
    return e;
}

static enum vbs_status taps_init(struct od_build *b, int d, struct taps *taps)
{
    const union vbs_attributes *a = &b->l->attributes;
    struct vbs_arena *arena = &b->session->core.arena;
    const struct extent e = extent_of(b, d);
    int n = n_taps(a, d);

    *taps = (struct taps){.n_in = e.n_in, .n_out = e.n_out, .n = n, .same = e.n_in == e.n_out};
    taps->index = vbs_arena_alloc(arena, (size_t)(e.n_out * n), sizeof *taps->index);
    taps->weight = vbs_arena_alloc(arena, (size_t)(e.n_out * n), sizeof *taps->weight);
    if (!taps->index || !taps->weight)
        return vbs_no_memory(b->ctx);
    for (int64_t i = 0; i < e.n_out; i++) {
        int64_t *index = taps->index + i * n;

        position_taps(a, d, vbs_resize_coordinate(a, d, e.in, e.out, e.first_out + i), e.in, index,
                      taps->weight + i * n);
        for (int t = 0; t < n; t++)
            index[t] -= index[t] < 0 ? 0 : e.first_in;
        taps->same = taps->same && is_only(taps, i, i);
    }
    return VBS_OK;
}

/* ---- oneDNN's definition ---- */

static bool is_onednn_position(const struct taps *taps, int64_t i)
{
    float place = ((float)i + 0.5f) * (float)taps->n_in / (float)taps->n_out - 0.5f;
    double most = (double)(taps->n_in - 1), at = 0;

    if (taps->index[i * taps->n] < 0)
        return false;
    if (taps->n == 1)
        return taps->index[i] == clamped(roundf(place), taps->n_in);
    for (int t = 0; t < taps->n; t++)
        at += (double)taps->weight[i * taps->n + t] * (double)taps->index[i * taps->n + t];
    return fabs(at - fmin(fmax(place, 0), most)) <= 1e-6 + 1e-7 * most;
}

static bool is_onednn(const struct taps *taps)
{
    for (int64_t i = 0; i < taps->n_out; i++)
        if (taps->n > 2 || !is_onednn_position(taps, i))
            return false;
    return true;
}

/* Gives how many of the last dimensions are passed to oneDNN: all from the first that is resized
 * on, and at least one; 0: oneDNN cannot resize them. */
static int onednn_dims(const struct od_build *b, const struct taps *taps)
{
    int n_dims = b->l->shape.n_dims, n = 1;

    for (int d = 0; d < n_dims; d++) {
        if (!taps[d].same && n < n_dims - d)
            n = n_dims - d;
        if (!is_onednn(&taps[d]))
            return 0;
    }
    return n <= VBS_MAX_SPATIAL ? n : 0;
}

/* Describes plain samples: [N, everything before, resized...]. */
static enum vbs_status describe_last(struct od_build *b, const struct vbs_shape *shape, int n,
                                     dnnl_memory_desc_t *md)
{
    dnnl_dims_t dims = {b->batch, 1};

    for (int d = 0; d < shape->n_dims; d++) {
        if (d < shape->n_dims - n)
            dims[1] *= shape->dim[d];
        else
            dims[2 + d - (shape->n_dims - n)] = shape->dim[d];
    }
    return od_describe_dense(b, 2 + n, dims, md);
}

static enum vbs_status resampling_pd(struct od_build *b, enum od_layout layout, int n,
                                     dnnl_memory_desc_t *src, dnnl_memory_desc_t *dst, int *n_fused,
                                     dnnl_primitive_desc_t *pd)
{
    struct od_tensor in = od_in_layout(b->session, od_input(b, 0), layout);
    dnnl_alg_kind_t algorithm = b->l->attributes.resize.mode == VBS_RESIZE_NEAREST
                                    ? dnnl_resampling_nearest
                                    : dnnl_resampling_linear;
    dnnl_resampling_desc_t desc;
    dnnl_status_t dnnl;

    if (layout != OD_PLAIN) {
        VBS_TRY(od_describe(b, &in, b->batch, layout, true, src));
        VBS_TRY(od_describe(b, od_output(b), b->batch, layout, true, dst));
    } else {
        VBS_TRY(describe_last(b, &in.shape, n, src));
        VBS_TRY(describe_last(b, &b->l->shape, n, dst));
    }
    dnnl =
        dnnl_resampling_forward_desc_init(&desc, dnnl_forward_inference, algorithm, NULL, src, dst);
    return dnnl == dnnl_success ? od_best(b, &desc, 0, n_fused, pd)
                                : od_fail(b, dnnl, "describing a resampling");
}

static enum vbs_status build_resampling(struct od_build *b, int n)
{
    enum od_layout layout = od_output(b)->canonical;
    int n_fused = od_fusable(b, 0);
    dnnl_memory_desc_t src, dst;
    dnnl_primitive_desc_t pd;

    VBS_TRY(resampling_pd(b, layout, n, &src, &dst, &n_fused, &pd));
    return od_build_primitive(b, pd, layout, n_fused);
}

/* ---- any definition ---- */

/* Resizing to the nearest position is a copy, which in blocks is faster than oneDNN's primitive. */
static enum vbs_status build_nearest(struct od_build *b, const struct taps *taps)
{
    struct od_copy copy = {.n_routes = b->l->shape.n_dims,
                           .fill = (float)b->l->attributes.resize.extrapolation};

    for (int d = 0; d < copy.n_routes; d++)
        copy.routes[d] = (struct od_route){.n = taps[d].n_out,
                                           .source = d,
                                           .step = 1,
                                           .table = taps[d].same ? NULL : taps[d].index};
    return od_build_copy(b, &copy);
}

/* The pass over one dimension: [outer, n_in, inner] to [outer, n_out, inner]. */
struct pass {
    struct taps taps;
    int64_t outer, inner;
    float fill;
};

struct pass_run {
    const struct pass *pass;
    const float *from;
    float *to;
};

/* Computes n values, each the weighted sum of 2, 4, or of any number n_taps above 2, from those at
 * the indices, n values each. */
static void blend(int n_taps, const float *weight, const int64_t *index, const float *from,
                  int64_t n, float *to)
{
    const float *a = from + index[0] * n, *b = from + index[1] * n;

    if (n_taps == 4) {
        const float *c = from + index[2] * n, *d = from + index[3] * n;

        for (int64_t j = 0; j < n; j++)
            to[j] = weight[0] * a[j] + weight[1] * b[j] + weight[2] * c[j] + weight[3] * d[j];
        return;
    }
    for (int64_t j = 0; j < n; j++)
        to[j] = weight[0] * a[j] + weight[1] * b[j];
    for (int t = 2; t < n_taps; t++)
        for (int64_t j = 0; j < n; j++)
            to[j] += weight[t] * from[index[t] * n + j];
}

/* Computes position number unit of [outer, n_out], of inner values. */
static void resize_values(void *job, int64_t unit)
{
    const struct pass_run *run = job;
    const struct pass *p = run->pass;
    int64_t i = unit % p->taps.n_out, inner = p->inner;
    const int64_t *index = p->taps.index + i * p->taps.n;
    const float *from = run->from + unit / p->taps.n_out * p->taps.n_in * inner;
    float *to = run->to + unit * inner;

    if (index[0] >= 0)
        blend(p->taps.n, p->taps.weight + i * p->taps.n, index, from, inner, to);
    for (int64_t j = 0; index[0] < 0 && j < inner; j++)
        to[j] = p->fill;
}

/* Computes row number unit of outer, whose values stand side by side. */
static void resize_row(void *job, int64_t unit)
{
    const struct pass_run *run = job;
    const struct pass *p = run->pass;
    const int64_t *index = p->taps.index;
    const float *weight = p->taps.weight, *from = run->from + unit * p->taps.n_in;
    float *to = run->to + unit * p->taps.n_out;
    int n = p->taps.n;

    for (int64_t i = 0; i < p->taps.n_out; i++, index += n, weight += n) {
        float sum = 0;

        for (int t = 0; t < n && index[0] >= 0; t++)
            sum += weight[t] * from[index[t]];
        to[i] = index[0] < 0 ? p->fill : sum;
    }
}

static bool run_pass(const void *plan, float *const *data)
{
    const struct pass *p = plan;
    struct pass_run run = {.pass = p, .from = data[1], .to = data[0]};
    int64_t work = p->outer * p->taps.n_out * p->inner * p->taps.n;

    if (p->inner > 1)
        od_parallel(p->outer * p->taps.n_out, work, resize_values, &run);
    else
        od_parallel(p->outer, work, resize_row, &run);
    return true;
}

/* Gives how many channels lie side by side. */
static int64_t block_of(const struct od_build *b, const struct od_tensor *tensor)
{
    return tensor->canonical == OD_BLOCKED         ? b->session->block
           : tensor->canonical == OD_CHANNELS_LAST ? tensor->channels
                                                   : 1;
}

/* Appends the pass over dimension d of *shape, which becomes the shape of its output. */
static enum vbs_status pass_step(struct od_build *b, const struct taps *taps, int d,
                                 const struct od_tensor *in, struct vbs_shape *shape,
                                 dnnl_memory_t to, dnnl_memory_t from)
{
    struct pass *pass = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *pass);
    int64_t block = block_of(b, in);
    const dnnl_memory_t data[] = {to, from};

    if (!pass)
        return vbs_no_memory(b->ctx);
    *pass = (struct pass){.taps = taps[d],
                          .outer = b->batch,
                          .inner = block,
                          .fill = (float)b->l->attributes.resize.extrapolation};
    for (int i = 0; i < d; i++)
        pass->outer *= i == 0 && block > 1 ? in->stored_channels / block : shape->dim[i];
    for (int i = d + 1; i < shape->n_dims; i++)
        pass->inner *= shape->dim[i];
    shape->dim[d] = taps[d].n_out;
    return od_kernel_call(b, run_pass, pass, 2, data);
}

/* Gives the destination of the pass over dimension d: workspace, or the output itself for the last
 * pass. */
static enum vbs_status pass_target(struct od_build *b, const struct taps *taps, int d,
                                   const struct od_tensor *in, const struct vbs_shape *shape,
                                   dnnl_memory_t *to)
{
    int64_t block = block_of(b, in);
    dnnl_dims_t dims = {b->batch};
    dnnl_memory_desc_t md;
    enum vbs_status status;

    for (int i = 0; i < shape->n_dims; i++)
        dims[0] *= i == d ? taps[d].n_out : shape->dim[i];
    if (block > 1)
        dims[0] = dims[0] / shape->dim[0] * in->stored_channels;
    status = od_describe_dense(b, 1, dims, &md);
    for (int i = d + 1; i < shape->n_dims; i++)
        if (!taps[i].same)
            return status == VBS_OK ? od_kernel_buffer(b, &md, to) : status;
    return status == VBS_OK ? od_kernel_memory(b, &md, OD_DST, 0, NULL, to) : status;
}

static enum vbs_status build_passes(struct od_build *b, const struct taps *taps)
{
    enum od_layout layout = od_output(b)->canonical;
    struct od_tensor in = od_in_layout(b->session, od_input(b, 0), layout);
    struct vbs_shape shape = in.shape;
    dnnl_memory_t from = NULL, to = NULL;
    dnnl_memory_desc_t md;

    VBS_TRY(od_describe(b, &in, b->batch, layout, true, &md));
    VBS_TRY(od_kernel_begin(b, "loop:resize"));
    VBS_TRY(od_source(b, 0, layout, &md, &from));
    for (int d = 0; d < shape.n_dims; d++) {
        if (taps[d].same)
            continue;
        VBS_TRY(pass_target(b, taps, d, &in, &shape, &to));
        VBS_TRY(pass_step(b, taps, d, &in, &shape, to, from));
        from = to;
    }
    VBS_TRY(od_zero_padding(b));
    return od_fused_end(b, 0, 0, 0);
}

enum vbs_status od_build_resize(struct od_build *b)
{
    struct taps taps[VBS_MAX_DIMS];
    bool same = true;
    int n;

    for (int d = 0; d < b->l->shape.n_dims; d++) {
        enum vbs_status status = taps_init(b, d, &taps[d]);

        if (status != VBS_OK)
            return status;
        same = same && taps[d].same;
    }
    n = b->native ? 0 : onednn_dims(b, taps);
    if (n > 0) {
        enum vbs_status status = build_resampling(b, n);

        if (status != VBS_OK || b->l->attributes.resize.mode != VBS_RESIZE_NEAREST)
            return status;
    }
    return same || b->l->attributes.resize.mode == VBS_RESIZE_NEAREST ? build_nearest(b, taps)
                                                                      : build_passes(b, taps);
}
