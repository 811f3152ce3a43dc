#include "cases/timed_profile.h"

#include "support/bail_out.h"
#include "support/made_profile.h"
#include "vbslab/measure.h"

#include "base/ctx.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>

#define MOST_DRAWN 20 /* runs of a row, where their number is drawn */
#define ALL_ROWS   8  /* of a layer with stripes */
#define MOST_ROWS  4  /* of a stripe */
#define ALGORITHMS 3
#define WAVES      3   /* that the context of a layer is made of */
#define LENGTH     0.7 /* of the context, in logarithms of the batch */
#define SHARED     0.7 /* of its variance, that similar batches of a layer have in common */

static const char *const NAMES[ALGORITHMS] = {"a", "b", "c"};

/* What a layer's time is made of, for each algorithm. */
struct making {
    gsl_rng *rng;
    const struct timed_plan *plan;
    struct timed *timed;
    struct vbs_profile_builder *builder;
    double sample_us[ALGORITHMS], call_us[ALGORITHMS], wave[ALGORITHMS], phase[ALGORITHMS];
    double context_speed[WAVES], context_phase[WAVES];
};

static struct timed *timed_empty(int n_rows)
{
    struct timed *timed = calloc(1, sizeof *timed);
    size_t n = (size_t)n_rows + 1;

    if (!timed)
        bail_out("no memory");
    timed->rows = calloc(n, sizeof(const struct vbs_profile_row *));
    timed->layers = calloc(n, sizeof *timed->layers);
    timed->batches = calloc(n, sizeof *timed->batches);
    timed->alone_us = calloc(n, sizeof *timed->alone_us);
    timed->schedule_us = calloc(n, sizeof *timed->schedule_us);
    if (!timed->rows || !timed->layers || !timed->batches || !timed->alone_us ||
        !timed->schedule_us)
        bail_out("no memory");
    return timed;
}

static void begin_layer(struct making *m)
{
    double scale_us = exp(gsl_ran_flat(m->rng, 2, 6));

    for (int a = 0; a < ALGORITHMS; a++) {
        m->sample_us[a] = scale_us * exp(gsl_ran_gaussian(m->rng, 0.15));
        m->call_us[a] = scale_us * gsl_ran_flat(m->rng, 0, 0.5);
        m->wave[a] = gsl_ran_flat(m->rng, 0, 0.05);
        m->phase[a] = gsl_ran_flat(m->rng, 0, 6);
    }
    for (int w = 0; w < WAVES; w++) {
        m->context_speed[w] = gsl_ran_gaussian(m->rng, 1 / LENGTH);
        m->context_phase[w] = gsl_ran_flat(m->rng, 0, 2 * M_PI);
    }
}

/* Draws the logarithm of how many times as long a row takes in schedules, beside the level. */
static double draw_context(const struct making *m, int batch)
{
    double shared = 0;

    for (int w = 0; w < WAVES; w++)
        shared += sqrt(2.0 / WAVES) * cos(m->context_speed[w] * log(batch) + m->context_phase[w]);
    return m->plan->context * (sqrt(SHARED) * shared + gsl_ran_gaussian(m->rng, sqrt(1 - SHARED)));
}

/* Fills the statistics of n runs of a row. */
static void run_row(const struct making *m, double alone_us, int n, struct vbs_profile_row *row)
{
    double times_us[TIMED_MOST_RUNS];

    for (int i = 0; i < n; i++) {
        times_us[i] = alone_us * gsl_ran_lognormal(m->rng, 0, m->plan->deviation);
        if (m->plan->disturbed > 0 && gsl_rng_uniform(m->rng) < m->plan->disturbed)
            times_us[i] *= gsl_ran_flat(m->rng, 2, 10);
    }
    if (n > 0)
        vbs_measure_summary(times_us, n, row);
    else if (m->plan->intervals) {
        row->low_us = row->time_us * exp(-1.959963984540054 * m->plan->deviation);
        row->high_us = row->time_us * exp(1.959963984540054 * m->plan->deviation);
    }
}

static enum vbs_status add_row(struct vbs_ctx *ctx, struct making *m, int layer, int batch,
                               int rows, int a)
{
    double share = rows ? 0.1 + (double)rows / ALL_ROWS : 1;
    double log_us = log(share * (m->sample_us[a] * batch + m->call_us[a])) +
                    m->wave[a] * sin(m->phase[a] + log(batch)) +
                    gsl_ran_gaussian(m->rng, m->plan->steps);
    int n_runs =
        m->plan->n_runs ? m->plan->n_runs : 1 + (int)gsl_rng_uniform_int(m->rng, MOST_DRAWN);
    struct vbs_profile_row row = {.time_us = exp(log_us)};
    struct timed *timed = m->timed;
    int at = timed->n_rows++;

    timed->layers[at] = layer;
    timed->batches[at] = batch;
    timed->alone_us[at] = row.time_us;
    timed->schedule_us[at] = row.time_us * m->plan->level * exp(draw_context(m, batch));
    run_row(m, timed->alone_us[at], n_runs, &row);
    row.rows = rows;
    row.n_slices = rows > 0;
    return vbs_profile_builder_row(ctx, m->builder, layer, batch, NAMES[a], &row);
}

