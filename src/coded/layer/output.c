/* From sums to outputs: scale, bias, relu, and the layout of the output tensor. */
#include "coded/layer/layer.h"

/* Rows whose outputs lie side by side, at one line of a tile. */
static void put_channels(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                         int64_t n, const float *sums, float *to)
{
    const struct vbs_coded_plan *plan = part->plan;
    const struct vbs_coded_tensor *output = &plan->layer.output;
    const struct vbs_coded_geometry *g = &plan->geometry;

    struct vbs_coded_transpose transpose = {.n_rows = n,
                                            .n_columns = tile->n_samples,
                                            .from_pitch = g->group_floats,
                                            .to_pitch = output->sample_stride,
                                            .count = tile->width,
                                            .from_step = g->side,
                                            .to_step = output->position_stride};

    if (g->side == 1) {
        transpose.n_columns = tile->width;
        transpose.to_pitch = output->position_stride;
        transpose.count = 1;
    }
    plan->processor->transpose(&transpose, sums, to);
}

/* One row, at one line of a tile. */
static void put_positions(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                          const float *sums, float *to)
{
    const struct vbs_coded_plan *plan = part->plan;
    const struct vbs_coded_tensor *output = &plan->layer.output;
    int64_t side = plan->geometry.side;

    if (output->position_stride == 1 && side == 1)
        memcpy(to, sums, (size_t)tile->width * sizeof *to);
    else if (output->position_stride == 1)
        plan->processor->transpose(&(struct vbs_coded_transpose){.n_rows = tile->width,
                                                                 .n_columns = tile->n_samples,
                                                                 .from_pitch = side,
                                                                 .to_pitch = output->sample_stride,
                                                                 .count = 1},
                                   sums, to);
    else
        for (int64_t s = 0; s < tile->n_samples; s++)
            for (int64_t x = 0; x < tile->width; x++)
                to[s * output->sample_stride + x * output->position_stride] = sums[x * side + s];
}

/* The element of a channel at the first sample and the first position of a tile's line. */
static float *place_of(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                       int64_t channel, int64_t y)
{
    const struct vbs_coded_tensor *output = &part->plan->layer.output;
    const int64_t *size = part->plan->geometry.out_size;
    int64_t position = (tile->depth * size[1] + tile->top + y) * size[2] + tile->left;

    return part->output + tile->sample * output->sample_stride +
           channel / output->block * output->block_stride +
           channel % output->block * output->channel_stride + position * output->position_stride;
}

/* Writes 0 into the channels that only fill up the tensor. */
static void put_zeros(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile)
{
    const struct vbs_coded_tensor *output = &part->plan->layer.output;

    for (int64_t c = output->channels; c < output->stored_channels; c++)
        for (int64_t y = 0; y < tile->height; y++)
            for (int64_t s = 0; s < tile->n_samples; s++)
                for (int64_t x = 0; x < tile->width; x++)
                    place_of(part, tile, c,
                             y)[s * output->sample_stride + x * output->position_stride] = 0;
}

/* Scale, bias and relu, on the sums. */
static void finish_sums(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile)
{
    const struct vbs_coded_layer *layer = &part->plan->layer;
    const struct vbs_coded_geometry *g = &part->plan->geometry;

    for (int64_t y = 0; y < tile->height; y += g->sum_lines)
        for (int64_t row = part->first_row; row < part->first_row + part->n_rows; row++)
            part->plan->processor->finish(vbs_coded_sums(part, row, y), g->group_floats,
                                          layer->scale ? layer->scale[row] : 1,
                                          layer->bias ? layer->bias[row] : 0, layer->relu);
}

void vbs_coded_put_output(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile)
{
    const struct vbs_coded_layer *layer = &part->plan->layer;
    int64_t end = part->first_row + part->n_rows;

    if (layer->scale || layer->bias || layer->relu)
        finish_sums(part, tile);
    for (int64_t row = part->first_row, n; row < end; row += n) {
        n = layer->output.block - row % layer->output.block;
        n = n < end - row ? n : end - row;
        for (int64_t y = 0; y < tile->height; y++)
            if (layer->output.channel_stride == 1 && n > 1)
                put_channels(part, tile, n, vbs_coded_sums(part, row, y),
                             place_of(part, tile, row, y));
            else
                for (int64_t i = row; i < row + n; i++)
                    put_positions(part, tile, vbs_coded_sums(part, i, y),
                                  place_of(part, tile, i, y));
    }
    if (end == layer->output.channels)
        put_zeros(part, tile);
}
