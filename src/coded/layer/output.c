/* From sums to outputs: scale, bias, relu, and the layout of the output tensor. */
#include "coded/layer/layer.h"

/* Rows whose outputs lie side by side, at one line of a tile. */
static void put_channels(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                         int64_t n, const float *sums, float *to)
{
    const struct vbs_coded_plan *plan = part->plan;
    const struct vbs_coded_tensor *output = &plan->layer.output;
    const struct vbs_coded_geometry *g = &plan->geometry;

    if (g->side == 1) {
        plan->processor->transpose(n, tile->width, sums, g->row_floats, to,
                                   output->position_stride);
        return;
    }
    for (int64_t x = 0; x < tile->width; x++)
        plan->processor->transpose(n, tile->n_samples, sums + x * g->side, g->row_floats,
                                   to + x * output->position_stride, output->sample_stride);
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
        plan->processor->transpose(tile->width, tile->n_samples, sums, side, to,
                                   output->sample_stride);
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

void vbs_coded_put_output(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                          int64_t first_row, int64_t n_rows)
{
    const struct vbs_coded_layer *layer = &part->plan->layer;
    const struct vbs_coded_geometry *g = &part->plan->geometry;
    int64_t end = first_row + n_rows;

    if (layer->scale || layer->bias || layer->relu)
        for (int64_t r = 0; r < n_rows; r++)
            part->plan->processor->finish(part->sums + r * g->row_floats, g->row_floats,
                                          layer->scale ? layer->scale[first_row + r] : 1,
                                          layer->bias ? layer->bias[first_row + r] : 0,
                                          layer->relu);
    for (int64_t row = first_row, n; row < end; row += n) {
        const float *sums = part->sums + (row - first_row) * g->row_floats;

        n = layer->output.block - row % layer->output.block;
        n = n < end - row ? n : end - row;
        for (int64_t y = 0; y < tile->height; y++)
            if (layer->output.channel_stride == 1 && n > 1)
                put_channels(part, tile, n, sums + y * g->sum_pitch, place_of(part, tile, row, y));
            else
                for (int64_t i = 0; i < n; i++)
                    put_positions(part, tile, sums + i * g->row_floats + y * g->sum_pitch,
                                  place_of(part, tile, row + i, y));
    }
    if (end == layer->output.channels)
        put_zeros(part, tile);
}
