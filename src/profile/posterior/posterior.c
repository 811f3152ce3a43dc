/* From a profile and executed rows to the profile of posterior times. */
#include "profile/posterior/posterior.h"

#include "base/arith.h"
#include "base/fail.h"
#include "base/options.h"
#include "profile/builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define UNKNOWN_ERROR   0.05  /* of rows without runs, once rows of their profile were executed */
#define LEAST_DEVIATION 0.005 /* of an executed time */
#define MOST_DEVIATION  100
#define TIMES_SIZE      40  /* of the words on times, for any number */
#define MOST_EXCESS     0.1 /* of the expectation over the median, in logarithms */

/* The state of the work. Rows are in the profile's order: whole samples, then stripes. */
struct posterior_finding {
    struct vbs_ctx *ctx;
    const struct vbs_profile *profile;
    struct vbs_posterior_options options;
    struct posterior_row *rows;
    size_t n_rows;
    struct posterior_executed *executed; /* [n_executed], of rows with a time */
    int n_executed;
    struct posterior_groups groups;
    int most_rows; /* of a group */
    struct posterior_work work;
    struct posterior_widths widths;
    struct vbs_posterior_report report;
    struct vbs_arena arena;
    gsl_rng rng;
};

/* ---- Rows ---- */

static enum vbs_status add_row(void *self, int layer, int batch, const struct vbs_profile_row *row)
{
    struct posterior_finding *e = self;

    if (e->rows)
        e->rows[e->n_rows] = (struct posterior_row){
            .row = row, .layer = layer, .batch = batch, .log_batch = log(batch)};
    e->n_rows++;
    return VBS_OK;
}

/* Adds all rows; where there is no memory for them yet, it only counts them. */
static enum vbs_status add_rows(struct posterior_finding *e)
{
    e->n_rows = 0;
    for (int layer = 1; layer <= e->profile->n_layers; layer++)
        VBS_TRY(vbs_profile_each_row(e->profile, layer, add_row, e));
    return VBS_OK;
}

static enum vbs_status list_rows(struct posterior_finding *e)
{
    VBS_TRY(add_rows(e));
    e->rows = vbs_arena_alloc(&e->arena, e->n_rows, sizeof *e->rows);
    if (!e->rows)
        return vbs_no_memory(e->ctx);
    return add_rows(e);
}

/* ---- Executed rows ---- */

static int compare_places(const struct posterior_row *a, int layer, int batch, int rows,
                          int algorithm)
{
    if (a->layer != layer)
        return a->layer - layer;
    if ((a->row->rows > 0) != (rows > 0))
        return a->row->rows > 0 ? 1 : -1;
    if (a->batch != batch)
        return a->batch - batch;
    return a->row->rows != rows ? a->row->rows - rows : a->row->algorithm - algorithm;
}

/* Finds a row by bisection; null: there is none. Rows are ascending by layer; in it those of whole
 * samples come first; then by batch, by rows and by algorithm. */
static struct posterior_row *find_row(const struct posterior_finding *e,
                                      const struct vbs_observed_row *executed)
{
    size_t low = 0, high = e->n_rows;
    int rows = executed->rows;

    if (executed->layer < 1 || executed->layer > e->profile->n_layers)
        return NULL;
    if (rows == e->profile->layers[executed->layer].rows)
        rows = 0;
    while (low < high) {
        size_t at = low + (high - low) / 2;
        int order = compare_places(&e->rows[at], executed->layer, executed->batch, rows,
                                   executed->algorithm);

        if (order == 0)
            return &e->rows[at];
        if (order < 0)
            low = at + 1;
        else
            high = at;
    }
    return NULL;
}

static enum vbs_status add_executed(struct posterior_finding *e,
                                    const struct vbs_observed_row *executed,
                                    struct posterior_executed *added)
{
    struct posterior_row *row = find_row(e, executed);
    double deviation = fmin(fmax(executed->deviation, LEAST_DEVIATION), MOST_DEVIATION);

    if (!row)
        return vbs_fail(e->ctx, VBS_INVALID,
                        "layer %d, batch %d: the profile has no such row as was executed",
                        executed->layer, executed->batch);
    if (!(executed->time_us > 0 && executed->time_us <= VBS_MAX_TIME_US &&
          executed->deviation > 0 && isfinite(executed->deviation)))
        return vbs_fail(e->ctx, VBS_INVALID,
                        "layer %d, batch %d: executed in %g us with a deviation of %g",
                        executed->layer, executed->batch, executed->time_us, executed->deviation);
    if (executed->group < 0 || executed->group >= VBS_OBSERVED_GROUPS)
        return vbs_fail(e->ctx, VBS_INVALID, "executed rows of group %d; 0 to %d are possible",
                        executed->group, VBS_OBSERVED_GROUPS - 1);
    *added = (struct posterior_executed){.row = row,
                                         .value = log(executed->time_us) - row->log_batch,
                                         .variance = deviation * deviation,
                                         .stretch = executed->group,
                                         .apart = executed->apart};
    e->n_executed += row->row->time_us > 0;
    return VBS_OK;
}

