/*
 * The finished profile: one body in one arena. Rows are found by (layer, batch) in constant time.
 */
#include "profile/builder.h"

#include "base/fail.h"
#include "base/parse.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct profile_body *body_of(const struct vbs_profile *profile)
{
    return (const struct profile_body *)profile;
}

const struct vbs_profile_row *vbs_profile_rows(const struct vbs_profile *profile, int layer,
                                               int batch_index, int *n_rows)
{
    const struct profile_body *body = body_of(profile);
    size_t cell = (size_t)(layer - 1) * (size_t)profile->n_batches + (size_t)batch_index;

    *n_rows = (int)(body->first[cell + 1] - body->first[cell]);
    return body->rows + body->first[cell];
}

const struct vbs_profile_stripe *vbs_profile_stripes(const struct vbs_profile *profile, int layer,
                                                     int *n_stripes)
{
    const struct profile_body *body = body_of(profile);

    *n_stripes = (int)(body->first_stripe[layer + 1] - body->first_stripe[layer]);
    return body->stripes + body->first_stripe[layer];
}

const struct vbs_profile_row *vbs_profile_find_row(const struct vbs_profile *profile, int layer,
                                                   int batch, int rows, int algorithm)
{
    int index = vbs_profile_batch_index(profile, batch), n;
    const struct vbs_profile_stripe *stripes;
    const struct vbs_profile_row *whole;

    if (rows > 0 && rows < profile->layers[layer].rows) {
        stripes = vbs_profile_stripes(profile, layer, &n);
        for (int i = 0; i < n; i++)
            if (stripes[i].batch == batch && stripes[i].row.rows == rows &&
                stripes[i].row.algorithm == algorithm)
                return &stripes[i].row;
        return NULL;
    }
    if (index < 0)
        return NULL;
    whole = vbs_profile_rows(profile, layer, index, &n);
    for (int i = 0; i < n; i++)
        if (whole[i].algorithm == algorithm)
            return &whole[i];
    return NULL;
}

bool vbs_profile_has_stripes(const struct vbs_profile *profile)
{
    bool has_rows = false;

    for (int layer = 0; layer <= profile->n_layers; layer++)
        has_rows = has_rows || profile->layers[layer].rows > 0;
    return has_rows || strcmp(profile->provenance.layout, VBS_LAYOUT_ROWS) == 0;
}

int vbs_profile_batch_index(const struct vbs_profile *profile, int batch)
{
    int low = 0, high = profile->n_batches;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (profile->batches[middle] < batch)
            low = middle + 1;
        else
            high = middle;
    }
    return low < profile->n_batches && profile->batches[low] == batch ? low : -1;
}

int vbs_profile_algorithm(const struct vbs_profile *profile, const char *name)
{
    int low = 0, high = profile->n_algorithms;

    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(profile->algorithms[middle], name);

        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

const struct vbs_copy *vbs_profile_copy(const struct vbs_profile *profile, const char *source)
{
    for (int i = 0; i < profile->n_copies; i++)
        if (strcmp(profile->copies[i].source, source) == 0)
            return &profile->copies[i];
    return NULL;
}

/* The sum cannot overflow: the sum of a profile's bytes fits (profile.h). */
int64_t vbs_profile_weight_bytes(const struct vbs_profile *profile)
{
    int64_t bytes = 0;

    for (int k = 1; k <= profile->n_layers; k++)
        bytes += profile->layers[k].weight_bytes;
    return bytes;
}

int64_t vbs_profile_format_bytes(const struct vbs_profile *profile, int layer, int format)
{
    int n_stripes;
    const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, layer, &n_stripes);

    for (int i = 0; i < profile->n_batches; i++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, i, &n_rows);

        for (int a = 0; a < n_rows; a++)
            if (rows[a].format == format)
                return rows[a].weight_bytes;
    }
    for (int i = 0; i < n_stripes; i++)
        if (stripes[i].row.format == format)
            return stripes[i].row.weight_bytes;
    return profile->layers[layer].weight_bytes;
}

