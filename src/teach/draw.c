/* Problems drawn from numbers: the layers, their sizes and times, the budget. */
#include "teach/teach.h"

#include "base/fail.h"
#include "base/random.h"

#include <inttypes.h>
#include <string.h>

#define MAX_BATCHES 4

/* The graphs of branched networks: the layers that each layer reads. */
#define BRANCHED_LAYERS 5
struct graph {
    int inputs[BRANCHED_LAYERS + 1][2]; /* [1..5]; -1: there is no second */
};

static const struct graph GRAPHS[] = {
    {{{0, -1}, {0, -1}, {1, -1}, {1, -1}, {2, 3}, {4, -1}}}, /* two branches of a layer each */
    {{{0, -1}, {0, -1}, {1, -1}, {2, -1}, {1, 3}, {4, -1}}}, /* a shortcut */
    {{{0, -1}, {0, -1}, {1, -1}, {1, -1}, {3, -1}, {2, 4}}}, /* a short and a long branch */
};

#define N_GRAPHS (sizeof GRAPHS / sizeof GRAPHS[0])

/* What the problems of a level have in common. */
struct teach_level {
    const char *text;
    int n_layers;
    int request;
    int batches[MAX_BATCHES]; /* ends with 0 */
    bool branched;
    bool two_algorithms;
    bool weights;
    bool beats_greedy;
    enum vbs_io io;
};

static const struct teach_level LEVELS[VBS_EXERCISE_LEVELS] = {
    {.text = "a chain of 3 layers, 4 samples", .n_layers = 3, .request = 4, .batches = {1, 2, 4}},
    {.text = "a chain of 4 layers, 6 samples",
     .n_layers = 4,
     .request = 6,
     .batches = {1, 2, 3},
     .beats_greedy = true},
    {.text = "a chain of 4 layers, 6 samples, two algorithms for each layer",
     .n_layers = 4,
     .request = 6,
     .batches = {1, 2, 3},
     .two_algorithms = true,
     .beats_greedy = true},
    {.text = "branches: 5 layers, 4 samples",
     .n_layers = BRANCHED_LAYERS,
     .request = 4,
     .batches = {1, 2, 4},
     .branched = true,
     .beats_greedy = true},
    {.text = "branches: 5 layers, 4 samples; inputs and outputs inside the memory (io resident)",
     .n_layers = BRANCHED_LAYERS,
     .request = 4,
     .batches = {1, 2, 4},
     .branched = true,
     .beats_greedy = true,
     .io = VBS_IO_RESIDENT},
    {.text = "a chain of 3 layers, 3 samples, with its weights inside the memory: a second clock "
             "copies them in",
     .n_layers = 3,
     .request = 3,
     .batches = {1, 2, 3},
     .weights = true,
     .beats_greedy = true},
};

const char *vbs_exercise_level_text(int level)
{
    return level >= 1 && level <= VBS_EXERCISE_LEVELS ? LEVELS[level - 1].text : NULL;
}

bool vbs_teach_beats_greedy(int level)
{
    return LEVELS[level - 1].beats_greedy;
}

void vbs_teach_name(int level, int64_t seed, char name[TEACH_NAME_SIZE])
{
    snprintf(name, TEACH_NAME_SIZE, "exercise-%d-%" PRId64, level, seed);
}

/* ---- numbers ---- */

/* Gives a number within low..high. */
static int draw(uint64_t *state, int low, int high)
{
    return low + (int)((vbs_random_next(state) >> 32) * (uint64_t)(high - low + 1) >> 32);
}

/* Starts the numbers of an attempt: each part moves the state to an unrelated place. */
static uint64_t begin(int level, int64_t seed, int attempt)
{
    uint64_t state = (uint64_t)seed;

    state = vbs_random_next(&state) + (uint64_t)level;
    state = vbs_random_next(&state) + (uint64_t)attempt;
    return vbs_random_next(&state);
}

/* ---- layers ---- */

/* A problem while it is drawn. */
struct teach_drawing {
    struct vbs_ctx *ctx;
    const struct teach_level *level;
    uint64_t random;
    struct vbs_profile_builder *builder;
    int64_t out_bytes[TEACH_LAYERS + 1]; /* [0]: of the network's input */
    int64_t weight_bytes[TEACH_LAYERS + 1];
};

static enum vbs_status add_rows(struct teach_drawing *drawing, int id, const char *algorithm,
                                int64_t ws_bytes, int fixed_ms, int sample_ms)
{
    for (const int *batch = drawing->level->batches; batch < drawing->level->batches + MAX_BATCHES;
         batch++) {
        struct vbs_profile_row row = {.time_us = TEACH_UNIT_US * (fixed_ms + sample_ms * *batch),
                                      .ws_bytes = ws_bytes * *batch,
                                      .n_slices = 1};

        if (*batch > 0)
            VBS_TRY(vbs_profile_builder_row(drawing->ctx, drawing->builder, id, *batch, algorithm,
                                            &row));
    }
    return VBS_OK;
}

