#include "cases/random_profile.h"

#include "base/ctx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WIRE 4 /* tensors that are read together */

/* The connection between blocks: one tensor, or several that are read side by side. */
struct wire {
    int n;
    int tensors[MAX_WIRE];
};

struct draft {
    gsl_rng *rng;
    int n_layers, max_layers;
    bool is_large;
    struct {
        int n_inputs;
        int inputs[MAX_WIRE + 1];
        int64_t out_bytes, in_bytes;
        bool in_place;
        bool is_free; /* a concat that costs nothing */
    } layers[RANDOM_LARGE_LAYERS + 1];
};

int random_int(gsl_rng *rng, int low, int high)
{
    return low + (int)gsl_rng_uniform_int(rng, (unsigned long)(high - low + 1));
}

bool random_once_in(gsl_rng *rng, int n)
{
    return random_int(rng, 1, n) == 1;
}

static int64_t random_size(gsl_rng *rng)
{
    return random_once_in(rng, 12) ? 0 : random_int(rng, 1, random_once_in(rng, 3) ? 40 : 9);
}

static int add_layer(struct draft *draft, const struct wire *wire, int64_t out_bytes, bool in_place)
{
    int id = ++draft->n_layers;

    draft->layers[id].n_inputs = wire->n;
    draft->layers[id].in_place = in_place;
    draft->layers[id].out_bytes = out_bytes;
    for (int i = 0; i < wire->n; i++) {
        draft->layers[id].inputs[i] = wire->tensors[i];
        draft->layers[id].in_bytes += draft->layers[wire->tensors[i]].out_bytes;
    }
    return id;
}

static struct wire one(int tensor)
{
    return (struct wire){.n = 1, .tensors = {tensor}};
}

static struct wire add_plain(struct draft *draft, const struct wire *wire)
{
    bool in_place = random_once_in(draft->rng, 5);

    return one(add_layer(draft, wire, random_size(draft->rng), in_place));
}

static struct wire side_by_side(const struct wire *branches, int n)
{
    struct wire all = {0};

    for (int i = 0; i < n; i++)
        for (int k = 0; k < branches[i].n; k++) {
            bool there = all.n == MAX_WIRE;

            for (int m = 0; m < all.n; m++)
                there = there || all.tensors[m] == branches[i].tensors[k];
            if (!there)
                all.tensors[all.n++] = branches[i].tensors[k];
        }
    return all;
}

/* Ends a block of branches in one of the ways of real networks. */
static struct wire join(struct draft *draft, const struct wire *branches, int n)
{
    struct wire all = side_by_side(branches, n), wire;
    int64_t sum_bytes = 0;

    if (draft->n_layers == draft->max_layers)
        return all;
    for (int i = 0; i < all.n; i++)
        sum_bytes += draft->layers[all.tensors[i]].out_bytes;
    switch (random_int(draft->rng, 0, 3)) {
    case 0: /* concat */
        wire = one(add_layer(draft, &all, sum_bytes, false));
        draft->layers[wire.tensors[0]].is_free = random_once_in(draft->rng, 2);
        return wire;
    case 1: /* add: as large as its first input */
        return one(add_layer(draft, &all, draft->layers[all.tensors[0]].out_bytes, true));
    case 2: /* in place, the other way round */
        for (int i = 0, k = all.n - 1; i < k; i++, k--) {
            int swap = all.tensors[i];

            all.tensors[i] = all.tensors[k];
            all.tensors[k] = swap;
        }
        return one(add_layer(draft, &all, random_size(draft->rng), true));
    default: /* free concat: the next layer reads them all */
        return all;
    }
}

static struct wire add_series(struct draft *draft, struct wire wire, int n_layers, int depth);

/* Adds branches that begin at wire; one of them may be empty (a skip connection). */
static struct wire add_parallel(struct draft *draft, const struct wire *wire, int n_layers,
                                int depth)
{
    struct wire branches[3];
    int n = random_int(draft->rng, 2, 3);
    bool skip = random_once_in(draft->rng, 3);

    for (int i = 0; i < n; i++) {
        int share = n_layers / n + (i < n_layers % n);

        branches[i] = skip && i == n - 1 ? *wire : add_series(draft, *wire, share, depth + 1);
    }
    return join(draft, branches, n);
}

