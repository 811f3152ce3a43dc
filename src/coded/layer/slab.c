/* Slabs: the input of a tile, copied so that each column reads it at a fixed distance. */
#include "coded/layer/layer.h"

/* A line of a plane of all channels: count positions, from the first of the slab's line on. */
struct line {
    const struct vbs_coded_part *part;
    int64_t first_channel, n_channels; /* of the input */
    int64_t n_samples;
    const float *input;   /* of the first sample, at channel 0 and the first position */
    int64_t step;         /* from a position to the next */
    int64_t begin, count; /* positions inside the input */
    float *slab;          /* of the first channel */
};

/* Channels that lie side by side, from `channel` on. */
static void copy_channels(const struct line *line, int64_t channel, int64_t n, float *slab)
{
    const struct vbs_coded_plan *plan = line->part->plan;
    const struct vbs_coded_tensor *input = &plan->layer.input;
    const struct vbs_coded_geometry *g = &plan->geometry;
    const float *from = line->input + channel / input->block * input->block_stride +
                        channel % input->block * input->channel_stride;

    struct vbs_coded_transpose transpose = {.n_rows = line->n_samples,
                                            .n_columns = n,
                                            .from_pitch = input->sample_stride,
                                            .to_pitch = g->channel_pitch,
                                            .count = line->count,
                                            .from_step = line->step,
                                            .to_step = g->side};

    if (g->side == 1) {
        transpose.n_rows = line->count;
        transpose.from_pitch = line->step;
        transpose.count = 1;
    }
    plan->processor->transpose(&transpose, from, slab);
}

/* One channel; its positions may lie side by side. */
static void copy_positions(const struct line *line, int64_t channel, float *slab)
{
    const struct vbs_coded_plan *plan = line->part->plan;
    const struct vbs_coded_tensor *input = &plan->layer.input;
    int64_t side = plan->geometry.side;
    const float *from = line->input + channel / input->block * input->block_stride +
                        channel % input->block * input->channel_stride;

    if (line->step == 1 && side == 1)
        memcpy(slab, from, (size_t)line->count * sizeof *slab);
    else if (line->step == 1)
        plan->processor->transpose(&(struct vbs_coded_transpose){.n_rows = line->n_samples,
                                                                 .n_columns = line->count,
                                                                 .from_pitch = input->sample_stride,
                                                                 .to_pitch = side,
                                                                 .count = 1},
                                   from, slab);
    else
        for (int64_t s = 0; s < line->n_samples; s++)
            for (int64_t x = 0; x < line->count; x++)
                slab[x * side + s] = from[s * input->sample_stride + x * line->step];
}

static void copy_line(const struct line *line)
{
    const struct vbs_coded_geometry *g = &line->part->plan->geometry;
    const struct vbs_coded_tensor *input = &line->part->plan->layer.input;
    int64_t end = line->first_channel + line->n_channels;
    float *slab = line->slab;

    for (int64_t c = 0; c < line->n_channels; c++) {
        float *to = line->slab + c * g->channel_pitch, *inside = to + line->begin * g->side;

        memset(to, 0, (size_t)(line->begin * g->side) * sizeof *to);
        memset(inside + line->count * g->side, 0,
               (size_t)(g->line_pitch - (line->begin + line->count) * g->side) * sizeof *to);
    }
    if (line->count == 0)
        return;
    slab += line->begin * g->side;
    for (int64_t c = line->first_channel, n; c < end; c += n, slab += n * g->channel_pitch) {
        n = input->block - c % input->block;
        n = n < end - c ? n : end - c;
        if (input->channel_stride == 1 && n > 1)
            copy_channels(line, c, n, slab);
        else
            for (int64_t i = 0; i < n; i++)
                copy_positions(line, c + i, slab + i * g->channel_pitch);
    }
}

/* Gives the place in the input of a place in a plane. */
static int64_t input_place(const struct vbs_coded_geometry *g, int dimension, int64_t plane,
                           int64_t place)
{
    int64_t stride = g->stride[dimension];

    return place * stride + plane * g->dilation[dimension] % stride - g->pad[dimension];
}

/* All lines of one plane. */
static void copy_plane(struct line *line, const struct vbs_coded_tile *tile, int64_t depth,
                       int64_t down, int64_t over)
{
    const struct vbs_coded_geometry *g = &line->part->plan->geometry;
    const struct vbs_coded_tensor *input = &line->part->plan->layer.input;
    const float *sample = line->part->input + tile->sample * input->sample_stride;
    int64_t z = tile->depth * g->stride[0] + depth * g->dilation[0] - g->pad[0];
    int64_t x = input_place(g, 2, over, tile->left), width = g->line_pitch / g->side;
    int64_t begin = x < 0 ? (-x + g->stride[2] - 1) / g->stride[2] : 0;
    int64_t end = x < g->in_size[2] ? (g->in_size[2] - x - 1) / g->stride[2] + 1 : 0;

    begin = begin < width ? begin : width;
    end = end < width ? end : width;
    for (int64_t i = 0; i < tile->height + g->reach[1]; i++, line->slab += g->line_pitch) {
        int64_t y = input_place(g, 1, down, tile->top + i);
        bool is_inside = z >= 0 && z < g->in_size[0] && y >= 0 && y < g->in_size[1] && begin < end;

        line->begin = begin;
        line->count = is_inside ? end - begin : 0;
        if (is_inside)
            line->input =
                sample + ((z * g->in_size[1] + y) * g->in_size[2] + x + begin * g->stride[2]) *
                             input->position_stride;
        copy_line(line);
    }
}

