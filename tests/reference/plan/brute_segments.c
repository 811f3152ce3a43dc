#include "reference/plan/brute_segments.h"

int64_t brute_segments_bytes(const struct brute_segments *weights, unsigned segments)
{
    int64_t bytes = 0;

    for (int i = 0; i < weights->n_segments; i++)
        if (segments >> i & 1)
            bytes += weights->bytes[i];
    return bytes;
}

unsigned brute_segments_in(const struct brute_segments *weights, int layer, int format,
                           const struct brute_slice *range)
{
    unsigned segments = 0;

    for (int i = 0; i < weights->n_segments; i++)
        if (weights->layer[i] == layer && weights->format[i] == format &&
            weights->range[i].from < range->to && weights->range[i].to > range->from)
            segments |= 1u << i;
    return segments;
}

int brute_most_slices(const struct brute_best *best, int layer, int64_t weights)
{
    int channels = best->of.profile->layers[layer].channels;
    int64_t most = channels > 0 ? channels : weights > 0 ? weights : BRUTE_SLICES;

    return most < best->max_slices ? (int)most : best->max_slices;
}

static bool add_segments(const struct brute_best *best, int layer, int format, int64_t bytes,
                         struct brute_segments *weights)
{
    bool ends[BRUTE_WEIGHTS + 1] = {false};
    int from = 0;

    for (int n = 1; n <= brute_most_slices(best, layer, bytes); n++)
        for (int p = 1; p <= n; p++)
            ends[brute_transfer_slice(best->of.profile, layer, bytes, p, n).to] = true;
    for (int b = 1; b <= bytes; b++) {
        int i = weights->n_segments;

        if (!ends[b])
            continue;
        if (i == BRUTE_SEGMENTS)
            return false;
        weights->layer[i] = layer;
        weights->format[i] = format;
        weights->range[i] = (struct brute_slice){.from = from, .to = b};
        weights->bytes[i] = b - from;
        weights->n_segments++;
        from = b;
    }
    return true;
}

static bool is_known(const struct brute_segments *weights, unsigned segments)
{
    for (int i = 0; i < weights->n_ranges; i++)
        if (weights->ranges[i].segments == segments)
            return true;
    return segments == 0;
}

static bool add_ranges(const struct brute_best *best, int layer, int format, int64_t bytes,
                       struct brute_segments *weights)
{
    for (int n = 1; n <= brute_most_slices(best, layer, bytes); n++)
        for (int p = 1; p <= n; p++) {
            struct brute_slice at = brute_transfer_slice(best->of.profile, layer, bytes, p, n);
            struct brute_range range = {.step = {.op = VBS_STEP_LOAD,
                                                 .layer = layer,
                                                 .format = (uint8_t)format,
                                                 .slice = p,
                                                 .n_slices = n,
                                                 .bytes = at.to - at.from},
                                        .segments = brute_segments_in(weights, layer, format, &at)};

            if (is_known(weights, range.segments))
                continue;
            if (weights->n_ranges == BRUTE_RANGES)
                return false;
            weights->ranges[weights->n_ranges++] = range;
        }
    return true;
}

bool brute_segments_list(const struct brute_best *best, struct brute_segments *weights)
{
    *weights = (struct brute_segments){0};
    for (int k = 1; k <= best->of.profile->n_layers; k++)
        for (int format = 0; format < BRUTE_FORMATS; format++) {
            int64_t bytes = brute_transfer_weights(best->of.profile, k, format);

            if (bytes > BRUTE_WEIGHTS || !add_segments(best, k, format, bytes, weights) ||
                !add_ranges(best, k, format, bytes, weights))
                return false;
        }
    return true;
}
