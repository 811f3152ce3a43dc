/* Plans: the layer is checked against its weights, then tiles and workspace are laid out. */
#include "coded/layer/layer.h"
#include "coded/layout.h"

#include "base/arith.h"
#include "base/fail.h"

#include <stdlib.h>

#define ALIGNMENT    64
#define MOST_SIZE    (INT64_C(1) << 20) /* of a dimension, and of a window with its gaps */
#define MOST_THREADS 4096
#define LOOK_AHEAD                                                                                 \
    256 /* columns behind a block, which the entry behind the last of a row names                  \
         */

static bool is_tensor(const struct vbs_coded_tensor *tensor)
{
    return tensor->channels >= 1 && tensor->stored_channels >= tensor->channels &&
           tensor->n_positions >= 1 && tensor->block >= 1;
}

/* Gives whether the sizes of one dimension suit each other. */
static bool is_dimension(const struct vbs_coded_layer *layer, int d)
{
    int64_t sizes[] = {layer->in_size[d], layer->out_size[d], layer->kernel[d], layer->stride[d],
                       layer->dilation[d]};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i] < 1 || sizes[i] > MOST_SIZE)
            return false;
    return layer->pad_low[d] >= 0 && layer->pad_low[d] <= MOST_SIZE &&
           layer->kernel[d] * layer->dilation[d] <= MOST_SIZE;
}

/* Fills the sizes of the layer; false where they contradict each other or the matrix. */
static bool fill_sizes(struct vbs_coded_plan *plan)
{
    const struct vbs_coded_layer *layer = &plan->layer;
    const struct vbs_coded_header *header = &layer->coded->header;
    struct vbs_coded_geometry *g = &plan->geometry;
    int64_t n_in = 1, n_out = 1, columns;

    if (layer->n_spatial < 0 || layer->n_spatial > N_DIMS)
        return false;
    g->window = 1;
    for (int i = 0; i < N_DIMS; i++) {
        int d = i - (N_DIMS - layer->n_spatial);
        bool given = d >= 0;

        if (given && !is_dimension(layer, d))
            return false;
        g->in_size[i] = given ? layer->in_size[d] : 1;
        g->out_size[i] = given ? layer->out_size[d] : 1;
        g->kernel[i] = given ? layer->kernel[d] : 1;
        g->stride[i] = given ? layer->stride[d] : 1;
        g->dilation[i] = given ? layer->dilation[d] : 1;
        g->pad[i] = given ? layer->pad_low[d] : 0;
        if (!vbs_mul(g->window, g->kernel[i], &g->window) || !vbs_mul(n_in, g->in_size[i], &n_in) ||
            !vbs_mul(n_out, g->out_size[i], &n_out))
            return false;
    }
    if (layer->n_spatial == 0)
        n_in = layer->input.n_positions;
    if (!vbs_mul(layer->input.channels / layer->groups,
                 layer->n_spatial == 0 ? layer->input.n_positions : g->window, &columns))
        return false;
    return n_in == layer->input.n_positions && n_out == layer->output.n_positions &&
           columns == header->n_columns && header->n_rows == layer->output.channels;
}

/* The planes of a channel: each tap of the window has one in depth; in height and width those share
 * one that have the same remainder by the stride. */
static void fill_planes(struct vbs_coded_geometry *g)
{
    g->planes[0] = g->kernel[0];
    for (int d = 1; d < N_DIMS; d++) {
        int64_t remainders = g->stride[d] / vbs_gcd(g->stride[d], g->dilation[d]);

        g->planes[d] = g->kernel[d] < remainders ? g->kernel[d] : remainders;
        g->reach[d] = (g->kernel[d] - 1) * g->dilation[d] / g->stride[d];
    }
}

static enum vbs_status check_layer(struct vbs_ctx *ctx, struct vbs_coded_plan *plan)
{
    const struct vbs_coded_layer *layer = &plan->layer;

