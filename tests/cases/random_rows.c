#include "cases/random_rows.h"

#include "base/ctx.h"
#include "base/fail.h"
#include "support/made_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS  400  /* at a next step, before a schedule counts as stuck */
#define MAX_STEPS 4000 /* of a schedule */

struct draft {
    gsl_rng *rng;
    struct vbs_ctx ctx;
    struct vbs_profile_builder *builder;
    int n_layers;
    bool is_chain, has_weights;
    int max_rows;
    int rows[RANDOM_MAX_LAYERS + 1];      /* that other layers can read; 0: none */
    int64_t bytes[RANDOM_MAX_LAYERS + 1]; /* of a sample */
};

/* A layer before it is added; its times are for chains. */
struct layer_draft {
    int n_inputs;
    int inputs[2];
    struct vbs_reach reaches[2];
    int rows; /* 0: it has none */
    bool accumulates;
    int launch_us, row_us;
    int64_t weight_bytes[2]; /* by format */
};

/* Rows that are sometimes longer than a page, so that windows are not all rounded to one page. */
static int64_t random_row_bytes(gsl_rng *rng)
{
    return random_once_in(rng, 3) ? random_int(rng, 1000, 9000) : random_int(rng, 1, 50);
}

static int random_tensor(struct draft *draft)
{
    int n = draft->n_layers;

    /* Mostly the layer before, so that chains are long. */
    return n == 0 || draft->is_chain || !random_once_in(draft->rng, 3)
               ? n
               : random_int(draft->rng, 0, n);
}

/* Draws a window over rows of the input; false where it would have no output row. */
static bool draw_window(struct draft *draft, struct layer_draft *layer)
{
    int stride = random_int(draft->rng, 1, 3), kernel = random_int(draft->rng, 1, 5);
    int dilation = random_once_in(draft->rng, 4) ? 2 : 1, pad = random_int(draft->rng, 0, 3);
    int extent = dilation * (kernel - 1) + 1, n = draft->rows[layer->inputs[0]];
    int rows = (n + 2 * pad - extent) / stride + 1;

    if (n + 2 * pad < extent || rows < 1 || rows > draft->max_rows)
        return false;
    layer->rows = rows;
    layer->reaches[0] = (struct vbs_reach){stride, 1, -pad, extent - 1 - pad};
    return true;
}

/* Takes every stride-th row from row begin on, and leaves out what is behind (a Slice). */
static bool draw_slice(struct draft *draft, struct layer_draft *layer)
{
    int stride = random_int(draft->rng, 1, 3), n = draft->rows[layer->inputs[0]];
    int begin = random_int(draft->rng, 0, n - 1), most = (n - begin + stride - 1) / stride;

    layer->rows = random_once_in(draft->rng, 2) ? most : random_int(draft->rng, 1, most);
    layer->reaches[0] = (struct vbs_reach){stride, 1, begin, begin};
    return true;
}

/* Adds rows in front and behind, or takes some away (a Pad). Added rows read nothing. */
static bool draw_pad(struct draft *draft, struct layer_draft *layer)
{
    int before = random_int(draft->rng, -4, 3), behind = random_int(draft->rng, -4, 3);
    int rows = draft->rows[layer->inputs[0]] + before + behind;

    if (rows < 1 || rows > draft->max_rows)
        return false;
    layer->rows = rows;
    layer->reaches[0] = (struct vbs_reach){1, 1, -before, -before};
    return true;
}

/* Spreads windows with a stride (a transposed convolution). Padding cuts rows off in front and
 * behind; rows between windows that are shorter than the stride read nothing. */
static bool draw_spread(struct draft *draft, struct layer_draft *layer)
{
    int stride = random_int(draft->rng, 1, 3), kernel = random_int(draft->rng, 1, 4);
    int dilation = random_once_in(draft->rng, 4) ? 2 : 1, pad = random_int(draft->rng, 0, 4);
    int extent = dilation * (kernel - 1), n = draft->rows[layer->inputs[0]];
    int rows = (n - 1) * stride + extent + 1 - pad - random_int(draft->rng, 0, 4);
    int low = stride - 1 + pad - extent;

    if (rows < 1 || rows > draft->max_rows)
        return false;
    layer->rows = rows;
    layer->reaches[0] = (struct vbs_reach){1, stride, low < pad ? low : pad, pad};
    return true;
}

