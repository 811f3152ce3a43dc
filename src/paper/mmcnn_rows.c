/*
 * Algorithm 1 of mmCNN in whole numbers. A slice is the fraction maps_bytes / map_slices; quotients
 * are compared and rounded up by products of 128 bits, so that a budget at a breakpoint is on the
 * side that the definition gives. Maps and weights are below 2^40, numbers of slices below 2^63.
 */
#include "base/fail.h"
#include "vbslab/mmcnn.h"

#include <stdlib.h>

typedef unsigned __int128 wide;

/* ---- Rows and their maps ---- */

static enum vbs_status check_chain(struct vbs_ctx *ctx, const struct vbs_network *network)
{
    for (int k = 1; k <= network->n_layers; k++) {
        const struct vbs_layer *layer = &network->layers[k];

        if (layer->n_inputs != 1 || layer->inputs[0] != k - 1)
            return vbs_fail(ctx, VBS_UNSUPPORTED,
                            "'%.100s' is branched at layer '%.100s'; mmcnn knows chains only",
                            network->name, layer->name);
    }
    return VBS_OK;
}

static bool has_row(enum vbs_op op)
{
    return op != VBS_OP_SOFTMAX && op != VBS_OP_DROPOUT && op != VBS_OP_IDENTITY;
}

static int count_rows(const struct vbs_network *network)
{
    int n = 1;

    for (int k = 1; k <= network->n_layers; k++) {
        const struct vbs_layer *layer = &network->layers[k];

        n += has_row(layer->op);
        for (int i = 0; i < layer->n_fused; i++)
            n += layer->fused[i].op == VBS_OP_RELU;
    }
    return n;
}

static bool is_weighted(const struct vbs_mmcnn_row *row)
{
    return row->op == VBS_OP_CONV || row->op == VBS_OP_FC;
}

/* Adds a row whose maps are divided as the limit requires, without any weights. */
static void add_row(struct vbs_mmcnn_table *table, const char *name, enum vbs_op op, int layer,
                    int64_t maps_bytes)
{
    int64_t n_slices = maps_bytes / table->limit_bytes + (maps_bytes % table->limit_bytes != 0);

    if (n_slices < 1)
        n_slices = 1;
    table->rows[table->n_rows++] = (struct vbs_mmcnn_row){
        .name = name,
        .op = op,
        .layer = layer,
        .self_number = n_slices,
        .maps_bytes = maps_bytes,
        .map_slices = n_slices,
        .weight_slices = 1,
    };
}

static void add_rows(struct vbs_mmcnn_table *table, const struct vbs_network *network)
{
    add_row(table, "data", VBS_N_OPS, 0, vbs_network_out_bytes(network, 0));
    for (int k = 1; k <= network->n_layers; k++) {
        const struct vbs_layer *layer = &network->layers[k];
        int64_t out_bytes = vbs_network_out_bytes(network, k);

        if (has_row(layer->op))
            add_row(table, layer->name, layer->op, k, vbs_network_in_bytes(network, k) + out_bytes);
        for (int i = 0; i < layer->n_fused; i++)
            if (layer->fused[i].op == VBS_OP_RELU)
                add_row(table, layer->fused[i].name, VBS_OP_RELU, k, out_bytes);
    }
}

/* ---- Segments ---- */

/* Gives whether a's slice of its maps is larger than b's. */
static bool larger_part(const struct vbs_mmcnn_row *a, const struct vbs_mmcnn_row *b)
{
    return (wide)a->maps_bytes * (wide)b->map_slices > (wide)b->maps_bytes * (wide)a->map_slices;
}

/* Gives the bytes that the limit leaves beside row's slice, times map_slices; slices are at most
 * the limit. */
