#include "prune/filters.h"
#include "prune/groups.h"
#include "prune/taylor.h"

#include "base/fail.h"
#include "base/options.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_VALUES ((int64_t)1 << 20) /* weights that are read at once */

const char *vbs_prune_ranking_word(enum vbs_prune_ranking ranking)
{
    static const char *const WORDS[] = {
#define WORD(name, word) word,
        VBS_PRUNE_RANKING_LIST(WORD)
#undef WORD
    };

    return (unsigned)ranking < VBS_N_PRUNE_RANKINGS ? WORDS[ranking] : NULL;
}

/* ---- sums of weights ---- */

/* Adds the absolute weights of a layer, or their squares, to the scores of its channels. */
static enum vbs_status add_layer(struct vbs_ctx *ctx, const struct vbs_network *network, int layer,
                                 const struct vbs_prune_tensor *tensor, bool squares, float *piece,
                                 double *scores)
{
    struct vbs_filter_order order = vbs_filter_order(network, layer, VBS_PARAMETER_WEIGHTS);
    int64_t n = vbs_weight_count(network, layer);

    for (int64_t first = 0; first < n; first += PIECE_VALUES) {
        int64_t count = n - first < PIECE_VALUES ? n - first : PIECE_VALUES;

        VBS_TRY(vbs_check_cancel(ctx));
        VBS_TRY(vbs_parameter_values(ctx, network, layer, -1, VBS_PARAMETER_WEIGHTS, first, count,
                                     piece));
        for (int64_t i = 0; i < count; i++) {
            double w = (double)piece[i];

            scores[tensor->channels[vbs_filter_of(&order, first + i)]] += squares ? w * w : fabs(w);
        }
    }
    return VBS_OK;
}

static enum vbs_status add_weights(struct vbs_ctx *ctx, const struct vbs_network *network,
                                   const struct vbs_prune_whole *whole, bool squares,
                                   double *scores)
{
    float *piece = malloc((size_t)PIECE_VALUES * sizeof *piece);
    enum vbs_status status = piece ? VBS_OK : vbs_no_memory(ctx);

    for (int k = 1; k <= network->n_layers && status == VBS_OK; k++)
        if (vbs_prune_has_filters(network, k))
            status = add_layer(ctx, network, k, &whole->tensors[k], squares, piece, scores);
    for (int64_t i = 0; i < whole->head.n_channels && squares; i++)
        scores[i] = sqrt(scores[i]);
    free(piece);
    return status;
}

/* ---- random numbers ---- */

/* Gives a number that is uniform in [0, 1). */
static double random_number(uint64_t seed, uint64_t index)
{
    return (double)(vbs_random(seed, index) >> 11) * 0x1p-53;
}

/* ---- scores ---- */

static enum vbs_status add_scores(struct vbs_ctx *ctx, const struct vbs_network *network,
                                  const struct vbs_prune_whole *whole,
                                  const struct vbs_prune_options *options, double *scores)
{
    switch (options->ranking) {
    case VBS_PRUNE_L1:
    case VBS_PRUNE_L2:
        return add_weights(ctx, network, whole, options->ranking == VBS_PRUNE_L2, scores);
    case VBS_PRUNE_RANDOM:
        for (int64_t i = 0; i < whole->head.n_channels; i++)
            scores[i] = random_number(options->seed, (uint64_t)i);
        return VBS_OK;
    case VBS_PRUNE_TAYLOR:
        if (!options->images)
            return vbs_fail(ctx, VBS_USAGE, "the ranking taylor needs images");
        return vbs_prune_taylor(ctx, network, whole, options, scores);
    default:
        return vbs_fail(ctx, VBS_USAGE, "there is no ranking %d", (int)options->ranking);
    }
}

enum vbs_status vbs_prune_scores(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 const struct vbs_prune_groups *groups,
                                 const struct vbs_prune_options *options, double *scores)
{
    const struct vbs_prune_whole *whole;
    struct vbs_prune_options own;
    enum vbs_status status;
    double *made;

    VBS_TRY(vbs_options_read(ctx, "struct vbs_prune_options", options, &own, sizeof own));
    VBS_TRY(vbs_prune_own(ctx, network, groups, &whole));
    made = calloc((size_t)groups->n_channels + 1, sizeof *made);
    if (!made)
        return vbs_no_memory(ctx);
    status = add_scores(ctx, network, whole, &own, made);
    if (status == VBS_OK)
        memcpy(scores, made, (size_t)groups->n_channels * sizeof *made);
    free(made);
    return status;
}