static enum vbs_status add_layer(struct vbs_ctx *ctx, struct making *m, int layer)
{
    const int input = layer - 1;
    const struct vbs_reach reach = {1, 1, -1, 1};
    const struct vbs_profile_layer about = {.name = "layer",
                                            .kind = "conv",
                                            .n_inputs = 1,
                                            .inputs = &input,
                                            .in_bytes = ALL_ROWS * 100,
                                            .out_bytes = ALL_ROWS * 100,
                                            .channels = 4,
                                            .rows = m->plan->stripes ? ALL_ROWS : 0,
                                            .reaches = m->plan->stripes ? &reach : NULL};
    enum vbs_status status = vbs_profile_builder_layer(ctx, m->builder, &about);

    begin_layer(m);
    for (int batch = 1; batch <= m->plan->n_batches; batch++)
        for (int a = 0; a < m->plan->n_algorithms && status == VBS_OK; a++)
            status = add_row(ctx, m, layer, batch, 0, a);
    for (int batch = 1; batch <= (m->plan->stripes ? 2 : 0); batch++)
        for (int rows = 1; rows <= MOST_ROWS; rows *= 2)
            for (int a = 0; a < m->plan->n_algorithms && status == VBS_OK; a++)
                status = add_row(ctx, m, layer, batch, rows, a);
    return status;
}

/* Lists the rows of the profile; returns their number. */
static int list_rows(const struct vbs_profile *profile, struct timed *timed)
{
    int n_rows = 0, n;

    for (int layer = 1; layer <= profile->n_layers; layer++) {
        const struct vbs_profile_stripe *stripes;

        for (int b = 0; b < profile->n_batches; b++) {
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n);

            for (int i = 0; i < n; i++, n_rows++) {
                if (!timed)
                    continue;
                timed->rows[n_rows] = &rows[i];
                timed->layers[n_rows] = layer;
                timed->batches[n_rows] = profile->batches[b];
            }
        }
        stripes = vbs_profile_stripes(profile, layer, &n);
        for (int i = 0; i < n; i++, n_rows++) {
            if (!timed)
                continue;
            timed->rows[n_rows] = &stripes[i].row;
            timed->layers[n_rows] = layer;
            timed->batches[n_rows] = stripes[i].batch;
        }
    }
    return n_rows;
}

struct timed *timed_of(struct vbs_profile *profile)
{
    struct timed *timed = timed_empty(list_rows(profile, NULL));

    timed->profile = profile;
    timed->n_rows = list_rows(profile, timed);
    for (int i = 0; i < timed->n_rows; i++)
        timed->alone_us[i] = timed->schedule_us[i] = timed->rows[i]->time_us;
    return timed;
}

struct timed *timed_new(gsl_rng *rng, const struct timed_plan *plan)
{
    int n_cells = plan->n_batches + (plan->stripes ? 6 : 0);
    struct vbs_ctx ctx = {0};
    struct making m = {.rng = rng,
                       .plan = plan,
                       .timed = timed_empty(plan->n_layers * n_cells * plan->n_algorithms),
                       .builder = vbs_profile_builder_new()};
    enum vbs_status status =
        vbs_profile_builder_input_rows(&ctx, m.builder, plan->stripes ? ALL_ROWS : 0);

    for (int layer = 1; layer <= plan->n_layers && status == VBS_OK; layer++)
        status = add_layer(&ctx, &m, layer);
    m.timed->profile = made_profile(&ctx, m.builder, status);
    if (list_rows(m.timed->profile, m.timed) != m.timed->n_rows)
        bail_out("other rows than were added");
    return m.timed;
}

void timed_free(struct timed *timed)
{
    vbs_profile_free(timed->profile);
    free(timed->rows);
    free(timed->layers);
    free(timed->batches);
    free(timed->alone_us);
    free(timed->schedule_us);
    free(timed);
}

const struct vbs_profile_row *timed_row(const struct timed *timed,
                                        const struct vbs_profile *profile, int i)
{
    return vbs_profile_find_row(profile, timed->layers[i], timed->batches[i], timed->rows[i]->rows,
                                timed->rows[i]->algorithm);
}