static wide free_scaled(const struct vbs_mmcnn_table *table, const struct vbs_mmcnn_row *row)
{
    return (wide)table->limit_bytes * (wide)row->map_slices - (wide)row->maps_bytes;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Applies line (6): weights are prefetched while the head runs. */
static void prefetch(struct vbs_mmcnn_row *head, struct vbs_mmcnn_row *conv, int64_t weight_bytes,
                     int64_t n_slices)
{
    head->conv_number = n_slices;
    head->weight_bytes = weight_bytes;
    head->weight_slices = n_slices;
    conv->self_number = most(conv->map_slices, n_slices);
}

/* Applies line (9): the conv loads its own weights, slice by slice. */
static enum vbs_status divide_self(struct vbs_ctx *ctx, const struct vbs_mmcnn_table *table,
                                   struct vbs_mmcnn_row *conv, int64_t weight_bytes)
{
    wide free_bytes, n_slices;

    if (free_scaled(table, conv) == 0)
        conv->map_slices++;
    free_bytes = free_scaled(table, conv);
    n_slices = ((wide)weight_bytes * (wide)conv->map_slices + free_bytes - 1) / free_bytes;
    if (n_slices > INT64_MAX)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "layer '%.100s' falls into more slices than can be counted; a larger limit "
                        "would help",
                        conv->name);
    conv->weight_bytes = weight_bytes;
    conv->weight_slices = (int64_t)n_slices;
    conv->self_number = most(conv->map_slices, conv->weight_slices);
    return VBS_OK;
}

/* Plans one conv segment, rows head..conv. */
static enum vbs_status plan_segment(struct vbs_ctx *ctx, const struct vbs_mmcnn_table *table,
                                    int head, int conv, int64_t weight_bytes)
{
    const struct vbs_mmcnn_row *largest = &table->rows[head];
    wide free_bytes, needed;

    for (int i = head + 1; i <= conv; i++)
        if (larger_part(&table->rows[i], largest))
            largest = &table->rows[i];
    free_bytes = free_scaled(table, largest);
    needed = (wide)weight_bytes * (wide)largest->map_slices;
    if (free_bytes == 0 || needed > VBS_MMCNN_MAX_SLICES * free_bytes)
        return divide_self(ctx, table, &table->rows[conv], weight_bytes);
    prefetch(&table->rows[head], &table->rows[conv], weight_bytes,
             (int64_t)((needed + free_bytes - 1) / free_bytes));
    return VBS_OK;
}

enum vbs_status vbs_mmcnn_table_new(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    int64_t limit_bytes, struct vbs_mmcnn_table **table)
{
    struct vbs_mmcnn_table *made = NULL;
    enum vbs_status status;
    int head = 0;

    if (limit_bytes <= 0)
        return vbs_fail(ctx, VBS_USAGE, "a limit of %lld bytes holds nothing; mmcnn needs some",
                        (long long)limit_bytes);
    status = check_chain(ctx, network);
    if (status != VBS_OK)
        return status;
    made = calloc(1, sizeof *made);
    if (made)
        made->rows = calloc((size_t)count_rows(network), sizeof *made->rows);
    if (!made || !made->rows) {
        vbs_mmcnn_table_free(made);
        return vbs_no_memory(ctx);
    }
    made->limit_bytes = limit_bytes;
    add_rows(made, network);
    for (int i = 0; i < made->n_rows && status == VBS_OK; i++)
        if (is_weighted(&made->rows[i])) {
            status = plan_segment(ctx, made, head, i,
                                  vbs_network_weight_bytes(network, made->rows[i].layer));
            head = i + 1;
        }
    if (status == VBS_OK)
        *table = made;
    else
        vbs_mmcnn_table_free(made);
    return status;
}

void vbs_mmcnn_table_free(struct vbs_mmcnn_table *table)
{
    if (!table)
        return;
    free(table->rows);
    free(table);
}

int64_t vbs_mmcnn_hundredths(const struct vbs_mmcnn_row *row)
{
    wide under = (wide)row->map_slices * (wide)row->weight_slices;
    wide over = (wide)row->maps_bytes * (wide)row->weight_slices +
                (wide)row->weight_bytes * (wide)row->map_slices;

    under <<= 20;
    return (int64_t)((200 * over + under) / (2 * under));
}