static enum vbs_status take_executed(struct posterior_finding *e)
{
    e->executed =
        vbs_arena_alloc(&e->arena, (size_t)e->options.n_executed + 1, sizeof *e->executed);
    if (!e->executed)
        return vbs_no_memory(e->ctx);
    for (int i = 0; i < e->options.n_executed; i++)
        VBS_TRY(add_executed(e, &e->options.executed[i], &e->executed[e->n_executed]));
    return VBS_OK;
}

/* Sets the errors of the medians. */
static enum vbs_status find_errors(struct posterior_finding *e)
{
    VBS_TRY(vbs_posterior_noise(e->ctx, e->rows, e->n_rows, &e->report.deviation));
    for (size_t i = 0; i < e->n_rows; i++) {
        struct posterior_row *row = &e->rows[i];

        if (!(row->row->time_us > 0))
            continue;
        vbs_posterior_locate(row, e->report.deviation);
        if (row->error == 0 && e->options.n_executed > 0)
            row->error = UNKNOWN_ERROR;
        row->used = row->error > 0;
    }
    return VBS_OK;
}

/* ---- Groups ---- */

static int compare_numbers(int a, int b)
{
    return (a > b) - (a < b);
}

/* By layer, rows of stripes, algorithm and batch. */
static int compare_rows(const void *a, const void *b)
{
    const struct posterior_row *x = *(struct posterior_row *const *)a;
    const struct posterior_row *y = *(struct posterior_row *const *)b;

    if (x->layer != y->layer)
        return compare_numbers(x->layer, y->layer);
    if (x->row->rows != y->row->rows)
        return compare_numbers(x->row->rows, y->row->rows);
    if (x->row->algorithm != y->row->algorithm)
        return compare_numbers(x->row->algorithm, y->row->algorithm);
    return compare_numbers(x->batch, y->batch);
}

/* Returns the end of the group that begins at first: of all rows of the layer, or, where these are
 * too many, of as many algorithms as there is room for, or of a part of one. */
static int group_end(struct posterior_row *const *rows, int n, int first)
{
    int end = first, fits = 0;

    while (end < n && rows[end]->layer == rows[first]->layer &&
           rows[end]->row->rows == rows[first]->row->rows) {
        if (end - first == POSTERIOR_MOST_ROWS)
            return fits > first ? fits : end;
        if (rows[end]->row->algorithm != rows[first]->row->algorithm &&
            rows[end]->row->algorithm != rows[end - 1]->row->algorithm)
            fits = end;
        end++;
    }
    return end;
}

static enum vbs_status make_groups(struct posterior_finding *e)
{
    struct posterior_groups *groups = &e->groups;
    int n = 0;

    groups->rows = vbs_arena_alloc(&e->arena, e->n_rows + 1, sizeof(struct posterior_row *));
    groups->first = vbs_arena_alloc(&e->arena, e->n_rows + 1, sizeof *groups->first);
    if (!groups->rows || !groups->first)
        return vbs_no_memory(e->ctx);
    for (size_t i = 0; i < e->n_rows; i++)
        if (e->rows[i].used)
            groups->rows[n++] = &e->rows[i];
    qsort(groups->rows, (size_t)n, sizeof(struct posterior_row *), compare_rows);
    for (int first = 0; first < n; first = groups->first[groups->n_groups]) {
        int end = group_end(groups->rows, n, first);

        if (end - first > e->most_rows)
            e->most_rows = end - first;
        groups->first[++groups->n_groups] = end;
    }
    return VBS_OK;
}

/* ---- The posterior ---- */

static void find_groups(struct posterior_finding *e, bool executed, const gsl_rng *rng)
{
    for (int i = 0; i < e->groups.n_groups; i++)
        vbs_posterior_group(e->groups.rows + e->groups.first[i],
                            e->groups.first[i + 1] - e->groups.first[i], &e->widths, executed, rng,
                            &e->work);
}

static enum vbs_status begin_draws(struct posterior_finding *e)
{
    /* gsl_rng_alloc would end the program where memory is out. */
    e->rng.type = gsl_rng_taus2;
    e->rng.state = vbs_arena_alloc(&e->arena, 1, e->rng.type->size);
    if (!e->rng.state)
        return vbs_no_memory(e->ctx);
    gsl_rng_set(&e->rng, (unsigned long)e->options.seed);
    return VBS_OK;
}

