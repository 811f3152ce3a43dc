/* How tensors and weights are stored: encodings, and weights that are whole multiples of a step. */
#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_VALUES ((int64_t)1 << 20) /* weights that are read at once, at least a row */

/* Weights that lie as near to whole multiples of a step, in steps, are such multiples: they were
 * floats, whose rounding is 128 * 2^-23 steps at most, twice. */
#define NEAR_WHOLE 1e-4f

int64_t vbs_storage_bytes(enum vbs_storage storage)
{
    return storage == VBS_FLOAT32 ? 4 : storage == VBS_BFLOAT16 ? 2 : 1;
}

const char *vbs_storage_word(enum vbs_storage storage)
{
    static const char *const WORDS[VBS_N_STORAGES] = {"float32", "uint8", "int8", "bfloat16"};

    return (unsigned)storage < VBS_N_STORAGES ? WORDS[storage] : "unknown";
}

bool vbs_storage_is_whole(enum vbs_storage storage)
{
    return storage == VBS_UINT8 || storage == VBS_INT8;
}

int vbs_storage_low(enum vbs_storage storage)
{
    return storage == VBS_INT8 ? -128 : 0;
}

int vbs_storage_high(enum vbs_storage storage)
{
    return storage == VBS_INT8 ? 127 : 255;
}

bool vbs_encoding_equal(const struct vbs_encoding *a, const struct vbs_encoding *b)
{
    return a->storage == b->storage && a->scale == b->scale && a->zero == b->zero;
}

static float round_to_bfloat16(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        return x;
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

float vbs_encoding_round(const struct vbs_encoding *encoding, float x)
{
    float low = (float)vbs_storage_low(encoding->storage);
    float high = (float)vbs_storage_high(encoding->storage), q;

    switch (encoding->storage) {
    case VBS_UINT8:
    case VBS_INT8:
        q = nearbyintf(x / encoding->scale) + (float)encoding->zero;
        q = q >= low ? fminf(q, high) : low; /* what is no number is the lowest one */
        return encoding->scale * (q - (float)encoding->zero);
    case VBS_BFLOAT16:
        return round_to_bfloat16(x);
    default:
        return x;
    }
}

/* ---- bytes ---- */

int64_t vbs_network_out_bytes(const struct vbs_network *network, int layer)
{
    const struct vbs_layer *l = &network->layers[layer];

    return vbs_storage_bytes(l->encoding.storage) * vbs_shape_elements(&l->shape);
}

int64_t vbs_network_in_bytes(const struct vbs_network *network, int layer)
{
    const struct vbs_layer *reader = &network->layers[layer];
    int64_t bytes = 0;

    for (int i = 0; i < reader->n_inputs; i++)
        bytes += vbs_network_out_bytes(network, reader->inputs[i]);
    return bytes;
}

int64_t vbs_network_weight_bytes(const struct vbs_network *network, int layer)
{
    const struct vbs_layer *l = &network->layers[layer];
    int64_t saved = (int64_t)sizeof(float) - vbs_storage_bytes(l->weights);

    return (int64_t)sizeof(float) * l->parameters -
           (saved > 0 ? saved * vbs_weight_count(network, layer) : 0);
}

/* ---- weights ---- */

static bool are_multiples(const float *row, int64_t n, float step)
{
    for (int64_t i = 0; i < n; i++) {
        float multiple = row[i] / step, whole = nearbyintf(multiple);

        if (fabsf(multiple - whole) > NEAR_WHOLE || whole < -128 || whole > 127)
            return false;
    }
    return true;
}

/* Finds the largest step of which a row's values are whole multiples: the largest value is 1, 2,
 * ... steps. */
static bool find_step(const float *row, int64_t n, float *step)
{
    float largest = 0;

    for (int64_t i = 0; i < n; i++)
        largest = fmaxf(largest, fabsf(row[i]));
    *step = 1;
    for (int steps = 1; largest > 0 && steps <= 128; steps++) {
        *step = largest / (float)steps;
        if (*step > 0 && are_multiples(row, n, *step))
            return true;
    }
    return largest == 0;
}

/* Finds the steps of n rows, which it reads together. */
static enum vbs_status find_steps(struct vbs_ctx *ctx, const struct vbs_network *network, int layer,
                                  int64_t first, int64_t n, int64_t columns, float *rows,
                                  float *steps, bool *whole)
{
    VBS_TRY(vbs_parameter_values(ctx, network, layer, -1, VBS_PARAMETER_WEIGHTS, first * columns,
                                 n * columns, rows));
    for (int64_t r = 0; r < n && *whole; r++)
        *whole = find_step(rows + r * columns, columns, &steps[first + r]);
    return VBS_OK;
}

/* Does so for a deconv, whose weights are [I][O / G][K...], input by input. */
static enum vbs_status find_transposed_steps(struct vbs_ctx *ctx, const struct vbs_network *network,
                                             int layer, float *steps, bool *whole)
{
    const struct vbs_layer *l = &network->layers[layer];
    int64_t count = vbs_weight_count(network, layer), outputs = l->attributes.weighted.out_channels;
    int64_t groups = l->attributes.weighted.groups, inputs = l->views[0].dim[0] / groups;
    int64_t each = count / inputs / outputs, n_out = outputs / groups;
    float *values = malloc((size_t)count * sizeof *values);
    float *row = malloc((size_t)(inputs * each) * sizeof *row);
    enum vbs_status status = values && row ? VBS_OK : vbs_no_memory(ctx);

    if (status == VBS_OK)
        status =
            vbs_parameter_values(ctx, network, layer, -1, VBS_PARAMETER_WEIGHTS, 0, count, values);
    for (int64_t o = 0; o < outputs && *whole && status == VBS_OK; o++) {
        const float *first = values + (o / n_out * inputs * n_out + o % n_out) * each;

        for (int64_t i = 0; i < inputs; i++)
            memcpy(row + i * each, first + i * n_out * each, (size_t)each * sizeof *row);
        *whole = find_step(row, inputs * each, &steps[o]);
    }
    free(row);
    free(values);
    return status;
}

enum vbs_status vbs_weight_steps(struct vbs_ctx *ctx, const struct vbs_network *network, int layer,
                                 float *steps, bool *whole)
{
    int64_t n_rows, columns, at_once;
    enum vbs_status status = VBS_OK;
    float *rows;

    *whole = true;
    if (network->layers[layer].op == VBS_OP_CONV_TRANSPOSE)
        return find_transposed_steps(ctx, network, layer, steps, whole);
    *whole =
        vbs_weight_matrix(network, layer, &n_rows, &columns) && !vbs_network_coded(network, layer);
    if (!*whole)
        return VBS_OK;
    at_once = PIECE_VALUES / columns;
    at_once = at_once < 1 ? 1 : at_once < n_rows ? at_once : n_rows;
    rows = malloc((size_t)(at_once * columns) * sizeof *rows);
    if (!rows)
        return vbs_no_memory(ctx);
    for (int64_t r = 0; r < n_rows && *whole && status == VBS_OK; r += at_once)
        status = find_steps(ctx, network, layer, r, n_rows - r < at_once ? n_rows - r : at_once,
                            columns, rows, steps, whole);
    free(rows);
    return status;
}
