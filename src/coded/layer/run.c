/* Running a plan: tiles, chunks, columns of blocks, blocks. */
#include "coded/layer/layer.h"
#include "coded/layout.h"

#include <stdatomic.h>

/* What all parts of a run share. */
struct layer_run {
    const struct vbs_coded_plan *plan;
    struct vbs_coded coded;
    const float *input;
    float *output;
    char *parts; /* of the workspace */
    atomic_bool has_failed;
};

/* Rows of one block, for a tile and a chunk. */
struct layer_block {
    struct vbs_coded_place place;
    int64_t from, end; /* rows of the block */
};

/* Applies a strip to some lines, in spans of at most so many vectors. */
static void multiply_lines(const struct vbs_coded_processor *processor,
                           const struct vbs_coded_strip *strip, struct vbs_coded_span *span,
                           int64_t n_vectors)
{
    int64_t most = processor->most_vectors / span->n_lines;
    int64_t pieces = (n_vectors + most - 1) / most, done = 0;

    for (int64_t piece = 1; piece <= pieces; piece++) {
        int64_t end = n_vectors * piece / pieces;
        struct vbs_coded_span shifted = *span;

        shifted.n_vectors = (int)(end - done);
        shifted.planes += done * processor->lanes;
        shifted.sums += done * processor->lanes;
        processor->multiply(strip, &shifted);
        done = end;
    }
}

/* Applies a strip, whose first row is given, to all positions of a tile. */
static void multiply_tile(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                          const struct vbs_coded_strip *strip, int64_t first_row)
{
    const struct vbs_coded_geometry *g = &part->plan->geometry;
    const struct vbs_coded_processor *processor = part->plan->processor;
    int64_t floats = tile->width * g->side, lines = tile->height;
    struct vbs_coded_span span = {.row_pitch = (size_t)g->group_floats * sizeof(float),
                                  .sum_pitch = (size_t)g->sum_pitch * sizeof(float),
                                  .plane_pitch = (size_t)g->line_pitch * sizeof(float)};

    if (g->flat) {
        floats += (lines - 1) * g->line_pitch;
        lines = 1;
    }
    for (int64_t y = 0; y < lines; y += g->sum_lines) {
        span.n_lines = (int)(lines - y < g->sum_lines ? lines - y : g->sum_lines);
        span.planes = part->slab + y * g->line_pitch;
        span.sums = vbs_coded_sums(part, first_row, y);
        if (span.n_lines == 1 && floats == 1)
            processor->multiply(strip, &span);
        else
            multiply_lines(processor, strip, &span,
                           (floats + processor->lanes - 1) / processor->lanes);
    }
}

/* Applies a block while it is decoded; all of its rows are in the chunk. */
static void multiply_fused(const struct vbs_coded_part *part, const struct vbs_coded_place *place)
{
    const struct vbs_coded_geometry *g = &part->plan->geometry;
    const struct vbs_coded_processor *processor = part->plan->processor;
    struct vbs_coded_fused fused = {.coded = &part->coded,
                                    .n_columns = place->n_columns,
                                    .stride = (size_t)g->side * sizeof(float)};
    struct vbs_coded_span span = {.planes = part->slab,
                                  .sums = vbs_coded_sums(part, place->first_row, 0),
                                  .row_pitch = (size_t)g->group_floats * sizeof(float),
                                  .n_lines = 1};

    if (g->side > 1)
        span.n_vectors = (int)((g->side + processor->lanes - 1) / processor->lanes);
    vbs_joint_find_streams(&part->coded, place, &fused.streams);
    processor->multiply_fused(&fused, &span);
}

static void multiply_block(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                           const struct layer_block *block)
{
    struct vbs_coded_strip strip;

    if (part->plan->fuses) {
        multiply_fused(part, &block->place);
        return;
    }
    if (part->plan->decodes) {
        vbs_coded_unpack(part, &block->place);
        strip = (struct vbs_coded_strip){.reader = VBS_READ_ENTRIES,
                                         .n_rows = (int)(block->end - block->from),
                                         .entries = part->entries + part->starts[block->from],
                                         .starts = part->starts + block->from};
    } else {
        strip = vbs_coded_strip_of(&part->coded, &block->place, block->from, block->end);
        strip.offsets = part->offsets;
        if (part->plan->layer.n_spatial == 0) {
            strip.reader = VBS_READ_LINEAR;
            strip.stride = (size_t)part->plan->geometry.side * sizeof(float);
        }
    }
    multiply_tile(part, tile, &strip, block->place.first_row + block->from);
}

static bool multiply_dense(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                           const struct layer_block *block)
{
    const struct vbs_coded_geometry *g = &part->plan->geometry;
    const struct vbs_coded_place *place = &block->place;
    bool has_columns = vbs_coded_has_columns(g);

    memset(part->dense, 0, (size_t)place->n_rows * (size_t)place->n_columns * sizeof *part->dense);
    vbs_coded_form((enum vbs_coding)part->coded.header.coding)
        ->decode(&part->coded, place, part->dense);
    return part->plan->layer.gemm(
        block->end - block->from, tile->height * g->sum_pitch, place->n_columns,
        part->dense + block->from * place->n_columns, place->n_columns,
        has_columns ? part->columns : part->slab, has_columns ? g->row_floats : g->channel_pitch,
        vbs_coded_sums(part, place->first_row + block->from, 0), g->group_floats);
}

