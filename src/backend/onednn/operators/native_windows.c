/*
 * Means of windows of whole numbers whose input and output have different encodings, which oneDNN's
 * pools do not convert. The channels are last, so that the values of a window's positions are added
 * as rows. Windows lie within the input.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/rows/rows.h"
#include "base/fail.h"
#include "model/network/network.h"

#define CHANNELS 256 /* whose sums are computed at once */

struct windows_plan {
    struct vbs_encoding from, to;
    int64_t n, channels, in_positions, out_positions, n_offsets;
    const int64_t *first;   /* [out_positions] the input's position where a window begins */
    const int64_t *offsets; /* [n_offsets] of the window's positions from there */
    float factor;
};

struct windows_job {
    const struct windows_plan *plan;
    const struct od_row_loops *rows;
    const uint8_t *from;
    uint8_t *to;
};

/* Computes one position of the output of a sample. */
static void window_part(void *self, int64_t part)
{
    const struct windows_job *j = self;
    const struct windows_plan *p = j->plan;
    int64_t sample = part / p->out_positions, first = p->first[part % p->out_positions];
    const uint8_t *from = j->from + (sample * p->in_positions + first) * p->channels;

    for (int64_t c = 0; c < p->channels; c += CHANNELS) {
        int64_t n = p->channels - c < CHANNELS ? p->channels - c : CHANNELS;
        int32_t sums[CHANNELS] = {0};

        for (int64_t i = 0; i < p->n_offsets; i++)
            j->rows->gather(p->from.storage, from + p->offsets[i] * p->channels + c, n, sums);
        j->rows->scale(&p->to, sums, p->from.zero * (int32_t)p->n_offsets, p->factor, n,
                       j->to + part * p->channels + c);
    }
}

static bool run_windows(const void *plan, float *const *data)
{
    const struct windows_plan *p = plan;
    struct windows_job job = {
        .plan = p, .rows = od_rows(), .from = (void *)data[1], .to = (void *)data[0]};
    int64_t parts = p->n * p->out_positions;

    od_parallel(parts, parts * p->n_offsets * p->channels / 8, window_part, &job);
    return true;
}

/* Gives whether both tensors have 8 bits with the channels last, and windows lie within the input.
 */
static bool is_possible(const struct od_build *b)
{
    const struct vbs_window *w = &b->l->attributes.pool.window;
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    int64_t size = 1;

    for (int i = 0; i < in->n_spatial; i++) {
        int64_t reach = (out->spatial[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i];

        if (w->pad_low[i] != 0 || w->pad_high[i] != 0 || reach >= in->spatial[i])
            return false;
        size *= w->kernel[i];
    }
    for (int i = 0; i < 2; i++)
        if (!vbs_storage_is_whole(od_stored_of(b, i)->encoding.storage) ||
            od_stored_of(b, i)->layout != OD_CHANNELS_LAST)
            return false;
    return size < INT64_C(1) << 22 && in->n_spatial == out->n_spatial &&
           vbs_shape_equal(&in->shape, &b->network->layers[b->l->inputs[0]].shape);
}

/* Fills the positions, within the input, of points of a grid of sizes n, step apart. */
static void fill_grid(const struct od_tensor *in, const int64_t *n, const int64_t *step,
                      int64_t count, int64_t *positions)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t left = i, stride = 1;

        positions[i] = 0;
        for (int d = in->n_spatial - 1; d >= 0; d--) {
            positions[i] += left % n[d] * step[d] * stride;
            left /= n[d];
            stride *= in->spatial[d];
        }
    }
}

static enum vbs_status plan_windows(struct od_build *b, const struct vbs_encoding *to,
                                    struct windows_plan **planned)
{
    const struct vbs_window *w = &b->l->attributes.pool.window;
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    struct vbs_arena *arena = &b->session->core.arena;
    struct windows_plan *p = vbs_arena_alloc(arena, 1, sizeof *p);
    int64_t size = 1, *first, *offsets;

    for (int i = 0; i < in->n_spatial; i++)
        size *= w->kernel[i];
    first = vbs_arena_alloc(arena, (size_t)out->positions, sizeof *first);
    offsets = vbs_arena_alloc(arena, (size_t)size, sizeof *offsets);
    if (!p || !first || !offsets)
        return vbs_no_memory(b->ctx);
    fill_grid(in, out->spatial, w->stride, out->positions, first);
    fill_grid(in, w->kernel, w->dilation, size, offsets);
    *p = (struct windows_plan){.from = od_stored_of(b, 0)->encoding,
                               .to = *to,
                               .n = b->batch,
                               .channels = in->channels,
                               .in_positions = in->positions,
                               .out_positions = out->positions,
                               .n_offsets = size,
                               .first = first,
                               .offsets = offsets};
    p->factor = p->from.scale / (p->to.scale * (float)size);
    *planned = p;
    return VBS_OK;
}

enum vbs_status od_build_native_windows(struct od_build *b)
{
    struct windows_plan *plan = NULL;
    struct od_tail tail;
    dnnl_memory_t data[2];

    if (!is_possible(b))
        return VBS_OK;
    VBS_TRY(od_tail_init(b, 0, &tail));
    if (tail.end > 0)
        return VBS_OK;
    VBS_TRY(plan_windows(b, &tail.encoding, &plan));
    VBS_TRY(od_kernel_begin(b, "loop:windows"));
    VBS_TRY(od_stored_memory(b, 1, &data[0]));
    VBS_TRY(od_stored_memory(b, 0, &data[1]));
    VBS_TRY(od_kernel_call(b, run_windows, plan, 2, data));
    VBS_TRY(od_tail_step(b, &tail));
    return od_kernel_end(b, od_line_bytes(tail.line), od_line_format(tail.line));
}
