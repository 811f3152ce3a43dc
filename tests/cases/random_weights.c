#include "cases/random_weights.h"

#include "base/ctx.h"

#include <math.h>
#include <stdio.h>

#define RANDOM_MAX_ALGORITHMS 8 /* of which each is divided in its usual way */

/* The weights that are chosen for a layer. */
struct choice {
    int64_t bytes, fast_bytes; /* of format 0, and of format 1 where it is not 0 */
    int channels;
    bool always_fast; /* at every batch; else at some */
};

static void choose(gsl_rng *rng, bool two_formats, struct choice *choice)
{
    int most = random_once_in(rng, 8) ? 3000 : random_once_in(rng, 3) ? 12 : 150;

    *choice = (struct choice){0};
    if (random_once_in(rng, 4))
        return;
    choice->bytes = random_int(rng, 1, most);
    if (random_once_in(rng, 2))
        choice->channels = random_int(rng, 1, random_once_in(rng, 2) ? 6 : 40);
    if (choice->channels > 0 && random_once_in(rng, 2))
        choice->bytes = choice->channels * random_int(rng, 1, most / choice->channels + 1);
    if (two_formats && random_once_in(rng, 2)) {
        choice->fast_bytes = choice->bytes + random_int(rng, 0, (int)choice->bytes / 8 + 1);
        if (random_once_in(rng, 2))
            choice->fast_bytes = choice->bytes * random_int(rng, 2, 4);
        choice->always_fast = !random_once_in(rng, 3);
    }
}

static enum vbs_status add_rows(struct vbs_ctx *ctx, gsl_rng *rng,
                                const struct vbs_profile *profile, int layer,
                                const struct choice *choice, struct vbs_profile_builder *builder)
{
    enum vbs_status status = VBS_OK;

    for (int i = 0; status == VBS_OK && i < profile->n_batches; i++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, i, &n_rows);
        struct vbs_profile_row fast = rows[0];

        for (int a = 0; status == VBS_OK && a < n_rows; a++) {
            struct vbs_profile_row row = rows[a];

            row.weight_bytes = choice->bytes;
            status = vbs_profile_builder_row(ctx, builder, layer, profile->batches[i],
                                             profile->algorithms[row.algorithm], &row);
        }
        if (status != VBS_OK || choice->fast_bytes == 0 ||
            (!choice->always_fast && random_once_in(rng, 2)))
            continue;
        fast.format = 1;
        fast.weight_bytes = choice->fast_bytes;
        fast.time_us = random_once_in(rng, 6) ? fast.time_us + 1 : floor(fast.time_us / 2);
        status = vbs_profile_builder_row(ctx, builder, layer, profile->batches[i], "fast", &fast);
    }
    return status;
}

/* Copies profile with the weights of choices[1..n_layers]. */
static struct vbs_profile *rebuild(gsl_rng *rng, const struct vbs_profile *profile,
                                   const struct choice *choices)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *made = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = builder ? VBS_OK : VBS_NO_MEMORY;

    for (int k = 1; status == VBS_OK && k <= profile->n_layers; k++) {
        struct vbs_profile_layer layer = profile->layers[k];

        layer.weight_bytes = choices[k].bytes;
        layer.channels = choices[k].channels;
        status = vbs_profile_builder_layer(&ctx, builder, &layer);
        if (status == VBS_OK)
            status = add_rows(&ctx, rng, profile, k, &choices[k], builder);
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&ctx, builder, &made);
    if (status != VBS_OK)
        printf("# no profile with weights: %s\n", vbs_detail(&ctx));
    vbs_profile_builder_free(builder);
    return made;
}

