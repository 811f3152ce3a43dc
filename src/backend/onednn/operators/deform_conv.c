/*
 * Convolutions of images at places that another tensor moves.
 *
 * Each thread reads the windows of a block of neighbouring positions, mixed and multiplied by their
 * factors, as rows of a matrix, and multiplies it by the weights; so the workspace is that of a
 * block. Between which elements a place lies is found once for all channels of a group of offsets.
 */
#include "backend/onednn/operators/operators.h"
#include "backend/onednn/winograd/winograd.h"

#include "base/fail.h"
#include "model/network/network.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_BLOCK  16 /* positions */
#define MOST_BLOCK   128
#define BLOCK_FLOATS (INT64_C(1) << 18) /* that the windows of a block take, about */

/* Weights are [groups][blocks of outputs][terms][OD_TILE_OUTPUTS], and windows [groups][chunks of
 * terms][block][OD_TILE_CHUNK], as winograd.h has them. */
struct deform_plan {
    const struct vbs_window *window;
    int64_t n_images, channels, height, width; /* of all samples */
    int64_t rows, columns;                     /* of the output */
    int64_t taps;                              /* elements of a window in a channel */
    int64_t groups, offset_groups;
    int64_t terms, outputs; /* of a group: elements of a window, channels of the output */
    int64_t block, blocks;  /* positions of a block; blocks of an image */
    int64_t parts;          /* of all blocks, each with a workspace of its own */
    int64_t group_floats, part_floats;
    bool has_factors;
    const float *bias; /* [groups * outputs] */
};

struct deform_job {
    const struct deform_plan *plan;
    float *y, *ws;
    const float *weights, *images, *offsets, *factors;
};

static int64_t blocks_of(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit;
}

/* ---- running ---- */

/* A block of positions of an image. */
struct deform_block {
    int64_t image, first;
    int n;
    float *windows;
};

/* Finds which elements each position reads for one element of its window. */
static void find_taps(const struct deform_job *job, const struct deform_block *at,
                      int64_t offset_group, int64_t tap, struct vbs_image_taps *taps)
{
    const struct deform_plan *p = job->plan;
    const struct vbs_window *w = p->window;
    int64_t n = p->rows * p->columns, line = offset_group * p->taps + tap;
    int64_t lines = p->offset_groups * p->taps;
    const float *down = job->offsets + (at->image * lines + line) * 2 * n, *across = down + n;
    const float *factors = p->has_factors ? job->factors + (at->image * lines + line) * n : NULL;
    int64_t y = tap / w->kernel[1] * w->dilation[0] - w->pad_low[0];
    int64_t x = tap % w->kernel[1] * w->dilation[1] - w->pad_low[1];

    for (int j = 0; j < at->n; j++) {
        int64_t i = at->first + j;

        taps[j] = vbs_deform_taps((float)(i / p->columns * w->stride[0] + y) + down[i],
                                  (float)(i % p->columns * w->stride[1] + x) + across[i], p->height,
                                  p->width);
        for (int t = 0; t < taps[j].n && factors; t++)
            taps[j].weight[t] *= factors[i];
        if (taps[j].n == 0 && factors && !(factors[i] - factors[i] == 0))
            taps[j] = (struct vbs_image_taps){.n = 1, .weight = {0 * factors[i]}};
    }
}

/* Reads one element of the windows of a block, in all channels of a group of offsets. */
static void read_windows(const struct deform_job *job, const struct deform_block *at,
                         int64_t offset_group, int64_t tap)
{
    const struct deform_plan *p = job->plan;
    int64_t n = p->channels / p->offset_groups, each = p->channels / p->groups;
    struct vbs_image_taps taps[MOST_BLOCK];

    find_taps(job, at, offset_group, tap, taps);
    for (int64_t c = offset_group * n; c < (offset_group + 1) * n; c++) {
        const float *image = job->images + (at->image * p->channels + c) * p->height * p->width;
        int64_t term = c % each * p->taps + tap;
        float *to = at->windows + c / each * p->group_floats +
                    term / OD_TILE_CHUNK * p->block * OD_TILE_CHUNK + term % OD_TILE_CHUNK;

        for (int j = 0; j < at->n; j++) {
            float sum = 0;

            for (int t = 0; t < taps[j].n; t++)
                sum += taps[j].weight[t] * image[taps[j].at[t]];
            to[j * OD_TILE_CHUNK] = sum;
        }
    }
}