/* Adds the rows of a layer. A second algorithm takes less time for a sample and more workspace. */
static enum vbs_status draw_rows(struct teach_drawing *drawing, int id)
{
    int fixed_ms = draw(&drawing->random, 1, 6), sample_ms = draw(&drawing->random, 1, 3);
    int ws_bytes = draw(&drawing->random, 0, 3);

    if (!drawing->level->two_algorithms)
        return add_rows(drawing, id, "a", ws_bytes, fixed_ms, sample_ms);
    VBS_TRY(add_rows(drawing, id, "a", ws_bytes, fixed_ms, sample_ms + 1));
    ws_bytes += draw(&drawing->random, 1, 3);
    return add_rows(drawing, id, "b", ws_bytes, fixed_ms + draw(&drawing->random, -1, 1),
                    sample_ms);
}

static enum vbs_status draw_layer(struct teach_drawing *drawing, const struct graph *graph, int id)
{
    char name[16];
    int inputs[2] = {graph ? graph->inputs[id][0] : id - 1, graph ? graph->inputs[id][1] : -1};
    struct vbs_profile_layer layer = {
        .name = name,
        .kind = inputs[1] < 0 ? "conv" : "concat",
        .n_inputs = inputs[1] < 0 ? 1 : 2,
        .inputs = inputs,
        .weight_bytes = drawing->level->weights ? draw(&drawing->random, 2, 6) : 0,
        .channels = drawing->level->weights ? 1 : 0, /* no step or load divides its weights */
    };

    snprintf(name, sizeof name, "L%d", id);
    for (int i = 0; i < layer.n_inputs; i++)
        layer.in_bytes += drawing->out_bytes[inputs[i]];
    layer.out_bytes = drawing->out_bytes[id] = draw(&drawing->random, 1, 4);
    drawing->weight_bytes[id] = layer.weight_bytes;
    VBS_TRY(vbs_profile_builder_layer(drawing->ctx, drawing->builder, &layer));
    return draw_rows(drawing, id);
}

/* Adds the copies of weights: one unit in 1 or 2 ms. */
static enum vbs_status draw_copies(struct teach_drawing *drawing)
{
    struct vbs_copy_row row = {.bytes = 1, .time_us = TEACH_UNIT_US * draw(&drawing->random, 1, 2)};

    if (!drawing->level->weights)
        return VBS_OK;
    return vbs_profile_builder_copy(drawing->ctx, drawing->builder, TEACH_SOURCE, &row);
}

static enum vbs_status draw_profile(struct teach_drawing *drawing, const char *name,
                                    struct vbs_profile **profile)
{
    const struct vbs_provenance provenance = {.model = name};
    const struct graph *graph = NULL;

    if (drawing->level->branched)
        graph = &GRAPHS[draw(&drawing->random, 0, (int)N_GRAPHS - 1)];
    drawing->out_bytes[0] = draw(&drawing->random, 1, 3);
    VBS_TRY(vbs_profile_builder_provenance(drawing->ctx, drawing->builder, &provenance));
    for (int id = 1; id <= drawing->level->n_layers; id++)
        VBS_TRY(draw_layer(drawing, graph, id));
    VBS_TRY(draw_copies(drawing));
    return vbs_profile_builder_finish(drawing->ctx, drawing->builder, profile);
}

/* ---- the budget ---- */

/* Gives the least budget in which batch 1, sample after sample, fits beside all weights. */
static int64_t least_bytes(const struct vbs_exercise *exercise, unsigned weighted)
{
    struct teach_state state = {.loaded = weighted};
    int64_t least = 0;

    for (int64_t sample = 0; sample < exercise->request; sample++)
        for (int k = 1; k <= exercise->profile->n_layers; k++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(exercise->profile, k, 0, &n_rows);
            int64_t bytes = vbs_teach_during_bytes(exercise, &state, k, 1) + rows[0].ws_bytes;

            least = bytes > least ? bytes : least;
            state.done[k]++;
        }
    return least;
}

enum vbs_status vbs_teach_draw(struct vbs_ctx *ctx, int level, int64_t seed, int attempt,
                               struct vbs_exercise *exercise)
{
    struct teach_drawing drawing = {.ctx = ctx,
                                    .level = &LEVELS[level - 1],
                                    .random = begin(level, seed, attempt),
                                    .builder = vbs_profile_builder_new()};
    char name[TEACH_NAME_SIZE];
    struct vbs_profile *profile = NULL;
    enum vbs_status status;
    int64_t least;

    if (!drawing.builder)
        return vbs_no_memory(ctx);
    vbs_teach_name(level, seed, name);
    status = draw_profile(&drawing, name, &profile);
    vbs_profile_builder_free(drawing.builder);
    if (status != VBS_OK)
        return status;
    *exercise = (struct vbs_exercise){
        .level = level,
        .seed = seed,
        .profile = profile,
        .request = drawing.level->request,
        .io = drawing.level->io,
        .weights = drawing.level->weights ? VBS_WEIGHTS_INCLUDED : VBS_WEIGHTS_EXCLUDED,
    };
    if (drawing.level->weights)
        exercise->copy = profile->copies[0].link;
    least = least_bytes(exercise, vbs_teach_weighted(exercise));
    exercise->memory_bytes = least + draw(&drawing.random, 0, 2 * (int)least);
    return VBS_OK;
}