bool vbs_profile_divisible(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row)
{
    return row->n_slices == 0 && !layer->in_place &&
           row->weight_bytes - layer->weight_bytes <= layer->weight_bytes / 8;
}

bool vbs_profile_divides(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                         int n)
{
    if (n <= 1 || row->n_slices > 0)
        return n <= 1 || n == row->n_slices;
    return vbs_profile_divisible(layer, row) && (layer->channels == 0 || n <= layer->channels);
}

bool vbs_provenance_predicted(const struct vbs_provenance *provenance)
{
    return provenance->notes &&
           strncmp(provenance->notes, VBS_PREDICTED_NOTE, sizeof VBS_PREDICTED_NOTE - 1) == 0;
}

bool vbs_provenance_posterior(const struct vbs_provenance *provenance)
{
    size_t length = sizeof VBS_TIMES_POSTERIOR - 1;

    return strncmp(provenance->times, VBS_TIMES_POSTERIOR, length) == 0 &&
           (provenance->times[length] == '\0' || provenance->times[length] == ' ');
}

double vbs_provenance_drift(const struct vbs_provenance *provenance)
{
    static const char SIGN[] = " +-";
    const char *sign = provenance->times + sizeof VBS_TIMES_POSTERIOR - 1, *end;
    int64_t percent;

    if (!vbs_provenance_posterior(provenance) || strncmp(sign, SIGN, sizeof SIGN - 1) != 0 ||
        !vbs_parse_digits(sign + sizeof SIGN - 1, &end, &percent) || end[0] != '.' ||
        !isdigit((unsigned char)end[1]) || strcmp(end + 2, "%") != 0)
        return 0;
    return (fmin((double)percent, VBS_MOST_DRIFT_PERCENT) + (end[1] - '0') / 10.0) / 100;
}

void vbs_profile_free(struct vbs_profile *profile)
{
    struct profile_body *body = (struct profile_body *)profile;

    if (!body)
        return;
    vbs_arena_clear(&body->arena);
    free(body);
}

/* Copies the layers; layer 0 is the network's input. */
static bool copy_layers(struct profile_body *body, const struct vbs_profile_builder *builder,
                        int64_t input_bytes)
{
    struct vbs_profile_layer *layers =
        vbs_arena_alloc(&body->arena, (size_t)builder->n_layers + 1, sizeof *layers);

    if (!layers)
        return false;
    layers[0] = (struct vbs_profile_layer){
        .name = "", .kind = "", .out_bytes = input_bytes, .rows = builder->input_rows};
    for (int id = 1; id <= builder->n_layers; id++) {
        const struct vbs_profile_layer *from = &builder->layers[id].layer;
        size_t n_inputs = (size_t)from->n_inputs;
        int *inputs = vbs_arena_alloc(&body->arena, n_inputs, sizeof *inputs);
        struct vbs_reach *reaches =
            from->reaches ? vbs_arena_alloc(&body->arena, n_inputs, sizeof *reaches) : NULL;

        layers[id] = *from;
        layers[id].name = vbs_arena_strdup(&body->arena, from->name);
        layers[id].kind = vbs_arena_strdup(&body->arena, from->kind);
        layers[id].inputs = inputs;
        layers[id].reaches = reaches;
        if (!layers[id].name || !layers[id].kind || !inputs || (from->reaches && !reaches))
            return false;
        memcpy(inputs, from->inputs, n_inputs * sizeof *inputs);
        if (reaches)
            memcpy(reaches, from->reaches, n_inputs * sizeof *reaches);
    }
    body->profile.n_layers = builder->n_layers;
    body->profile.layers = layers;
    return true;
}

/* Copies the rows. The builder's rows are sorted, and every layer has every batch, so that the
 * cells follow one another. */