/* Draws an operator that passes rows of one tensor on, and adds, drops or steps over some. */
static bool draw_shift(struct draft *draft, struct layer_draft *layer)
{
    int kind = random_int(draft->rng, 0, 2);

    return kind == 0   ? draw_slice(draft, layer)
           : kind == 1 ? draw_pad(draft, layer)
                       : draw_spread(draft, layer);
}

/* Doubles the rows: each output row reads the row of which it is a half, and one beside it. */
static bool draw_doubling(struct draft *draft, struct layer_draft *layer)
{
    int n = draft->rows[layer->inputs[0]];

    if (n == 0 || 2 * n > draft->max_rows)
        return false;
    layer->rows = 2 * n;
    layer->reaches[0] = (struct vbs_reach){1, 2, -random_int(draft->rng, 0, 1), 1};
    return true;
}

/* Adds two tensors: of equal rows, or the second one is read whole, as factors of channels. */
static bool draw_sum(struct draft *draft, struct layer_draft *layer)
{
    int first = layer->inputs[0], second = random_int(draft->rng, 0, draft->n_layers);
    bool equal = draft->rows[first] == draft->rows[second];

    if (draft->rows[first] == 0)
        return false;
    layer->n_inputs = 2;
    layer->inputs[1] = second;
    layer->rows = draft->rows[first];
    layer->reaches[0] = (struct vbs_reach){1, 1, 0, 0};
    layer->reaches[1] = equal ? layer->reaches[0] : (struct vbs_reach){0};
    return true;
}

/* Takes the rows of one tensor, or of two with equal rows, one after the other. */
static bool draw_accumulator(struct draft *draft, struct layer_draft *layer)
{
    int first = layer->inputs[0], second = random_int(draft->rng, 0, draft->n_layers);

    if (draft->rows[first] == 0)
        return false;
    layer->accumulates = true;
    layer->n_inputs = 1 + (second != first && draft->rows[second] == draft->rows[first]);
    layer->inputs[1] = second;
    layer->rows = draft->rows[first];
    layer->reaches[0] = layer->reaches[1] = (struct vbs_reach){.step = 1};
    return true;
}

static struct layer_draft draw_layer(struct draft *draft)
{
    struct layer_draft layer = {.n_inputs = 1};
    bool drawn = false;

    while (!drawn) {
        int kind = random_int(draft->rng, 0, 9);

        layer = (struct layer_draft){.n_inputs = 1, .inputs = {random_tensor(draft)}};
        if (draft->is_chain ? draft->rows[layer.inputs[0]] == 0 : kind == 0)
            break; /* no rows: it reads whole samples, in a chain those that were accumulated */
        if (kind == 1 && (!draft->is_chain || draft->n_layers > 1)) {
            drawn = draw_accumulator(draft, &layer);
            continue;
        }
        if (draft->is_chain)
            kind = kind <= 6 ? 2 : kind <= 8 ? 5 : 9;
        if (kind <= 5 && draft->rows[layer.inputs[0]] == 0)
            continue;
        drawn = kind <= 3   ? draw_window(draft, &layer)
                : kind <= 5 ? draw_shift(draft, &layer)
                : kind <= 7 ? draw_sum(draft, &layer)
                            : draw_doubling(draft, &layer);
    }
    return layer;
}

/* Draws a time: in a chain that of a launch, and of rows in proportion; else any. */
static double draw_time(struct draft *draft, const struct layer_draft *layer, int batch, int rows)
{
    if (!draft->is_chain)
        return random_int(draft->rng, 1, 1000);
    rows = rows > 0 ? rows : layer->rows;
    return layer->launch_us + layer->row_us * rows * batch;
}

static enum vbs_status add_rows(struct draft *draft, const struct layer_draft *layer)
{
    int id = draft->n_layers;
    enum vbs_status status = VBS_OK;