static struct wire add_series(struct draft *draft, struct wire wire, int n_layers, int depth)
{
    int end = draft->n_layers + n_layers;

    end = end < draft->max_layers ? end : draft->max_layers;
    while (draft->n_layers < end) {
        int left = end - draft->n_layers;

        if (left >= 2 && depth < 3 && random_once_in(draft->rng, 2))
            wire = add_parallel(draft, &wire, random_int(draft->rng, 2, left), depth);
        else if (left >= 2 && random_once_in(draft->rng, 8))
            add_plain(draft, &wire); /* a side output */
        else
            wire = add_plain(draft, &wire);
    }
    return wire;
}

/* Gives one to three tensors of the last few before the next layer, sometimes one of them twice. */
static struct wire any_before(struct draft *draft, int few)
{
    struct wire picks[3];
    int n = random_int(draft->rng, 1, 3), first = draft->n_layers > few ? draft->n_layers - few : 0;

    for (int i = 0; i < n; i++)
        picks[i] = one(random_int(draft->rng, first, draft->n_layers));
    return side_by_side(picks, n);
}

/* True when all inputs of a layer have a new number. */
static bool is_ready(const struct draft *draft, const int *numbers, int id)
{
    for (int i = 0; i < draft->layers[id].n_inputs; i++)
        if (draft->layers[id].inputs[i] && !numbers[draft->layers[id].inputs[i]])
            return false;
    return !numbers[id];
}

/* Numbers the layers anew, in any topological order: branches then run in turns. */
static void shuffle(struct draft *draft)
{
    const struct draft old = *draft;
    int numbers[RANDOM_LARGE_LAYERS + 1] = {0}; /* new number of each old one */

    for (int id = 1; id <= old.n_layers; id++) {
        int from = random_int(draft->rng, 1, old.n_layers);

        while (!is_ready(&old, numbers, from))
            from = from % old.n_layers + 1;
        numbers[from] = id;
        draft->layers[id] = old.layers[from];
        for (int i = 0; i < old.layers[from].n_inputs; i++)
            draft->layers[id].inputs[i] = numbers[old.layers[from].inputs[i]];
    }
}

static void draft_graph(struct draft *draft, enum random_graph graph)
{
    int few = random_int(draft->rng, 2, RANDOM_LARGE_LAYERS);

    draft->layers[0].out_bytes = random_size(draft->rng);
    if (graph == RANDOM_BRANCHED) {
        add_series(draft, one(0), draft->max_layers, 0);
        if (random_once_in(draft->rng, 3))
            shuffle(draft);
        return;
    }
    while (draft->n_layers < draft->max_layers) {
        struct wire wire = graph == RANDOM_DAG ? any_before(draft, few) : one(draft->n_layers);

        add_plain(draft, &wire);
    }
}

/* Makes some layers read only a part of their inputs' outputs, and some read a tensor twice. */
static void bend_inputs(struct draft *draft, int id)
{
    int n = draft->layers[id].n_inputs;

    if (random_once_in(draft->rng, 10))
        draft->layers[id].in_bytes = random_int(draft->rng, 0, (int)draft->layers[id].in_bytes);
    else if (n > 1 && random_once_in(draft->rng, 10))
        draft->layers[id].inputs[draft->layers[id].n_inputs++] =
            draft->layers[id].inputs[random_int(draft->rng, 0, n - 1)];
}

static enum vbs_status build_layers(struct vbs_ctx *ctx, struct draft *draft,
                                    struct vbs_profile_builder *builder)
{
    static const char *const KINDS[] = {"conv", "fc", "maxpool", "concat", "add"};
    enum vbs_status status = VBS_OK;

    for (int id = 1; id <= draft->n_layers && status == VBS_OK; id++) {
        char name[16];
        struct vbs_profile_layer layer = {
            .name = name,
            .kind = KINDS[random_int(draft->rng, 0, 4)],
            .out_bytes = draft->layers[id].out_bytes,
            .weight_bytes = random_int(draft->rng, 0, 100),
            .in_place = draft->layers[id].in_place,
        };

        bend_inputs(draft, id);
        snprintf(name, sizeof name, "L%d", id);
        layer.n_inputs = draft->layers[id].n_inputs;
        layer.inputs = draft->layers[id].inputs;
        layer.in_bytes = draft->layers[id].in_bytes;
        status = vbs_profile_builder_layer(ctx, builder, &layer);
    }
    return status;
}