/* Returns the logarithm of the medians of all rows together over the times of undisturbed runs. */
static double disturbance(const struct posterior_finding *e)
{
    double medians_us = 0, undisturbed_us = 0;

    for (size_t i = 0; i < e->n_rows; i++) {
        const struct posterior_row *row = &e->rows[i];

        if (!(row->error > 0))
            continue;
        medians_us += row->row->time_us;
        undisturbed_us += row->batch * exp(row->value);
    }
    return undisturbed_us > 0 ? log(medians_us / undisturbed_us) : 0;
}

static enum vbs_status find_rows(struct posterior_finding *e)
{
    e->report.level = 1;
    if (e->groups.n_groups == 0)
        return VBS_OK;
    VBS_TRY(vbs_posterior_work_init(e->ctx, &e->arena, e->most_rows, &e->work));
    VBS_TRY(begin_draws(e));
    vbs_posterior_find_widths(&e->groups, &e->work, &e->widths);
    e->widths.level = disturbance(e);
    if (e->n_executed > 0) {
        find_groups(e, false, NULL);
        vbs_posterior_find_level(e->executed, e->n_executed, &e->widths);
    }
    find_groups(e, true, e->options.draws ? &e->rng : NULL);
    for (size_t i = 0; i < e->n_rows; i++)
        e->report.n_executed += e->rows[i].precision > 0;
    e->report.level = exp(e->widths.level);
    e->report.context = e->widths.context;
    e->report.drift = e->widths.drift;
    return VBS_OK;
}

/* ---- The profile ---- */

/* Returns the provenance's words on posterior times; null where there is no memory. */
static const char *times_text(struct posterior_finding *e)
{
    char *text = vbs_arena_alloc(&e->arena, TIMES_SIZE, 1);
    /* Up, so that an interval is not too narrow by rounding. */
    int tenths = (int)ceil(1000 * fmin(e->report.drift, VBS_MOST_DRIFT_PERCENT / 100.0));

    if (!text)
        return NULL;
    if (tenths > 0)
        snprintf(text, TIMES_SIZE, "%s +-%d.%d%%", VBS_TIMES_POSTERIOR, tenths / 10, tenths % 10);
    else
        snprintf(text, TIMES_SIZE, "%s", VBS_TIMES_POSTERIOR);
    return text;
}

/* Returns the row with its posterior time. Without a draw its time is the expectation of a
 * lognormal variable. */
static struct vbs_profile_row row_of_posterior(const struct posterior_finding *e,
                                               const struct posterior_row *row)
{
    struct vbs_profile_row result = *row->row;
    double excess = e->options.draws ? 0 : fmin(row->variance / 2, MOST_EXCESS);
    double half = VBS_NORMAL_95 * sqrt(row->variance);
    double times = row->precision > 0 ? 1 : e->options.unexecuted;

    if (!row->used)
        return result;
    times *= row->batch;
    result.time_us = fmin(times * exp(row->mean + excess), VBS_MAX_TIME_US);
    result.low_us = fmin(times * exp(row->mean - half), result.time_us);
    result.high_us = fmin(fmax(times * exp(row->mean + half), result.time_us), VBS_MAX_TIME_US);
    return result;
}

static enum vbs_status build(struct posterior_finding *e, struct vbs_profile **made)
{
    struct vbs_profile_row *rows = vbs_arena_alloc(&e->arena, e->n_rows + 1, sizeof *rows);
    struct vbs_provenance provenance = e->profile->provenance;

    if (e->groups.n_groups > 0)
        provenance.times = times_text(e);
    if (!rows || !provenance.times)
        return vbs_no_memory(e->ctx);
    if (e->options.notes)
        provenance.notes = e->options.notes;
    for (size_t i = 0; i < e->n_rows; i++)
        rows[i] = row_of_posterior(e, &e->rows[i]);
    return vbs_profile_change(e->ctx, e->profile, rows, &provenance, made);
}

enum vbs_status vbs_profile_posterior(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                      const struct vbs_posterior_options *options,
                                      struct vbs_posterior_report *report,
                                      struct vbs_profile **made)
{
    struct posterior_finding e = {.ctx = ctx, .profile = profile};
    enum vbs_status status =
        vbs_options_read(ctx, "vbs_posterior_options", options, &e.options, sizeof e.options);

    if (status == VBS_OK && !(e.options.unexecuted >= 0 && isfinite(e.options.unexecuted)))
        status = vbs_fail(ctx, VBS_USAGE, "rows that were not executed take %g times as long",
                          e.options.unexecuted);
    if (e.options.unexecuted == 0)
        e.options.unexecuted = 1;
    if (status == VBS_OK)
        status = list_rows(&e);
    if (status == VBS_OK)
        status = take_executed(&e);
    if (status == VBS_OK)
        status = find_errors(&e);
    if (status == VBS_OK)
        status = make_groups(&e);
    if (status == VBS_OK)
        status = find_rows(&e);
    if (status == VBS_OK)
        status = build(&e, made);
    if (status == VBS_OK && report)
        *report = e.report;
    vbs_arena_clear(&e.arena);
    return status;
}
