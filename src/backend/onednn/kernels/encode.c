/*
 * Decoding and encoding. Channels that are last lie side by side as they do in a block of floats,
 * so that whole blocks are converted at once; plain floats are reached through tiles of positions.
 */
#include "backend/onednn/kernels/encode.h"

#include "backend/onednn/kernels/nest.h"
#include "backend/onednn/rows/rows.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <string.h>

#define TILE  256 /* positions that a thread converts at once */
#define PLAIN 4   /* channels of plain floats that are interleaved at once */

/* ---- samples ---- */

struct recode_job {
    const struct od_recode *recode;
    const struct od_row_loops *rows;
    const uint8_t *from_stored; /* decoding */
    uint8_t *to_stored;         /* encoding */
    const float *from_floats;
    float *to_floats;
};

/* Gives the values that are converted without regard to their places, of all samples; 0: places
 * differ. */
static int64_t flat_values(const struct od_recode *r)
{
    int64_t stored = (r->channels + r->block - 1) / r->block * r->block;

    if (r->stored.encoding.storage == VBS_BFLOAT16)
        return r->n * stored * r->positions;
    if (stored != r->channels || (r->stored.layout == OD_CHANNELS_LAST && r->positions > 1) ||
        (r->block > 1 && r->positions > 1))
        return 0;
    return r->n * r->channels * r->positions;
}

#define FLAT 4096 /* values that a thread converts at once */