static bool copy_rows(struct profile_body *body, const struct vbs_profile_builder *builder,
                      const int *batches, int n_batches)
{
    size_t n_cells = (size_t)builder->n_layers * (size_t)n_batches, cell = 0;
    int *own = vbs_arena_alloc(&body->arena, (size_t)n_batches, sizeof *own);

    body->rows = vbs_arena_alloc(&body->arena, builder->n_rows, sizeof *body->rows);
    body->first = vbs_arena_alloc(&body->arena, n_cells + 1, sizeof *body->first);
    if (!own || !body->rows || !body->first)
        return false;
    memcpy(own, batches, (size_t)n_batches * sizeof *own);
    for (size_t i = 0; i < builder->n_rows; i++) {
        const struct builder_row *row = &builder->rows[i];

        if (i > 0 && (row->layer != row[-1].layer || row->batch != row[-1].batch))
            body->first[++cell] = i;
        body->rows[i] = row->row;
    }
    body->first[n_cells] = builder->n_rows;
    body->profile.batches = own;
    body->profile.n_batches = n_batches;
    return true;
}

/* Copies the rows of stripes, which are sorted by layer. */
static bool copy_stripes(struct profile_body *body, const struct vbs_profile_builder *builder)
{
    const struct builder_row *rows = builder->rows + builder->n_rows;
    size_t n = builder->n_stripes, at = 0;

    body->stripes = vbs_arena_alloc(&body->arena, n + 1, sizeof *body->stripes);
    body->first_stripe =
        vbs_arena_alloc(&body->arena, (size_t)builder->n_layers + 2, sizeof *body->first_stripe);
    if (!body->stripes || !body->first_stripe)
        return false;
    for (int layer = 0; layer <= builder->n_layers + 1; layer++) {
        body->first_stripe[layer] = at;
        for (; at < n && rows[at].layer == layer; at++)
            body->stripes[at] =
                (struct vbs_profile_stripe){.batch = rows[at].batch, .row = rows[at].row};
    }
    return true;
}

#define COUNT(member) +1
_Static_assert(offsetof(struct vbs_provenance, threads) ==
                   (0 VBS_PROVENANCE_TEXTS(COUNT)) * sizeof(char *),
               "VBS_PROVENANCE_TEXTS names every text of struct vbs_provenance");
#undef COUNT

static bool copy_names(struct profile_body *body, const struct vbs_profile_builder *builder)
{
    const struct vbs_provenance *from = &builder->provenance;
    struct vbs_provenance *to = &body->profile.provenance;
    const char **names =
        vbs_arena_alloc(&body->arena, (size_t)builder->n_algorithms, sizeof *names);
    bool complete = true;

    if (!names)
        return false;
    for (int i = 0; i < builder->n_algorithms; i++)
        if (!(names[i] = vbs_arena_strdup(&body->arena, builder->algorithms[i])))
            return false;
    body->profile.algorithms = names;
    body->profile.n_algorithms = builder->n_algorithms;
    to->threads = from->threads;
#define COPY(member)                                                                               \
    to->member = vbs_arena_strdup(&body->arena, from->member);                                     \
    complete = complete && to->member;
    VBS_PROVENANCE_TEXTS(COPY)
#undef COPY
    return complete;
}

enum vbs_status vbs_profile_builder_finish(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                           struct vbs_profile **profile)
{
    int64_t input_bytes;
    int *batches, n_batches;
    struct profile_body *body;

    VBS_TRY(vbs_builder_check(ctx, builder, &batches, &n_batches, &input_bytes));
    VBS_TRY(vbs_builder_check_beside(ctx, builder));
    body = calloc(1, sizeof *body);
    if (!body)
        return vbs_no_memory(ctx);
    if (!copy_layers(body, builder, input_bytes) || !copy_rows(body, builder, batches, n_batches) ||
        !copy_stripes(body, builder) || !copy_names(body, builder) ||
        !vbs_builder_copies(builder, &body->arena, &body->profile)) {
        vbs_profile_free(&body->profile);
        return vbs_no_memory(ctx);
    }
    body->profile.speed = builder->speed;
    *profile = &body->profile;
    return VBS_OK;
}