    for (int batch = 1; batch <= 2 && status == VBS_OK; batch++)
        for (int rows = 0; rows < layer->rows && status == VBS_OK; rows = rows ? 2 * rows : 1) {
            int n = draft->is_chain ? 1 : random_int(draft->rng, 1, 2);

            if (layer->rows == 0 && rows > 0)
                break;
            for (int i = 0; i < n && status == VBS_OK; i++) {
                int format = i == 1 && layer->weight_bytes[1] > 0;
                struct vbs_profile_row row = {.time_us = draw_time(draft, layer, batch, rows),
                                              .ws_bytes = random_int(draft->rng, 0, 40),
                                              .weight_bytes = layer->weight_bytes[format],
                                              .format = format,
                                              .n_slices = rows > 0 ||
                                                          (draft->is_chain && draft->has_weights),
                                              .rows = rows};

                status = vbs_profile_builder_row(&draft->ctx, draft->builder, id, batch,
                                                 i == 0 ? "a" : "b", &row);
            }
        }
    if (layer->rows == 0)
        for (int batch = 1; batch <= 2 && status == VBS_OK; batch++) {
            struct vbs_profile_row row = {.time_us = random_int(draft->rng, 1, 1000),
                                          .weight_bytes = layer->weight_bytes[0]};

            status = vbs_profile_builder_row(&draft->ctx, draft->builder, id, batch, "whole", &row);
        }
    return status;
}

/* A layer that reads one tensor whole may be one that can take its rows one by one. */
static const char *kind_of(const struct layer_draft *layer)
{
    return layer->accumulates     ? "avgpool"
           : layer->n_inputs == 2 ? "add"
           : layer->rows > 1      ? "conv"
           : layer->rows          ? "avgpool"
                                  : "fc";
}

static enum vbs_status add_layer(struct draft *draft)
{
    struct layer_draft layer = draw_layer(draft);
    int id = ++draft->n_layers;
    struct vbs_profile_layer profile = {.name = "L",
                                        .kind = kind_of(&layer),
                                        .n_inputs = layer.n_inputs,
                                        .inputs = layer.inputs,
                                        .rows = layer.rows,
                                        .weight_bytes = id % 4 * 300,
                                        .reaches = layer.rows > 0 ? layer.reaches : NULL};

    if (draft->has_weights) {
        profile.weight_bytes = random_once_in(draft->rng, 4) ? 0
                               : draft->is_chain             ? random_int(draft->rng, 1, 60)
                                                             : random_int(draft->rng, 1, 9000);
        layer.weight_bytes[0] = profile.weight_bytes;
        if (!random_once_in(draft->rng, 3))
            layer.weight_bytes[1] = profile.weight_bytes * 3 / 2;
    }
    layer.launch_us = random_int(draft->rng, 1, 20);
    layer.row_us = random_int(draft->rng, 1, 20);
    for (int i = 0; i < layer.n_inputs; i++)
        profile.in_bytes += draft->bytes[layer.inputs[i]];
    profile.in_place = layer.n_inputs == 2 && !layer.accumulates && random_once_in(draft->rng, 3);
    draft->rows[id] = layer.accumulates ? 0 : layer.rows;
    draft->bytes[id] = profile.out_bytes =
        random_row_bytes(draft->rng) * (draft->rows[id] > 0 ? layer.rows : 1);
    VBS_TRY(vbs_profile_builder_layer(&draft->ctx, draft->builder, &profile));
    return add_rows(draft, &layer);
}

static struct vbs_profile *make(struct draft *draft, int n_layers, int input_rows)
{
    struct vbs_profile *profile = NULL;
    enum vbs_status status;

    draft->builder = vbs_profile_builder_new();
    draft->rows[0] = input_rows;
    draft->bytes[0] = input_rows * random_row_bytes(draft->rng);
    status = vbs_profile_builder_input_rows(&draft->ctx, draft->builder, input_rows);
    while (status == VBS_OK && draft->n_layers < n_layers)
        status = add_layer(draft);
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&draft->ctx, draft->builder, &profile);
    if (status != VBS_OK)
        printf("# no profile: %s\n", vbs_detail(&draft->ctx));
    vbs_profile_builder_free(draft->builder);
    return profile;
}