/* The dependence of a time or a workspace on the batch. */
struct curve {
    int shape; /* 0: always 0, 1: affine, 2: irregular but rising on the whole, 3: any */
    int base, slope;
};

/* Makes a curve. One in nothing_once_in is always 0; a slope of 0 is the same at every batch. */
static struct curve random_curve(gsl_rng *rng, int nothing_once_in)
{
    return (struct curve){.shape = random_once_in(rng, nothing_once_in) ? 0 : random_int(rng, 1, 3),
                          .base = random_int(rng, 0, 9),
                          .slope = random_int(rng, 0, 7)};
}

static int curve_at(gsl_rng *rng, const struct curve *curve, int batch)
{
    switch (curve->shape) {
    case 0:
        return 0;
    case 1:
        return curve->base + curve->slope * batch;
    case 2:
        return curve->base + random_int(rng, 0, 2 * curve->slope) * batch;
    default:
        return random_int(rng, 0, 30);
    }
}

static const char *const ALGORITHMS[] = {"direct", "gemm", "winograd"};
#define MAX_ALGORITHMS 3

/* Gives a time: a whole number, but for large profiles any fraction. */
static double random_time(const struct draft *draft, const struct curve *curve, int batch)
{
    double time_us = curve_at(draft->rng, curve, batch);

    return draft->is_large ? time_us * (0.5 + gsl_rng_uniform(draft->rng)) : time_us;
}

static enum vbs_status build_rows(struct vbs_ctx *ctx, const struct draft *draft,
                                  struct vbs_profile_builder *builder, int layer,
                                  const int *batches, int n_batches)
{
    gsl_rng *rng = draft->rng;
    bool is_free = draft->layers[layer].is_free;
    int n_algorithms = is_free || random_once_in(rng, 2) ? 1 : random_int(rng, 1, MAX_ALGORITHMS);
    int first = random_int(rng, 0, MAX_ALGORITHMS - 1);
    struct curve time[MAX_ALGORITHMS], ws[MAX_ALGORITHMS];

    for (int a = 0; a < n_algorithms; a++) {
        time[a] = random_curve(rng, is_free ? 1 : 20);
        ws[a] = random_curve(rng, is_free ? 1 : 4);
    }
    for (int i = 0; i < n_batches; i++)
        for (int a = 0; a < n_algorithms; a++) {
            struct vbs_profile_row row = {.time_us = random_time(draft, &time[a], batches[i]),
                                          .ws_bytes = curve_at(rng, &ws[a], batches[i])};
            enum vbs_status status;

            if (a > 0 && random_once_in(rng, 4))
                continue; /* the algorithm does not support this batch */
            status = vbs_profile_builder_row(ctx, builder, layer, batches[i],
                                             ALGORITHMS[(first + a) % MAX_ALGORITHMS], &row);
            if (status != VBS_OK)
                return status;
        }
    return VBS_OK;
}

static int pick_batches(const struct draft *draft, const int **batches)
{
    static const int DENSE[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, POWERS[] = {1, 2, 4, 8},
                     ODD[] = {1, 3}, GAPS[] = {1, 2, 3, 5};

    switch (random_int(draft->rng, 0, 4)) {
    case 0:
        *batches = POWERS;
        return draft->is_large ? 4 : 3;
    case 1:
        *batches = ODD;
        return 2;
    case 2:
        *batches = GAPS;
        return 4;
    default:
        *batches = DENSE;
        return random_int(draft->rng, 1, draft->is_large ? 12 : 6);
    }
}

static struct vbs_profile *build(struct draft *draft, enum random_graph graph)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    const int *batches;
    int n_batches = pick_batches(draft, &batches);
    enum vbs_status status;

    if (!builder)
        return NULL;
    draft_graph(draft, graph);
    status = build_layers(&ctx, draft, builder);
    for (int id = 1; id <= draft->n_layers && status == VBS_OK; id++)
        status = build_rows(&ctx, draft, builder, id, batches, n_batches);
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&ctx, builder, &profile);
    if (status != VBS_OK)
        printf("# no random profile: %s\n", vbs_detail(&ctx));
    vbs_profile_builder_free(builder);
    return profile;
}

