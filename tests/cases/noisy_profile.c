#include "support/bail_out.h"
#include "cases/noisy_profile.h"

#include "base/ctx.h"
#include "base/fail.h"

#include <gsl/gsl_randist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int BATCHES[NOISY_BATCHES] = {1, 2, 3, 4, 6, 12};

/* Gives the true time of a row; a batch of 3 is slow. */
static double plain_us(int layer, int batch)
{
    return (10 + 7 * (layer * 5 % 8)) * (4.0 + batch) * (batch == 3 ? 1.4 : 1);
}

static void require(bool good, const char *what)
{
    if (good)
        return;
    bail_out("no noisy profile: %s", what);
}

/* Measures row i of the chain, which has one algorithm: it is of layer 1 + i / NOISY_BATCHES. */
static struct vbs_profile_row measure(struct noisy *noisy, gsl_rng *rng,
                                      const struct noisy_plan *plan, int i)
{
    int layer = 1 + i / NOISY_BATCHES, batch = BATCHES[i % NOISY_BATCHES];
    double true_us = (plan->time_us ? plan->time_us : plain_us)(layer, batch);
    double sigma = plan->layer_sigma ? plan->layer_sigma(layer) : plan->sigma;
    struct vbs_profile_row row = {.time_us = true_us};
    double sorted[NOISY_MAX_RUNS];

    for (int r = 0; r < plan->n_runs; r++)
        noisy->samples_us[i][r] = sorted[r] = true_us * gsl_ran_lognormal(rng, 0, sigma);
    if (plan->n_runs > 0)
        vbs_measure_summary(sorted, plan->n_runs, &row);
    row.ws_bytes = batch * (layer % 4 == 0 ? 8000 : 1000);
    return row;
}

static enum vbs_status times(struct vbs_ctx *ctx, void *self, int layer, int batch, int rows,
                             const char *algorithm, const double **times_us, int *n_times)
{
    struct noisy *noisy = self;
    int row = (layer - 1) * NOISY_BATCHES + vbs_profile_batch_index(noisy->profile, batch);

    if (++noisy->n_reads == noisy->fail_at)
        return vbs_fail(ctx, VBS_STORE, "the store is gone");
    *n_times =
        strcmp(algorithm, "direct") == 0 && rows == 0 && row < noisy->n_kept ? noisy->n_runs : 0;
    *times_us = noisy->samples_us[row];
    return VBS_OK;
}

struct noisy *noisy_new(gsl_rng *rng, const struct noisy_plan *plan)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct noisy *noisy = calloc(1, sizeof *noisy);
    int n_rows = plan->n_layers * NOISY_BATCHES;
    enum vbs_status status = VBS_OK;
    struct vbs_ctx ctx = {0};

    require(builder && noisy && plan->n_runs <= NOISY_MAX_RUNS, "memory");
    noisy->samples_us = calloc((size_t)n_rows, sizeof *noisy->samples_us);
    require(noisy->samples_us, "memory");
    for (int i = 0; i < n_rows && status == VBS_OK; i++) {
        struct vbs_profile_row row = measure(noisy, rng, plan, i);
        int layer = 1 + i / NOISY_BATCHES, input = layer - 1;
        struct vbs_profile_layer about = {.name = "layer",
                                          .kind = "conv",
                                          .n_inputs = 1,
                                          .inputs = &input,
                                          .in_bytes = 1000,
                                          .out_bytes = 1000};

        if (i % NOISY_BATCHES == 0)
            status = vbs_profile_builder_layer(&ctx, builder, &about);
        if (status == VBS_OK)
            status = vbs_profile_builder_row(&ctx, builder, layer, BATCHES[i % NOISY_BATCHES],
                                             "direct", &row);
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&ctx, builder, &noisy->profile);
    require(status == VBS_OK, ctx.detail);
    vbs_profile_builder_free(builder);
    noisy->source = (struct vbs_sample_source){.self = noisy, .times = times};
    noisy->n_runs = plan->n_runs;
    noisy->n_kept = n_rows;
    return noisy;
}

void noisy_free(struct noisy *noisy)
{
    vbs_profile_free(noisy->profile);
    free(noisy->samples_us);
    free(noisy);
}