    if (layer->batch < 1 || layer->threads < 1 || layer->threads > MOST_THREADS ||
        layer->groups < 1 || (layer->n_spatial == 0 && layer->groups > 1) ||
        !is_tensor(&layer->input) || !is_tensor(&layer->output) ||
        layer->input.channels % layer->groups != 0 || layer->output.channels % layer->groups != 0)
        return vbs_fail(ctx, VBS_USAGE, "a layer of coded weights has sizes out of range");
    if (!fill_sizes(plan))
        return vbs_fail(
            ctx, VBS_USAGE, "a layer has other sizes than its matrix of %lld x %lld coded weights",
            (long long)layer->coded->header.n_rows, (long long)layer->coded->header.n_columns);
    if (layer->method == VBS_CODED_SPARSE && layer->coded->header.bits > 8)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "layers are computed from entries with indices of up to 8 bits, not %d",
                        layer->coded->header.bits);
    if (layer->method == VBS_CODED_DENSE && !layer->gemm)
        return vbs_fail(ctx, VBS_USAGE, "there is no product of dense matrices");
    return VBS_OK;
}

/* Gives a place for n_bytes behind *end. */
static int64_t put(int64_t *end, int64_t n_bytes)
{
    int64_t begin = *end;

    *end += (n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return begin;
}

static void lay_out(struct vbs_coded_plan *plan)
{
    const struct vbs_coded *coded = plan->layer.coded;
    const struct vbs_coded_geometry *g = &plan->geometry;
    struct vbs_coded_memory *memory = &plan->memory;
    bool is_dense = plan->layer.method == VBS_CODED_DENSE;
    int64_t rows = coded->header.block_rows, columns = coded->header.block_columns, end = 0;
    const int64_t size = sizeof(float);

    (void)put(&memory->tables_bytes, (int64_t)vbs_coded_move_bytes(coded));
    memory->slab = put(&end, g->slab_floats * size);
    memory->offsets = put(
        &end, vbs_coded_has_offsets(plan) ? (columns + LOOK_AHEAD) * (int64_t)sizeof(int32_t) : 0);
    memory->columns =
        put(&end, is_dense && vbs_coded_has_columns(g) ? columns * g->row_floats * size : 0);
    memory->dense = put(&end, is_dense ? rows * columns * size : 0);
    memory->entries = put(&end, plan->decodes ? (coded->most_entries + 1) *
                                                    (int64_t)sizeof(struct vbs_coded_entry)
                                              : 0);
    memory->starts = put(&end, plan->decodes ? (rows + 1) * (int64_t)sizeof(uint32_t) : 0);
    memory->sums = put(&end, g->chunk_rows * g->row_floats * size);
    memory->part_bytes = end;
    memory->total_bytes = memory->tables_bytes + plan->n_parts * end;
}

/* Gives whether entries are multiplied when they are decoded: with more samples, decoding is the
 * smaller part. */
static bool can_fuse(const struct vbs_coded_plan *plan)
{
    const struct vbs_coded_layer *layer = &plan->layer;

    return layer->method == VBS_CODED_SPARSE && layer->n_spatial == 0 &&
           layer->coded->header.coding == VBS_CODING_JOINT &&
           layer->batch <= VBS_CODED_MOST_FUSED * plan->processor->lanes;
}

enum vbs_status vbs_coded_plan_for(struct vbs_ctx *ctx, const struct vbs_coded_layer *layer,
                                   const struct vbs_coded_processor *processor,
                                   struct vbs_coded_plan **plan)
{
    struct vbs_coded_plan made = {.layer = *layer, .processor = processor};
    const struct vbs_coded *coded = layer->coded;

    VBS_TRY(check_layer(ctx, &made));
    fill_planes(&made.geometry);
    made.fuses = can_fuse(&made);
    made.granule =
        made.fuses || coded->n_block_rows >= layer->threads ? coded->header.block_rows : 1;
    if (!vbs_coded_geometry_choose(&made))
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "what a block of coded weights reads of the input has 1 GiB or more");
    made.n_parts = (int)(made.geometry.n_row_parts * made.geometry.n_tile_parts);
    lay_out(&made);
    *plan = malloc(sizeof **plan);
    if (!*plan)
        return vbs_no_memory(ctx);
    **plan = made;
    return VBS_OK;
}

enum vbs_status vbs_coded_plan_new(struct vbs_ctx *ctx, const struct vbs_coded_layer *layer,
                                   struct vbs_coded_plan **plan)
{
    return vbs_coded_plan_for(ctx, layer, vbs_coded_choose_processor(), plan);
}

void vbs_coded_plan_free(struct vbs_coded_plan *plan)
{
    free(plan);
}

int64_t vbs_coded_plan_workspace(const struct vbs_coded_plan *plan)
{
    return plan->memory.total_bytes;
}
