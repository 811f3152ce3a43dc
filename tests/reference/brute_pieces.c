#include "reference/brute_pieces.h"

int64_t brute_pieces_bytes(const struct brute_pieces *weights, unsigned pieces)
{
    int64_t bytes = 0;

    for (int i = 0; i < weights->n_pieces; i++)
        if (pieces >> i & 1)
            bytes += weights->bytes[i];
    return bytes;
}

unsigned brute_pieces_in(const struct brute_pieces *weights, int layer, int form,
                         const struct brute_slice *range)
{
    unsigned pieces = 0;

    for (int i = 0; i < weights->n_pieces; i++)
        if (weights->layer[i] == layer && weights->form[i] == form &&
            weights->range[i].from < range->to && weights->range[i].to > range->from)
            pieces |= 1u << i;
    return pieces;
}

int brute_most_slices(const struct brute_best *best, int layer, int64_t weights)
{
    int channels = best->of.profile->layers[layer].channels;
    int64_t most = channels > 0 ? channels : weights > 0 ? weights : BRUTE_SLICES;

    return most < best->max_slices ? (int)most : best->max_slices;
}

static bool add_pieces(const struct brute_best *best, int layer, int form, int64_t bytes,
                       struct brute_pieces *weights)
{
    bool ends[BRUTE_WEIGHTS + 1] = {false};
    int from = 0;

    for (int n = 1; n <= brute_most_slices(best, layer, bytes); n++)
        for (int p = 1; p <= n; p++)
            ends[brute_transfer_slice(best->of.profile, layer, bytes, p, n).to] = true;
    for (int b = 1; b <= bytes; b++) {
        int i = weights->n_pieces;

        if (!ends[b])
            continue;
        if (i == BRUTE_PIECES)
            return false;
        weights->layer[i] = layer;
        weights->form[i] = form;
        weights->range[i] = (struct brute_slice){.from = from, .to = b};
        weights->bytes[i] = b - from;
        weights->n_pieces++;
        from = b;
    }
    return true;
}

static bool is_known(const struct brute_pieces *weights, unsigned pieces)
{
    for (int i = 0; i < weights->n_ranges; i++)
        if (weights->ranges[i].pieces == pieces)
            return true;
    return pieces == 0;
}

static bool add_ranges(const struct brute_best *best, int layer, int form, int64_t bytes,
                       struct brute_pieces *weights)
{
    for (int n = 1; n <= brute_most_slices(best, layer, bytes); n++)
        for (int p = 1; p <= n; p++) {
            struct brute_slice at = brute_transfer_slice(best->of.profile, layer, bytes, p, n);
            struct brute_range range = {.step = {.op = VBS_STEP_LOAD,
                                                 .layer = layer,
                                                 .format = (uint8_t)form,
                                                 .slice = p,
                                                 .n_slices = n,
                                                 .bytes = at.to - at.from},
                                        .pieces = brute_pieces_in(weights, layer, form, &at)};

            if (is_known(weights, range.pieces))
                continue;
            if (weights->n_ranges == BRUTE_RANGES)
                return false;
            weights->ranges[weights->n_ranges++] = range;
        }
    return true;
}

bool brute_pieces_list(const struct brute_best *best, struct brute_pieces *weights)
{
    *weights = (struct brute_pieces){0};
    for (int k = 1; k <= best->of.profile->n_layers; k++)
        for (int form = 0; form < BRUTE_FORMS; form++) {
            int64_t bytes = brute_transfer_weights(best->of.profile, k, form);

            if (bytes > BRUTE_WEIGHTS || !add_pieces(best, k, form, bytes, weights) ||
                !add_ranges(best, k, form, bytes, weights))
                return false;
        }
    return true;
}