struct vbs_profile *random_rows_profile(gsl_rng *rng, int max_layers)
{
    struct draft draft = {.rng = rng, .max_rows = RANDOM_MAX_ROWS};
    int n_layers = random_int(rng, 1, max_layers);

    return make(&draft, n_layers, random_int(rng, 1, RANDOM_MAX_ROWS));
}

struct vbs_profile *random_rows_weighted(gsl_rng *rng, int max_layers)
{
    struct draft draft = {.rng = rng, .has_weights = true, .max_rows = RANDOM_MAX_ROWS};
    int n_layers = random_int(rng, 1, max_layers);

    return make(&draft, n_layers, random_int(rng, 1, RANDOM_MAX_ROWS));
}

struct vbs_profile *random_rows_weighted_chain(gsl_rng *rng, int n_layers, int max_rows)
{
    struct draft draft = {.rng = rng, .is_chain = true, .has_weights = true, .max_rows = max_rows};

    return make(&draft, n_layers, random_int(rng, 2, max_rows));
}

struct vbs_profile *random_rows_chain(gsl_rng *rng, int n_layers, int max_rows)
{
    struct draft draft = {.rng = rng, .is_chain = true, .max_rows = max_rows};

    return make(&draft, n_layers, random_int(rng, 2, max_rows));
}

/* ---- schedules ---- */

/* Gives the rows that a window needs beside those of a step, so that readers can go on row by row;
 * -1: no layer reads the tensor; the tensor's rows where one reads it whole. */
static int64_t rows_needed(const struct vbs_profile *profile, int tensor)
{
    int64_t most = -1;

    for (int k = tensor + 1; k <= profile->n_layers; k++)
        for (int i = 0; i < profile->layers[k].n_inputs; i++) {
            const struct vbs_reach *reach =
                profile->layers[k].reaches ? &profile->layers[k].reaches[i] : NULL;
            int64_t rows =
                !reach || (reach->unit == 0 && reach->step == 0) ? profile->layers[tensor].rows
                : reach->unit == 0                               ? 1
                                   : (reach->high - reach->low + reach->step) / reach->unit;

            if (profile->layers[k].inputs[i] == tensor && rows > most)
                most = rows;
        }
    return most;
}

static bool accumulates(const struct vbs_profile_layer *layer)
{
    return layer->reaches && layer->reaches[0].unit == 0 && layer->reaches[0].step == 1;
}

/* Makes a step one by rows into a window of few rows, for schedules that shall have some. */
static struct vbs_step narrow(gsl_rng *rng, const struct brute_rows *state, struct vbs_step step)
{
    int rows = state->profile->layers[step.layer].rows;
    int64_t needed = rows_needed(state->profile, step.layer);

    if (rows < 3 || step.row > 0 || random_once_in(rng, 10))
        return step;
    if (step.rows == 0 || !random_once_in(rng, 4))
        step.rows = random_int(rng, 1, 2);
    if (needed >= 0 && accumulates(&state->profile->layers[step.layer]))
        step.window = rows;
    else if (needed < 0)
        step.window = state->io == VBS_IO_EXTERNAL ? 0 : rows;
    else if (step.rows + needed < rows)
        step.window = random_int(rng, step.rows + (int)needed, rows - 1);
    return step;
}

const char *const random_rows_algorithms[RANDOM_ROWS_ALGORITHMS] = {"a", "b", "whole"};

const struct vbs_profile_row *random_rows_row(const struct vbs_profile *profile,
                                              const struct vbs_step *step)
{
    const char *name = random_rows_algorithms[step->algorithm];
    int n;

    if (step->rows != 0 && step->rows != profile->layers[step->layer].rows) {
        const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, step->layer, &n);

        for (int i = 0; i < n; i++)
            if (stripes[i].batch == step->batch && stripes[i].row.rows == step->rows &&
                strcmp(profile->algorithms[stripes[i].row.algorithm], name) == 0)
                return &stripes[i].row;
        return NULL;
    }
    for (int b = 0; b < profile->n_batches; b++) {
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, step->layer, b, &n);

        for (int i = 0; i < n && profile->batches[b] == step->batch; i++)
            if (strcmp(profile->algorithms[rows[i].algorithm], name) == 0)
                return &rows[i];
    }
    return NULL;
}

