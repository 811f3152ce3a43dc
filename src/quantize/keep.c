/* Layers of a quantised network that go back to floats. Ranges, scales and rounded weights of all
 * others stay what they are: the values that are still rounded are some of those that were. */
#include "quantize/internal.h"

#include "base/fail.h"

#include <stdlib.h>

static const struct vbs_quantize_row *row_at(const struct vbs_quantized_network *q, int i)
{
    return &q->rows[q->row_of[i]];
}

static enum vbs_status copy_values(struct vbs_ctx *ctx, const struct vbs_quantized_network *whole,
                                   struct vbs_quantized_network *q)
{
    q->values = vbs_arena_alloc(&q->arena, (size_t)q->n, sizeof *q->values);
    if (!q->values)
        return vbs_no_memory(ctx);
    for (int i = 0; i < q->n; i++) {
        struct vbs_quantize_row *row = &q->rows[q->row_of[i]];
        const struct vbs_quantize_row *from = row_at(whole, i);

        if (!q->operators[i].rounded)
            continue;
        q->values[i] = row->value = whole->values[i];
        row->seen_low = from->seen_low;
        row->seen_high = from->seen_high;
        row->low = from->low;
        row->high = from->high;
        row->clipped = from->clipped;
    }
    return VBS_OK;
}

static enum vbs_status copy_weights(struct vbs_ctx *ctx, const struct vbs_quantized_network *whole,
                                    struct vbs_quantized_network *q)
{
    q->weights = vbs_arena_alloc(&q->arena, (size_t)whole->n_weights, sizeof *q->weights);
    if (!q->weights)
        return vbs_no_memory(ctx);
    for (int i = 0; i < whole->n_weights; i++) {
        int at = vbs_network_operator(q->network, whole->weights[i].layer, -1);
        struct vbs_quantize_row *row = &q->rows[q->row_of[at]];
        const struct vbs_quantize_row *from = row_at(whole, at);

        if (q->operators[at].role != ROLE_EIGHT)
            continue;
        q->weights[q->n_weights++] = whole->weights[i];
        row->n_weights = from->n_weights;
        row->n_channels = from->n_channels;
        row->weights_db = from->weights_db;
    }
    return VBS_OK;
}

/* Finds the operators whose layers are kept. */
static bool *kept_operators(const struct vbs_quantized_network *whole, const bool *kept)
{
    bool *operators = calloc((size_t)whole->n, sizeof *operators);

    for (int i = 0; operators && i < whole->n_weights; i++) {
        int at = vbs_network_operator(whole->network, whole->weights[i].layer, -1);

        operators[at] = kept[whole->row_of[at]];
    }
    return operators;
}

static enum vbs_status keep(struct vbs_ctx *ctx, const struct vbs_quantized_network *whole,
                            const bool *kept, struct vbs_quantized_network *q)
{
    bool *operators = kept_operators(whole, kept);
    enum vbs_status status;

    if (!operators)
        return vbs_no_memory(ctx);
    q->network = whole->network;
    q->is_signed = whole->is_signed;
    status = vbs_quantize_roles_keep(ctx, q, whole, operators);
    free(operators);
    VBS_TRY(status);
    VBS_TRY(vbs_quantize_rows(ctx, q));
    VBS_TRY(copy_values(ctx, whole, q));
    return copy_weights(ctx, whole, q);
}

enum vbs_status vbs_quantized_keep(struct vbs_ctx *ctx,
                                   const struct vbs_quantized_network *quantized, const bool *kept,
                                   struct vbs_quantized_network **mixed)
{
    struct vbs_quantized_network *q = calloc(1, sizeof *q);
    enum vbs_status status = q ? keep(ctx, quantized, kept, q) : vbs_no_memory(ctx);

    if (status != VBS_OK)
        vbs_quantized_free(q);
    else
        *mixed = q;
    return status;
}