/* Multiplies the windows of a block by the weights of a block of outputs of a group. */
static void multiply(const struct deform_job *job, const struct deform_block *at, int64_t group,
                     int64_t first)
{
    const struct deform_plan *p = job->plan;
    int64_t block = group * blocks_of(p->outputs, OD_TILE_OUTPUTS) + first / OD_TILE_OUTPUTS;
    int64_t n = p->outputs - first < OD_TILE_OUTPUTS ? p->outputs - first : OD_TILE_OUTPUTS;
    float *sums = at->windows + p->groups * p->group_floats;
    const struct od_tile_product product = {.input = at->windows + group * p->group_floats,
                                            .chunk = p->block * OD_TILE_CHUNK,
                                            .filter =
                                                job->weights + block * p->terms * OD_TILE_OUTPUTS,
                                            .sums = sums,
                                            .n_tiles = at->n,
                                            .channels = p->terms,
                                            .n_terms = 1};

    od_winograd()->multiply(&product);
    for (int64_t o = 0; o < n; o++) {
        int64_t channel = group * p->outputs + first + o;
        float *to = job->y + (at->image * p->groups * p->outputs + channel) * p->rows * p->columns +
                    at->first;

        for (int j = 0; j < at->n; j++)
            to[j] = sums[j * OD_TILE_OUTPUTS + o] + p->bias[channel];
    }
}

/* Computes the blocks of a part. */
static void compute_part(void *self, int64_t part)
{
    const struct deform_job *job = self;
    const struct deform_plan *p = job->plan;
    int64_t all = p->n_images * p->blocks, n = p->rows * p->columns;

    for (int64_t i = all * part / p->parts; i < all * (part + 1) / p->parts; i++) {
        struct deform_block at = {.image = i / p->blocks,
                                  .first = i % p->blocks * p->block,
                                  .windows = job->ws + part * p->part_floats};

        at.n = (int)(n - at.first < p->block ? n - at.first : p->block);
        for (int64_t g = 0; g < p->offset_groups; g++)
            for (int64_t tap = 0; tap < p->taps; tap++)
                read_windows(job, &at, g, tap);
        for (int64_t g = 0; g < p->groups; g++)
            for (int64_t o = 0; o < p->outputs; o += OD_TILE_OUTPUTS)
                multiply(job, &at, g, o);
    }
}

static bool run_deform_conv(const void *plan, float *const *data)
{
    const struct deform_plan *p = plan;
    struct deform_job job = {.plan = p,
                             .y = data[0],
                             .weights = data[1],
                             .ws = data[2],
                             .images = data[3],
                             .offsets = data[4],
                             .factors = p->has_factors ? data[5] : NULL};

    od_parallel(p->parts, p->n_images * p->rows * p->columns * p->terms * p->groups, compute_part,
                &job);
    return true;
}

/* ---- planning ---- */

/* Chooses the positions of a block: few where windows are large, or there are few positions. */
static void choose_block(struct deform_plan *p, int threads)
{
    int64_t n = p->rows * p->columns;

    p->block = MOST_BLOCK;
    while (p->block > LEAST_BLOCK && (p->block * p->groups * p->terms > BLOCK_FLOATS ||
                                      p->n_images * blocks_of(n, p->block) < threads))
        p->block /= 2;
    p->blocks = blocks_of(n, p->block);
    p->parts = p->n_images * p->blocks < threads ? p->n_images * p->blocks : threads;
    p->group_floats = blocks_of(p->terms, OD_TILE_CHUNK) * OD_TILE_CHUNK * p->block;
    p->part_floats = p->groups * p->group_floats + p->block * OD_TILE_OUTPUTS;
}

