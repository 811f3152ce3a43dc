#include "plan/problem/slices.h"

#define MOST_SLICES 4096 /* steps of a planned layer on one batch */

/* Computes floor(a b / c) without overflow. */
static int64_t share(int64_t a, int64_t b, int64_t c)
{
    return (int64_t)((__int128)a * b / c);
}

void vbs_slice_bytes(const struct vbs_profile_layer *layer, int64_t weight_bytes, int slice,
                     int n_slices, int64_t *first, int64_t *end)
{
    int64_t c = layer->channels;

    if (n_slices <= 1) {
        *first = 0;
        *end = weight_bytes;
    } else if (c > 0) {
        *first = share(weight_bytes, share(slice - 1, c, n_slices), c);
        *end = share(weight_bytes, share(slice, c, n_slices), c);
    } else {
        *first = share(slice - 1, weight_bytes, n_slices);
        *end = share(slice, weight_bytes, n_slices);
    }
}

double vbs_slice_us(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                    int slice, int n_slices)
{
    int64_t c = layer->channels;

    if (n_slices <= 1)
        return row->time_us;
    if (c > 0)
        return row->time_us * (double)(share(slice, c, n_slices) - share(slice - 1, c, n_slices)) /
               (double)c;
    return row->time_us / n_slices;
}

int vbs_slice_limit(const struct vbs_profile_layer *layer, int64_t weight_bytes)
{
    int64_t c = layer->channels, limit = weight_bytes;

    if (c > 0 && weight_bytes > 0) /* a slice must have so many channels that they take a byte */
        limit = c / (c / weight_bytes + (c % weight_bytes != 0));
    return limit < 1 ? 1 : limit > MOST_SLICES ? MOST_SLICES : (int)limit;
}

int vbs_row_most_slices(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row)
{
    if (row->n_slices > 0)
        return row->weight_bytes == 0 || row->n_slices <= vbs_slice_limit(layer, row->weight_bytes)
                   ? row->n_slices
                   : 1;
    return vbs_profile_divisible(layer, row) ? vbs_slice_limit(layer, row->weight_bytes) : 1;
}

int64_t vbs_slice_largest(const struct vbs_profile_layer *layer, int64_t weight_bytes, int n_slices)
{
    int64_t c = layer->channels > 0 ? layer->channels : weight_bytes;
    int64_t most = c > 0 ? (c + n_slices - 1) / n_slices : 0;

    if (n_slices <= 1 || c == 0)
        return weight_bytes;
    return weight_bytes / c * most + (weight_bytes % c < most ? weight_bytes % c : most);
}

int vbs_slices_within(const struct vbs_profile_layer *layer, int64_t weight_bytes,
                      int64_t free_bytes)
{
    int64_t c = layer->channels > 0 ? layer->channels : weight_bytes;
    int64_t each, more, fit, n_slices;

    if (weight_bytes <= free_bytes)
        return 1;
    each = weight_bytes / c;
    more = weight_bytes % c; /* the number of channels of a slice that may have a byte more
                                (vbs_slice_largest) */
    fit = free_bytes / (each + (more != 0));
    if (fit >= more)
        fit = (free_bytes - more) / each;
    if (fit < 1)
        return 0;
    n_slices = (c + fit - 1) / fit;
    return n_slices <= vbs_slice_limit(layer, weight_bytes) ? (int)n_slices : 0;
}

int vbs_row_slices_within(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                          int64_t free_bytes)
{
    if (row->weight_bytes <= free_bytes)
        return 1;
    if (vbs_profile_divisible(layer, row))
        return vbs_slices_within(layer, row->weight_bytes, free_bytes);
    if (row->n_slices > 1 &&
        vbs_slice_largest(layer, row->weight_bytes, row->n_slices) <= free_bytes)
        return row->n_slices;
    return 0;
}