/* Applies the blocks of one column of blocks to a tile. */
static bool run_column(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                       int64_t column)
{
    const struct vbs_coded *coded = &part->coded;
    int64_t block_rows = coded->header.block_rows, end = part->first_row + part->n_rows;
    bool is_dense = part->plan->layer.method == VBS_CODED_DENSE;

    for (int64_t r = part->first_row / block_rows; r * block_rows < end; r++) {
        struct layer_block block = {
            .place = vbs_coded_place(coded, r * coded->n_block_columns + column)};

        block.from = part->first_row > r * block_rows ? part->first_row - r * block_rows : 0;
        block.end = end - r * block_rows;
        block.end = block.end < block.place.n_rows ? block.end : block.place.n_rows;
        if (!is_dense)
            multiply_block(part, tile, &block);
        else if (!multiply_dense(part, tile, &block))
            return false;
    }
    return true;
}

/* Computes the chunk at hand, whose rows are all of one group, for a tile. */
static bool run_chunk(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile)
{
    const struct vbs_coded_plan *plan = part->plan;
    const struct vbs_coded *coded = &part->coded;
    int64_t group = part->first_row / (coded->header.n_rows / plan->layer.groups);
    int64_t block_columns = coded->header.block_columns;
    bool has_columns =
        plan->layer.method == VBS_CODED_DENSE && vbs_coded_has_columns(&plan->geometry);

    memset(part->sums, 0,
           (size_t)part->n_rows * (size_t)plan->geometry.row_floats * sizeof *part->sums);
    for (int64_t c = 0; c < coded->n_block_columns; c++) {
        int64_t left = coded->header.n_columns - c * block_columns;
        int64_t n_columns = left < block_columns ? left : block_columns;

        vbs_coded_fill_slab(part, tile, group, c * block_columns, n_columns);
        if (has_columns)
            vbs_coded_fill_columns(part, tile, n_columns);
        if (!run_column(part, tile, c))
            return false;
    }
    vbs_coded_put_output(part, tile);
    return true;
}

static struct vbs_coded_tile tile_of(const struct vbs_coded_plan *plan, int64_t number)
{
    const struct vbs_coded_geometry *g = &plan->geometry;
    struct vbs_coded_tile tile;

    tile.left = number % g->n_over * g->width;
    number /= g->n_over;
    tile.top = number % g->n_down * g->height;
    number /= g->n_down;
    tile.depth = number % g->out_size[0];
    tile.sample = number / g->out_size[0] * g->side;
    tile.n_samples = plan->layer.batch - tile.sample;
    tile.n_samples = tile.n_samples < g->side ? tile.n_samples : g->side;
    tile.height = g->out_size[1] - tile.top;
    tile.height = tile.height < g->height ? tile.height : g->height;
    tile.width = g->out_size[2] - tile.left;
    tile.width = tile.width < g->width ? tile.width : g->width;
    return tile;
}

/* Gives where part i of n begins among the rows. */
static int64_t row_at(const struct vbs_coded_plan *plan, int64_t i)
{
    int64_t n_rows = plan->layer.coded->header.n_rows;
    int64_t granules = (n_rows + plan->granule - 1) / plan->granule;
    int64_t row = granules * i / plan->geometry.n_row_parts * plan->granule;

    return row < n_rows ? row : n_rows;
}

static bool run_rows(struct vbs_coded_part *part, int64_t number, int64_t first_row,
                     int64_t end_row)
{
    const struct vbs_coded_plan *plan = part->plan;
    int64_t rows_of_group = plan->layer.coded->header.n_rows / plan->layer.groups;
    struct vbs_coded_tile tile = tile_of(plan, number);

    for (int64_t row = first_row, end; row < end_row; row = end) {
        end = (row / rows_of_group + 1) * rows_of_group;
        end = end < end_row ? end : end_row;
        end = end < row + plan->geometry.chunk_rows ? end : row + plan->geometry.chunk_rows;
        part->first_row = row;
        part->n_rows = end - row;
        if (!run_chunk(part, &tile))
            return false;
    }
    return true;
}

static void run_part(void *job, int number)
{
    struct layer_run *run = job;
    const struct vbs_coded_plan *plan = run->plan;
    const struct vbs_coded_geometry *g = &plan->geometry;
    const struct vbs_coded_memory *memory = &plan->memory;
    char *base = run->parts + number * memory->part_bytes;
    struct vbs_coded_part part = {.plan = plan,
                                  .coded = run->coded,
                                  .input = run->input,
                                  .output = run->output,
                                  .slab = (void *)(base + memory->slab),
                                  .columns = (void *)(base + memory->columns),
                                  .dense = (void *)(base + memory->dense),
                                  .sums = (void *)(base + memory->sums),
                                  .offsets = (void *)(base + memory->offsets),
                                  .entries = (void *)(base + memory->entries),
                                  .starts = (void *)(base + memory->starts)};
    int64_t row_part = number / g->n_tile_parts, tile_part = number % g->n_tile_parts;
    int64_t end = g->n_tiles * (tile_part + 1) / g->n_tile_parts;

    for (int64_t t = g->n_tiles * tile_part / g->n_tile_parts; t < end; t++)
        if (!run_rows(&part, t, row_at(plan, row_part), row_at(plan, row_part + 1))) {
            atomic_store(&run->has_failed, true);
            return;
        }
}

bool vbs_coded_plan_run(const struct vbs_coded_plan *plan, const void *weights, const float *input,
                        float *output, void *workspace)
{
    struct layer_run run = {.plan = plan,
                            .input = input,
                            .output = output,
                            .parts = (char *)workspace + plan->memory.tables_bytes};

    vbs_coded_move(plan->layer.coded, weights, plan->decodes || plan->fuses, workspace, &run.coded);
    if (plan->layer.parallel)
        plan->layer.parallel(plan->n_parts, run_part, &run);
    else
        for (int i = 0; i < plan->n_parts; i++)
            run_part(&run, i);
    return !atomic_load(&run.has_failed);
}