static void flat_part(void *self, int64_t part)
{
    const struct recode_job *j = self;
    const struct vbs_encoding *e = &j->recode->stored.encoding;
    int64_t first = part * FLAT, all = flat_values(j->recode);
    int64_t n = all - first < FLAT ? all - first : FLAT;
    bool wide = e->storage == VBS_BFLOAT16;

    if (j->to_floats && wide)
        j->rows->widen((const uint16_t *)(const void *)j->from_stored + first, n,
                       j->to_floats + first);
    else if (j->to_floats)
        j->rows->decode(e, j->from_stored + first, n, j->to_floats + first);
    else if (wide)
        j->rows->narrow(j->from_floats + first, n, (uint16_t *)(void *)j->to_stored + first);
    else
        j->rows->encode(e, j->from_floats + first, n, j->to_stored + first);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Gives the distance of neighbouring channels and of neighbouring positions of 8 bits. */
static int64_t channel_step(const struct od_recode *r)
{
    return r->stored.layout == OD_CHANNELS_LAST ? 1 : r->positions;
}

static int64_t position_step(const struct od_recode *r)
{
    return r->stored.layout == OD_CHANNELS_LAST ? r->channels : 1;
}

/* Converts channel c, or the block that begins with it, at positions first.. first + n - 1. floats
 * and q are addresses of the sample's beginnings. */
static void decode_channels(const struct recode_job *j, const uint8_t *q, float *floats, int64_t c,
                            int64_t first, int64_t n)
{
    const struct od_recode *r = j->recode;
    const struct vbs_encoding *e = &r->stored.encoding;
    int64_t there = smaller(r->block, r->channels - c), step = channel_step(r);
    uint8_t part[TILE];

    for (int64_t i = 0; i < n && r->block == 1; i++)
        part[i] = q[(first + i) * position_step(r) + c * step];
    if (r->block == 1) {
        j->rows->decode(e, part, n, floats + c * r->positions + first);
        return;
    }
    for (int64_t p = first; p < first + n; p++) {
        const uint8_t *from = q + p * position_step(r) + c * step;
        float *to = floats + c * r->positions + p * r->block;

        if (step == 1)
            j->rows->decode(e, from, there, to);
        else
            for (int64_t i = 0; i < there; i++)
                j->rows->decode(e, &from[i * step], 1, &to[i]);
        memset(to + there, 0, (size_t)(r->block - there) * sizeof *to);
    }
}

static void encode_channels(const struct recode_job *j, const float *floats, uint8_t *q, int64_t c,
                            int64_t first, int64_t n)
{
    const struct od_recode *r = j->recode;
    const struct vbs_encoding *e = &r->stored.encoding;
    int64_t there = smaller(r->block, r->channels - c), step = channel_step(r);
    uint8_t part[TILE];

    if (r->block == 1)
        j->rows->encode(e, floats + c * r->positions + first, n, part);
    for (int64_t i = 0; i < n && r->block == 1; i++)
        q[(first + i) * position_step(r) + c * step] = part[i];
    for (int64_t p = first; p < first + n && r->block > 1; p++) {
        const float *from = floats + c * r->positions + p * r->block;
        uint8_t *to = q + p * position_step(r) + c * step;

        if (step == 1)
            j->rows->encode(e, from, there, to);
        else
            for (int64_t i = 0; i < there; i++)
                j->rows->encode(e, &from[i], 1, &to[i * step]);
    }
}

/* Encodes all channels, at most PLAIN of plain floats, where they become the last dimension. */
static void encode_few(const struct recode_job *j, const float *floats, uint8_t *q, int64_t first,
                       int64_t n)
{
    const struct od_recode *r = j->recode;
    uint8_t parts[PLAIN * TILE];

    for (int64_t c = 0; c < r->channels; c++)
        j->rows->encode(&r->stored.encoding, floats + c * r->positions + first, n,
                        parts + c * TILE);
    j->rows->interleave(parts, TILE, r->channels, n, q + first * r->channels);
}

static void tile_part(void *self, int64_t part)
{
    const struct recode_job *j = self;
    const struct od_recode *r = j->recode;
    int64_t n_tiles = (r->positions + TILE - 1) / TILE;
    int64_t sample = part / n_tiles, first = part % n_tiles * TILE;
    int64_t n = smaller(TILE, r->positions - first);
    int64_t stored = (r->channels + r->block - 1) / r->block * r->block * r->positions;

    if (!j->to_floats && r->block == 1 && r->channels <= PLAIN && channel_step(r) == 1) {
        encode_few(j, j->from_floats + sample * stored, j->to_stored + sample * r->stored.bytes,
                   first, n);
        return;
    }
    for (int64_t c = 0; c < r->channels; c += r->block)
        if (j->to_floats)
            decode_channels(j, j->from_stored + sample * r->stored.bytes,
                            j->to_floats + sample * stored, c, first, n);
        else
            encode_channels(j, j->from_floats + sample * stored,
                            j->to_stored + sample * r->stored.bytes, c, first, n);
}

static void convert(struct recode_job *job)
{
    const struct od_recode *r = job->recode;
    int64_t flat = flat_values(r), n_tiles = (r->positions + TILE - 1) / TILE;

    if (flat > 0)
        od_parallel((flat + FLAT - 1) / FLAT, flat, flat_part, job);
    else
        od_parallel(r->n * n_tiles, r->n * r->channels * r->positions, tile_part, job);
}

void od_decode(const struct od_recode *recode, const void *stored, float *floats)
{
    struct recode_job job = {
        .recode = recode, .rows = od_rows(), .from_stored = stored, .to_floats = floats};

    convert(&job);
}

void od_encode(const struct od_recode *recode, const float *floats, void *stored)
{
    struct recode_job job = {
        .recode = recode, .rows = od_rows(), .from_floats = floats, .to_stored = stored};

    convert(&job);
}

struct od_recode od_recode_of(const struct od_session *session, int tensor, int64_t n,
                              enum od_layout floats)
{
    const struct od_tensor *t = &session->tensors[tensor];

    return (struct od_recode){.stored = session->stored[tensor],
                              .n = n,
                              .channels = t->channels,
                              .positions = t->positions,
                              .block = floats == OD_BLOCKED ? session->block : 1};
}

/* ---- how tensors are stored ---- */

/* Gives whether windows move over a tensor's dimensions behind the first. */
static bool is_windowed(const struct od_build *b, int k)
{
    bool windows = k > 0 && vbs_op_has_windows(b->network->layers[k].op);

    for (int r = k + 1; r <= b->network->n_layers && !windows; r++)
        for (int i = 0; i < b->network->layers[r].n_inputs; i++)
            windows |= b->network->layers[r].inputs[i] == k &&
                       vbs_op_has_windows(b->network->layers[r].op);
    return windows;
}

/* Gives whether an operator may leave the channels where they are in the tensor that it reads. */
static bool keeps_channels(const struct vbs_layer *l)
{
    switch (l->op) {
    case VBS_OP_TRANSPOSE:
    case VBS_OP_FC:
    case VBS_OP_MATMUL:
    case VBS_OP_EMBED:
    case VBS_OP_TOPK:
    case VBS_OP_PICK:
    case VBS_OP_TAKE:
    case VBS_OP_GRID_SAMPLE:
    case VBS_OP_DEFORM_CONV:
    case VBS_OP_DFT:
    case VBS_OP_LAYER_NORM:
    case VBS_OP_RNN:
    case VBS_OP_GRU:
    case VBS_OP_LSTM:
        return false;
    default:
        return l->n_inputs > 0 && l->views[0].n_dims == l->shape.n_dims;
    }
}

/* Gives whether a tensor's dimensions behind the first are positions, and not those of rows: where
 * windows move over them, where floats would have blocks of channels, and behind such tensors. */
static bool has_positions(const struct od_build *b, int k)
{
    const struct od_tensor *tensor = &b->session->tensors[k];
    const struct vbs_layer *l = &b->network->layers[k];
    int n_dims = tensor->shape.n_dims;

    if (n_dims < 2 || n_dims > VBS_MAX_SPATIAL + 1)
        return false;
    if (is_windowed(b, k))
        return true;
    if (n_dims == 2)
        return false;
    return tensor->canonical == OD_BLOCKED ||
           (k > 0 && keeps_channels(l) &&
            b->session->stored[l->inputs[0]].layout == OD_CHANNELS_LAST);
}

struct od_stored od_stored_init(const struct od_build *b, int k)
{
    const struct od_tensor *tensor = &b->session->tensors[k];
    struct od_stored stored = {.encoding = b->network->layers[k].encoding,
                               .layout = tensor->canonical,
                               .bytes = tensor->bytes};

    if (stored.encoding.storage == VBS_BFLOAT16)
        stored.bytes /= 2;
    if (vbs_storage_is_whole(stored.encoding.storage)) {
        stored.layout = has_positions(b, k) ? OD_CHANNELS_LAST : OD_PLAIN;
        stored.bytes = tensor->channels * tensor->positions;
    }
    return stored;
}

bool od_is_encoded(const struct od_build *b)
{
    const struct vbs_network *network = b->network;

    for (int i = 0; i < b->l->n_inputs; i++)
        if (network->layers[b->l->inputs[i]].encoding.storage != VBS_FLOAT32)
            return true;
    return network->layers[b->layer].encoding.storage != VBS_FLOAT32;
}

dnnl_data_type_t od_data_type(enum vbs_storage storage)
{
    static const dnnl_data_type_t types[VBS_N_STORAGES] = {dnnl_f32, dnnl_u8, dnnl_s8, dnnl_bf16};

    return types[storage];
}

int od_tensor_of(const struct od_build *b, int index)
{
    return index < b->l->n_inputs ? b->session->core.layers[b->layer].inputs[index] : b->layer;
}

const struct od_stored *od_stored_of(const struct od_build *b, int index)
{
    return &b->session->stored[od_tensor_of(b, index)];
}

int64_t od_value_bytes(const struct od_build *b, int index)
{
    return b->native ? vbs_storage_bytes(od_stored_of(b, index)->encoding.storage)
                     : (int64_t)sizeof(float);
}

enum od_layout od_stored_layout(const struct od_build *b, int index)
{
    const struct od_tensor *own = &b->session->tensors[od_tensor_of(b, index)];

    return own->positions == 1 || own->channels == 1 ? OD_PLAIN : od_stored_of(b, index)->layout;
}

bool od_has_strides(const struct od_build *b, int input)
{
    const struct vbs_shape *own = &b->session->tensors[od_tensor_of(b, input)].shape;

    return od_stored_layout(b, input) == OD_PLAIN ||
           own->dim[0] == od_input(b, input)->shape.dim[0];
}

void od_stored_strides(const struct od_build *b, int index, int64_t *strides)
{
    const struct vbs_shape *shape =
        index < b->l->n_inputs ? &od_input(b, index)->shape : &b->l->shape;
    bool last = od_stored_layout(b, index) == OD_CHANNELS_LAST;
    int64_t stride = last ? shape->dim[0] : 1;

    for (int d = shape->n_dims - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= shape->dim[d];
    }
    if (last)
        strides[0] = 1;
}

enum vbs_status od_describe_flat(struct od_build *b, int index, dnnl_memory_desc_t *md)
{
    const struct od_stored *stored = od_stored_of(b, index);
    enum vbs_storage storage = stored->encoding.storage;
    dnnl_dims_t dims = {b->batch, stored->bytes / vbs_storage_bytes(storage)};
    dnnl_status_t dnnl = dnnl_memory_desc_init_by_tag(md, 2, dims, od_data_type(storage), dnnl_ab);

    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "describing a tensor");
}

enum vbs_status od_describe_stored(struct od_build *b, const struct od_tensor *tensor,
                                   const struct od_stored *stored, bool padded,
                                   dnnl_memory_desc_t *md)
{
    enum vbs_storage storage = stored->encoding.storage;

    VBS_TRY(od_describe(b, tensor, b->batch,
                        storage == VBS_FLOAT32 ? OD_CHANNELS_LAST : stored->layout, padded, md));
    md->data_type = od_data_type(storage);
    return VBS_OK;
}
