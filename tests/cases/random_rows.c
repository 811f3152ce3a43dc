#include "cases/random_rows.h"

#include "base/ctx.h"
#include "base/fail.h"

#include <stdio.h>

struct draft {
    gsl_rng *rng;
    struct vbs_ctx ctx;
    struct vbs_profile_builder *builder;
    int n_layers;
    bool is_chain;
    int max_rows;
    int rows[RANDOM_MAX_LAYERS + 1];
    int64_t bytes[RANDOM_MAX_LAYERS + 1]; /* of a sample */
};

/* A layer before it is added; its times are for chains. */
struct layer_draft {
    int n_inputs;
    int inputs[2];
    struct vbs_reach reaches[2];
    int rows; /* 0: it has none */
    int launch_us, row_us;
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

static struct layer_draft draw_layer(struct draft *draft)
{
    struct layer_draft layer = {.n_inputs = 1};
    bool drawn = false;

    while (!drawn) {
        int kind = random_int(draft->rng, 0, 9);

        layer = (struct layer_draft){.n_inputs = 1, .inputs = {random_tensor(draft)}};
        if (kind == 0 && !draft->is_chain)
            break; /* no rows: it reads whole samples */
        if (draft->is_chain)
            kind = kind <= 8 ? 1 : 9;
        drawn = kind <= 5   ? draft->rows[layer.inputs[0]] > 0 && draw_window(draft, &layer)
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
                struct vbs_profile_row row = {.time_us = draw_time(draft, layer, batch, rows),
                                              .ws_bytes = random_int(draft->rng, 0, 40),
                                              .n_slices = rows > 0,
                                              .rows = rows};

                status = vbs_profile_builder_row(&draft->ctx, draft->builder, id, batch,
                                                 i == 0 ? "a" : "b", &row);
            }
        }
    if (layer->rows == 0)
        for (int batch = 1; batch <= 2 && status == VBS_OK; batch++) {
            struct vbs_profile_row row = {.time_us = random_int(draft->rng, 1, 1000)};

            status = vbs_profile_builder_row(&draft->ctx, draft->builder, id, batch, "whole", &row);
        }
    return status;
}

static enum vbs_status add_layer(struct draft *draft)
{
    struct layer_draft layer = draw_layer(draft);
    int id = ++draft->n_layers;
    struct vbs_profile_layer profile = {.name = "L",
                                        .kind = "conv",
                                        .n_inputs = layer.n_inputs,
                                        .inputs = layer.inputs,
                                        .rows = layer.rows,
                                        .reaches = layer.rows > 0 ? layer.reaches : NULL};

    layer.launch_us = random_int(draft->rng, 1, 20);
    layer.row_us = random_int(draft->rng, 1, 20);
    for (int i = 0; i < layer.n_inputs; i++)
        profile.in_bytes += draft->bytes[layer.inputs[i]];
    profile.in_place = layer.n_inputs == 2 && random_once_in(draft->rng, 3);
    draft->rows[id] = layer.rows;
    draft->bytes[id] = profile.out_bytes =
        random_row_bytes(draft->rng) * (layer.rows > 0 ? layer.rows : 1);
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

struct vbs_profile *random_rows_chain(gsl_rng *rng, int n_layers, int max_rows)
{
    struct draft draft = {.rng = rng, .is_chain = true, .max_rows = max_rows};

    return make(&draft, n_layers, random_int(rng, 2, max_rows));
}
