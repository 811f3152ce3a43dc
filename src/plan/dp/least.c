/*
 * How little memory the cuttings of a chain need, without solving for their times.
 *
 * From below: the step of every layer has to fit alone, on some batch, beside the least bytes that
 * the other samples of the request keep anywhere. From above: the request runs sample by sample,
 * which is a cutting too. Where the layer with the largest bound has its smallest step on one
 * sample, both bounds are equal, and the least budget is known.
 */
#include "plan/dp/dp.h"

/* The least workspace of layer at a batch of the profile. */
static int64_t least_ws_bytes(const struct vbs_task *task, int layer, int batch)
{
    int n_rows;
    const struct vbs_profile_row *rows =
        vbs_profile_rows(task->profile, layer, task->batch_index[batch], &n_rows);
    int64_t least = rows[0].ws_bytes;

    for (int a = 1; a < n_rows; a++)
        if (rows[a].ws_bytes < least)
            least = rows[a].ws_bytes;
    return least;
}

/* The least bytes that a sample keeps between two items of the chain, or of the chains within it.
 */
static int64_t least_cut_bytes(const struct vbs_chain *chain)
{
    int64_t least = chain->cut_bytes[0];

    for (int i = 0; i <= chain->n_items; i++) {
        int64_t bytes = chain->cut_bytes[i];

        if (i < chain->n_items && chain->items[i].subchain) {
            int64_t inside = least_cut_bytes(chain->items[i].subchain);

            bytes = inside < bytes ? inside : bytes;
        }
        least = bytes < least ? bytes : least;
    }
    return least;
}

/* The least bytes of any step of a layer; each sample outside of the step takes waiting_bytes. */
static int64_t layer_low(const struct vbs_task *task, const struct vbs_item *item,
                         int64_t waiting_bytes)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < task->n_batches; i++) {
        int b = task->profile->batches[i];
        int64_t bytes = b * item->step_bytes + (task->request - b) * waiting_bytes +
                        least_ws_bytes(task, item->layer, b);

        least = bytes < least ? bytes : least;
    }
    return least;
}

static int64_t chain_low(const struct vbs_task *task, const struct vbs_chain *chain,
                         int64_t waiting_bytes)
{
    int64_t most = 0;

    for (int i = 0; i < chain->n_items; i++) {
        const struct vbs_item *item = &chain->items[i];
        int64_t bytes = 0;

        if (item->layer) {
            bytes = layer_low(task, item, waiting_bytes);
        } else if (item->subchain) {
            bytes = chain_low(task, item->subchain, waiting_bytes);
        } else { /* all samples in the block, or all but one outside */
            int64_t one = item->step_bytes + (task->request - 1) * waiting_bytes;
            int64_t all = task->request * item->step_bytes;

            for (int branch = 0; branch < item->n_branches; branch++) {
                int64_t inside = chain_low(task, &item->branches[branch], 0);

                bytes = inside > bytes ? inside : bytes;
            }
            bytes += one < all ? one : all;
        }
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* The bytes that one sample takes on its way through the chain; *layer becomes the layer whose step
 * takes most. */
static int64_t chain_high(const struct vbs_task *task, const struct vbs_chain *chain, int *layer)
{
    int64_t most = -1;

    for (int i = 0; i < chain->n_items; i++) {
        const struct vbs_item *item = &chain->items[i];
        int64_t bytes = 0;
        int inner = item->layer;

        if (item->layer)
            bytes = item->step_bytes + least_ws_bytes(task, item->layer, 1);
        else if (item->subchain)
            bytes = chain_high(task, item->subchain, &inner);
        for (int branch = 0; branch < item->n_branches; branch++) {
            int at;
            int64_t inside = item->step_bytes + chain_high(task, &item->branches[branch], &at);

            if (inside > bytes) {
                bytes = inside;
                inner = at;
            }
        }
        if (bytes > most) {
            most = bytes;
            *layer = inner;
        }
    }
    return most;
}

void vbs_chain_bracket(const struct vbs_task *task, const struct vbs_chain *chain,
                       struct vbs_bracket *bracket)
{
    int64_t first = chain->cut_bytes[0], last = chain->cut_bytes[chain->n_items];

    bracket->low_bytes = chain_low(task, chain, least_cut_bytes(chain));
    bracket->high_bytes = chain_high(task, chain, &bracket->layer) +
                          (task->request - 1) * (first > last ? first : last);
}

enum vbs_status vbs_orders_bracket(struct vbs_ctx *ctx, const struct vbs_task *task,
                                   struct vbs_bracket *bracket)
{
    struct vbs_arena arena = {0};
    struct vbs_orders orders;
    struct vbs_bracket least = {.low_bytes = INT64_MAX, .high_bytes = INT64_MAX};
    enum vbs_status status = vbs_orders_find(ctx, task, &arena, &orders);

    for (int i = 0; status == VBS_OK && i < orders.n; i++) {
        struct vbs_chain line;
        struct vbs_bracket one;

        status = vbs_line_build(ctx, task, &arena, orders.at[i].layers, &line);
        if (status != VBS_OK)
            break;
        vbs_chain_bracket(task, &line, &one);
        if (one.high_bytes < least.high_bytes) {
            least.high_bytes = one.high_bytes;
            least.layer = one.layer;
        }
        if (one.low_bytes < least.low_bytes)
            least.low_bytes = one.low_bytes;
    }
    vbs_arena_clear(&arena);
    if (status == VBS_OK)
        *bracket = least;
    return status;
}