struct vbs_step random_rows_step(gsl_rng *rng, const struct brute_rows *state)
{
    const struct vbs_profile *profile = state->profile;
    int layer = random_int(rng, 1, profile->n_layers), rows = profile->layers[layer].rows;
    int first = brute_rows_finished(state, layer), next = 0;
    struct vbs_step step = {.layer = layer, .batch = random_int(rng, 1, 2)};
    const struct brute_sample *at = &state->samples[layer][first < state->request ? first : 0];

    step.algorithm = rows == 0 ? 2 : random_int(rng, 0, 1);
    if (rows == 0 || (random_once_in(rng, 4) && !(at->begun && !at->complete)))
        return step;
    while (at->begun && next < rows && at->done[next])
        next++;
    step.row = random_once_in(rng, 20) ? random_int(rng, 0, rows - 1) : next;
    step.rows = random_once_in(rng, 3) ? rows - next : 1 << random_int(rng, 0, 4);
    if (random_once_in(rng, 40))
        step.rows = random_int(rng, 1, rows);
    if (at->begun && !at->complete && !random_once_in(rng, 20)) {
        step.batch = at->batch;
        step.window = at->window;
    } else {
        step.window = random_once_in(rng, 2) ? rows : random_int(rng, 0, rows);
    }
    return step;
}

struct vbs_schedule *random_rows_schedule(gsl_rng *rng, const struct vbs_profile *profile,
                                          int request, enum vbs_io io)
{
    struct brute_rows *state = malloc(sizeof *state);
    struct vbs_step *steps = calloc(MAX_STEPS, sizeof *steps);
    struct vbs_schedule *schedule = NULL;
    struct vbs_schedule draft = {.model = "random",
                                 .planner = "random",
                                 .request = request,
                                 .io = io,
                                 .n_algorithms = RANDOM_ROWS_ALGORITHMS,
                                 .algorithms = random_rows_algorithms,
                                 .steps = steps};
    int failed = 0;

    if (state && steps)
        brute_rows_init(state, profile, request, io);
    while (state && steps && !brute_rows_complete(state) && draft.n_steps < MAX_STEPS &&
           failed++ < ATTEMPTS) {
        struct vbs_step step = narrow(rng, state, random_rows_step(rng, state));
        int64_t bytes;

        if (!random_rows_row(profile, &step) || !brute_rows_step(state, &step, &bytes))
            continue;
        steps[draft.n_steps++] = step;
        failed = 0;
    }
    if (state && steps && brute_rows_complete(state) &&
        vbs_schedule_copy(NULL, &draft, &schedule) != VBS_OK)
        schedule = NULL;
    free(state);
    free(steps);
    return schedule;
}

struct vbs_profile *rows_pair_profile(int rows, int64_t row_bytes, int most_stripe)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    const struct vbs_reach reach = {1, 1, -1, 1};
    enum vbs_status status = vbs_profile_builder_input_rows(&ctx, builder, rows);

    for (int k = 1; k <= 2 && status == VBS_OK; k++) {
        const int input = k - 1;
        const struct vbs_profile_layer layer = {.name = k == 1 ? "first" : "second",
                                                .kind = "conv",
                                                .n_inputs = 1,
                                                .inputs = &input,
                                                .in_bytes = rows * row_bytes,
                                                .channels = 4,
                                                .out_bytes = rows * row_bytes,
                                                .rows = rows,
                                                .reaches = &reach};

        status = vbs_profile_builder_layer(&ctx, builder, &layer);
        for (int n = 0; n <= most_stripe && status == VBS_OK; n = n ? 2 * n : 1) {
            const struct vbs_profile_row row = {.time_us = 1, .rows = n, .n_slices = n > 0};

            status = vbs_profile_builder_row(&ctx, builder, k, 1, "a", &row);
        }
    }
    return made_profile(&ctx, builder, status);
}