static struct deform_plan plan_of(const struct od_build *b)
{
    const struct vbs_layer *l = b->l;
    const union vbs_attributes *a = &l->attributes;
    const struct vbs_shape *in = &l->views[0], *out = &l->shape;
    int n = in->n_dims;
    struct deform_plan p = {.window = &a->weighted.window,
                            .n_images = b->batch * (n == 4 ? in->dim[0] : 1),
                            .channels = in->dim[n - 3],
                            .height = in->dim[n - 2],
                            .width = in->dim[n - 1],
                            .rows = out->dim[n - 2],
                            .columns = out->dim[n - 1],
                            .taps = a->weighted.window.kernel[0] * a->weighted.window.kernel[1],
                            .groups = a->weighted.groups,
                            .offset_groups = a->weighted.offset_groups,
                            .outputs = a->weighted.out_channels / a->weighted.groups,
                            .has_factors = l->n_inputs > 2};

    p.terms = p.channels / p.groups * p.taps;
    choose_block(&p, b->serial ? 1 : b->session->threads);
    return p;
}

/* ---- parameters ---- */

static int64_t weight_floats(const struct deform_plan *p)
{
    return p->groups * blocks_of(p->outputs, OD_TILE_OUTPUTS) * p->terms * OD_TILE_OUTPUTS;
}

static enum vbs_status fill_weights(struct od_build *b, void *memory)
{
    const struct deform_plan p = plan_of(b);
    int64_t blocks = blocks_of(p.outputs, OD_TILE_OUTPUTS);
    float *rows = malloc((size_t)(p.outputs * p.terms) * sizeof *rows), *values = memory;
    enum vbs_status status = rows ? VBS_OK : vbs_no_memory(b->ctx);

    memset(values, 0, (size_t)weight_floats(&p) * sizeof *values);
    for (int64_t g = 0; g < p.groups && status == VBS_OK; g++) {
        status = vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_WEIGHTS,
                                      g * p.outputs * p.terms, p.outputs * p.terms, rows);
        for (int64_t o = 0; o < p.outputs && status == VBS_OK; o++) {
            float *to = values + (g * blocks + o / OD_TILE_OUTPUTS) * p.terms * OD_TILE_OUTPUTS +
                        o % OD_TILE_OUTPUTS;

            for (int64_t t = 0; t < p.terms; t++)
                to[t * OD_TILE_OUTPUTS] = rows[o * p.terms + t];
        }
    }
    free(rows);
    return status;
}

static enum vbs_status make_bias(struct od_build *b, int64_t n, const float **made)
{
    float *bias = od_constants(b, n);

    if (!bias)
        return vbs_no_memory(b->ctx);
    memset(bias, 0, (size_t)n * sizeof *bias);
    *made = bias;
    return b->l->attributes.weighted.bias ? vbs_parameter_values(b->ctx, b->network, b->layer, -1,
                                                                 VBS_PARAMETER_BIAS, 0, n, bias)
                                          : VBS_OK;
}

enum vbs_status od_build_deform_conv(struct od_build *b)
{
    struct deform_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    int64_t outputs = b->l->attributes.weighted.out_channels;
    dnnl_memory_t data[OD_MAX_DATA];
    struct od_packed *packed;
    dnnl_memory_desc_t md;

    if (!plan)
        return vbs_no_memory(b->ctx);
    *plan = plan_of(b);
    VBS_TRY(make_bias(b, outputs, &plan->bias));
    VBS_TRY(od_kernel_begin(b, "loop:deformconv"));
    VBS_TRY(od_weights_filled(b, weight_floats(plan), fill_weights, &packed));
    od_kernel_weights(b, packed, 0, 1);
    VBS_TRY(
        od_describe_dense(b, 2, (dnnl_dims_t){b->batch, vbs_shape_elements(&b->l->shape)}, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &data[0]));
    VBS_TRY(od_describe_vector(b, weight_floats(plan), &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_WEIGHTS, 0, NULL, &data[1]));
    VBS_TRY(od_describe_vector(b, plan->parts * plan->part_floats, &md));
    VBS_TRY(od_kernel_buffer(b, &md, &data[2]));
    for (int i = 0; i < b->l->n_inputs; i++) {
        VBS_TRY(od_describe_dense(
            b, 2, (dnnl_dims_t){b->batch, vbs_shape_elements(&b->l->views[i])}, &md));
        VBS_TRY(od_source(b, i, OD_PLAIN, &md, &data[3 + i]));
    }
    VBS_TRY(od_kernel_call(b, run_deform_conv, plan, 3 + b->l->n_inputs, data));
    return od_fused_end(b, 0, packed->bytes + outputs * (int64_t)sizeof(float), packed->number);
}