struct vbs_profile *random_profile(gsl_rng *rng, enum random_graph graph, int max_layers)
{
    struct draft draft = {.rng = rng, .max_layers = random_int(rng, 1, max_layers)};

    return build(&draft, graph);
}

struct vbs_profile *random_large_profile(gsl_rng *rng, enum random_graph graph, int n_layers)
{
    struct draft draft = {.rng = rng, .max_layers = n_layers, .is_large = true};

    return build(&draft, graph);
}

struct vbs_profile *scaled_example_profile(double time_scale, int64_t ws_scale)
{
    static const int64_t WS_BYTES[] = {1, 4, 1};
    static const double TIME_US[] = {4, 6};
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = VBS_OK;

    if (!builder)
        return NULL;
    for (int k = 1; k <= 3 && status == VBS_OK; k++) {
        const char name[] = {'L', (char)('0' + k), '\0'};
        const int input = k - 1;
        struct vbs_profile_layer layer = {.name = name,
                                          .kind = "conv",
                                          .n_inputs = 1,
                                          .inputs = &input,
                                          .in_bytes = 1,
                                          .out_bytes = 1};

        status = vbs_profile_builder_layer(&ctx, builder, &layer);
        for (int b = 1; b <= 2 && status == VBS_OK; b++) {
            struct vbs_profile_row row = {.time_us = time_scale * TIME_US[b - 1],
                                          .ws_bytes = ws_scale * b * WS_BYTES[k - 1]};

            status = vbs_profile_builder_row(&ctx, builder, k, b, "default", &row);
        }
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&ctx, builder, &profile);
    if (status != VBS_OK)
        printf("# no example: %s\n", vbs_detail(&ctx));
    vbs_profile_builder_free(builder);
    return profile;
}

struct vbs_profile *example_profile(void)
{
    return scaled_example_profile(1, 1);
}

/* Lists the steps that may come next: all inputs exist, and the request is not exceeded. */
static int possible_steps(const struct vbs_profile *profile, const int *done, int request,
                          struct vbs_step *steps)
{
    int n = 0;

    for (int k = 1; k <= profile->n_layers; k++)
        for (int i = 0; i < profile->n_batches; i++) {
            int batch = profile->batches[i];
            bool ready = done[k] + batch <= request;

            for (int m = 0; m < profile->layers[k].n_inputs && ready; m++) {
                int input = profile->layers[k].inputs[m];

                ready = input == 0 || done[input] - done[k] >= batch;
            }
            if (ready)
                steps[n++] = (struct vbs_step){.layer = k, .batch = batch};
        }
    return n;
}

struct vbs_schedule *random_schedule(gsl_rng *rng, const struct vbs_profile *profile, int request,
                                     enum vbs_io io)
{
    int done[RANDOM_LARGE_LAYERS + 1] = {0};
    struct vbs_step possible[RANDOM_LARGE_LAYERS * 12];
    struct vbs_step *steps = calloc((size_t)profile->n_layers * (size_t)request, sizeof *steps);
    struct vbs_schedule *schedule = NULL;
    struct vbs_schedule draft = {
        .model = "random",
        .planner = "random",
        .request = request,
        .io = io,
        .n_algorithms = profile->n_algorithms,
        .algorithms = profile->algorithms,
        .steps = steps,
    };
    int n;

    if (!steps)
        return NULL;
    while ((n = possible_steps(profile, done, request, possible)) > 0) {
        struct vbs_step *step = &possible[random_int(rng, 0, n - 1)];
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(
            profile, step->layer, vbs_profile_batch_index(profile, step->batch), &n_rows);

        step->algorithm = rows[random_int(rng, 0, n_rows - 1)].algorithm;
        done[step->layer] += step->batch;
        steps[draft.n_steps++] = *step;
    }
    if (vbs_schedule_copy(NULL, &draft, &schedule) != VBS_OK)
        schedule = NULL;
    free(steps);
    return schedule;
}