static void note_offsets(const struct vbs_coded_part *part, int64_t first_channel,
                         int64_t first_column, int64_t n_columns)
{
    const struct vbs_coded_geometry *g = &part->plan->geometry;
    int64_t window[N_DIMS], channel = first_column / g->window - first_channel;
    int64_t rest = first_column % g->window;

    for (int d = N_DIMS - 1; d >= 0; d--) {
        window[d] = rest % g->kernel[d];
        rest /= g->kernel[d];
    }
    for (int64_t j = 0; j < n_columns; j++) {
        int64_t plane = window[0], floats = channel * g->channel_pitch;

        for (int d = 1; d < N_DIMS; d++) {
            plane = plane * g->planes[d] + window[d] % g->planes[d];
            floats +=
                window[d] * g->dilation[d] / g->stride[d] * (d == 1 ? g->line_pitch : g->side);
        }
        part->offsets[j] = (int32_t)((floats + plane * g->plane_pitch) * (int64_t)sizeof(float));
        for (int d = N_DIMS - 1; d >= 0 && ++window[d] == g->kernel[d]; d--) {
            window[d] = 0;
            channel += d == 0;
        }
    }
}

/* The columns of an inner product: element c of the input in plain order. */
static void fill_product_slab(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                              int64_t first_column, int64_t n_columns)
{
    const struct vbs_coded_plan *plan = part->plan;
    const struct vbs_coded_tensor *input = &plan->layer.input;
    const float *from = part->input + tile->sample * input->sample_stride;
    int64_t side = plan->geometry.side;
    bool is_plain = input->n_positions == 1
                        ? input->channel_stride == 1 && (input->block_stride == input->block ||
                                                         input->block >= input->channels)
                        : input->position_stride == 1 && input->block >= input->channels &&
                              input->channel_stride == input->n_positions;

    for (int64_t j = 0; vbs_coded_has_offsets(plan) && j < n_columns; j++)
        part->offsets[j] = (int32_t)(j * side * (int64_t)sizeof(float));
    if (is_plain) {
        plan->processor->transpose(&(struct vbs_coded_transpose){.n_rows = tile->n_samples,
                                                                 .n_columns = n_columns,
                                                                 .from_pitch = input->sample_stride,
                                                                 .to_pitch = side,
                                                                 .count = 1},
                                   from + first_column, part->slab);
        return;
    }
    for (int64_t j = 0; j < n_columns; j++) {
        int64_t channel = (first_column + j) / input->n_positions;
        const float *column = from + channel / input->block * input->block_stride +
                              channel % input->block * input->channel_stride +
                              (first_column + j) % input->n_positions * input->position_stride;

        for (int64_t s = 0; s < tile->n_samples; s++)
            part->slab[j * side + s] = column[s * input->sample_stride];
    }
}

void vbs_coded_fill_slab(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                         int64_t group, int64_t first_column, int64_t n_columns)
{
    const struct vbs_coded_geometry *g = &part->plan->geometry;
    int64_t first = first_column / g->window, end = (first_column + n_columns - 1) / g->window + 1;
    int64_t channels = part->coded.header.n_columns / g->window;
    struct line line = {.part = part,
                        .first_channel = group * channels + first,
                        .n_channels = end - first,
                        .n_samples = tile->n_samples,
                        .step = g->stride[2] * part->plan->layer.input.position_stride};

    if (part->plan->layer.n_spatial == 0) {
        fill_product_slab(part, tile, first_column, n_columns);
        return;
    }
    note_offsets(part, first, first_column, n_columns);
    for (int64_t z = 0; z < g->planes[0]; z++)
        for (int64_t y = 0; y < g->planes[1]; y++)
            for (int64_t x = 0; x < g->planes[2]; x++) {
                line.slab =
                    part->slab + ((z * g->planes[1] + y) * g->planes[2] + x) * g->plane_pitch;
                copy_plane(&line, tile, z, y, x);
            }
}

void vbs_coded_fill_columns(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                            int64_t n_columns)
{
    const struct vbs_coded_geometry *g = &part->plan->geometry;
    size_t line_bytes = (size_t)(tile->width * g->side) * sizeof *part->columns;

    for (int64_t j = 0; j < n_columns; j++) {
        const char *from = (const char *)part->slab + part->offsets[j];
        float *to = part->columns + j * g->row_floats;

        for (int64_t y = 0; y < tile->height; y++)
            memcpy(to + y * g->sum_pitch, from + (size_t)(y * g->line_pitch) * sizeof *part->slab,
                   line_bytes);
    }
}