struct vbs_profile *random_weights_profile(gsl_rng *rng, enum random_graph graph, int max_layers,
                                           bool two_formats)
{
    struct vbs_profile *plain = random_profile(rng, graph, max_layers), *made;
    struct choice choices[RANDOM_MAX_LAYERS + 1];
    int n_without = random_once_in(rng, 3) ? random_int(rng, 1, 2) : 0;

    if (!plain)
        return NULL;
    for (int k = 1; k <= plain->n_layers; k++) {
        choose(rng, two_formats, &choices[k]);
        if (k <= n_without)
            choices[k] = (struct choice){0};
    }
    made = rebuild(rng, plain, choices);
    vbs_profile_free(plain);
    return made;
}

struct vbs_profile *without_weights(const struct vbs_profile *profile)
{
    static const struct choice NONE[RANDOM_MAX_LAYERS + 1];

    return rebuild(NULL, profile, NONE);
}

/* Gives the number of slices that a row of layer may have. */
static int random_slices(gsl_rng *rng, const struct vbs_profile_layer *layer)
{
    int slices = random_once_in(rng, 3) ? 0 : random_int(rng, 0, 4);

    if (slices > 1 && (layer->in_place || layer->channels % slices != 0))
        return random_int(rng, 0, 1);
    return slices;
}

static enum vbs_status copy_with_slices(struct vbs_ctx *ctx, gsl_rng *rng,
                                        const struct vbs_profile *profile, int layer, bool alike,
                                        struct vbs_profile_builder *builder)
{
    int usual[RANDOM_MAX_ALGORITHMS];
    enum vbs_status status = vbs_profile_builder_layer(ctx, builder, &profile->layers[layer]);

    for (int a = 0; a < RANDOM_MAX_ALGORITHMS; a++)
        usual[a] = random_slices(rng, &profile->layers[layer]);
    for (int i = 0; status == VBS_OK && i < profile->n_batches; i++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, i, &n_rows);

        for (int a = 0; status == VBS_OK && a < n_rows; a++) {
            struct vbs_profile_row row = rows[a];

            row.n_slices = !alike && random_once_in(rng, 6)
                               ? random_slices(rng, &profile->layers[layer])
                               : usual[row.algorithm % RANDOM_MAX_ALGORITHMS];
            status = vbs_profile_builder_row(ctx, builder, layer, profile->batches[i],
                                             profile->algorithms[row.algorithm], &row);
        }
    }
    return status;
}

static struct vbs_profile *with_slices(gsl_rng *rng, const struct vbs_profile *profile, bool alike)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *made = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = builder ? VBS_OK : VBS_NO_MEMORY;

    for (int k = 1; status == VBS_OK && k <= profile->n_layers; k++)
        status = copy_with_slices(&ctx, rng, profile, k, alike, builder);
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&ctx, builder, &made);
    if (status != VBS_OK)
        printf("# no profile with slices: %s\n", vbs_detail(&ctx));
    vbs_profile_builder_free(builder);
    return made;
}

struct vbs_profile *say_slices(gsl_rng *rng, struct vbs_profile *profile, bool alike)
{
    struct vbs_profile *said = profile ? with_slices(rng, profile, alike) : NULL;

    vbs_profile_free(profile);
    return said;
}

struct vbs_link random_link(gsl_rng *rng)
{
    struct vbs_link link = {.source = "given"};

    if (random_once_in(rng, 2))
        link.latency_us = random_int(rng, 1, 12) / 4.0;
    switch (random_int(rng, 0, 7)) {
    case 0:
        break;
    case 1:
        link.bytes_per_us = 1e-6;
        break;
    case 2:
    case 3:
        link.bytes_per_us = random_int(rng, 1, 8) / 4.0;
        break;
    default:
        link.bytes_per_us = random_int(rng, 4, 200);
    }
    return link;
}

const double *random_beside(gsl_rng *rng, int n_layers, double *factors)
{
    if (random_once_in(rng, 4))
        return NULL;
    for (int k = 0; k <= n_layers; k++)
        factors[k] = random_once_in(rng, 3)   ? 1
                     : random_once_in(rng, 4) ? random_int(rng, 2, 9)
                                              : 1 + random_int(rng, 1, 9) / 8.0;
    return factors;
}
