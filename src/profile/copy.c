/*
 * Copies: their sizes and times, and the link that fits them.
 *
 * A copy of x bytes takes time = latency + x / rate. Its errors grow with it, so the fit is of
 * least squares of the relative errors: weights 1 / time^2. Bytes and times are divided by their
 * largest, so that nothing over- or underflows. Where the fit has no latency above 0 or no rate,
 * it is made anew through the origin.
 */
#include "profile/builder.h"

#include "base/fail.h"
#include "base/utf8.h"

#include <gsl/gsl_fit.h>
#include <math.h>
#include <string.h>

#define MAX_BYTES_PER_US 1e18 /* of one copy, so that every sum of the fit is finite */

/* ---- collecting ---- */

enum vbs_status vbs_builder_check_source(struct vbs_ctx *ctx,
                                         const struct vbs_profile_builder *builder,
                                         const char *source)
{
    if (source[0] == '\0')
        return vbs_builder_fail(ctx, builder, builder->line, "the source of a copy is empty");
    if (strlen(source) >= VBS_MAX_NAME)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "the source of a copy is longer than %d bytes: '%.40s...'",
                                VBS_MAX_NAME - 1, source);
    if (!vbs_utf8_valid(source))
        return vbs_builder_fail(ctx, builder, builder->line,
                                "the source of a copy is not valid UTF-8");
    return VBS_OK;
}

static enum vbs_status fail_row(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                const char *source, int64_t bytes, const char *what,
                                const char *why)
{
    return vbs_builder_fail(ctx, builder, builder->line,
                            "copy of %lld bytes from '%.40s': %s is %s", (long long)bytes, source,
                            what, why);
}

static enum vbs_status check_times(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                   const char *source, const struct vbs_copy_row *row)
{
    const struct {
        const char *name;
        double time_us;
    } times[] = {{"time_us", row->time_us},
                 {"mad_us", row->mad_us},
                 {"low_us", row->low_us},
                 {"high_us", row->high_us}};

    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        const char *why = vbs_builder_time_fault(times[i].time_us);

        if (why)
            return fail_row(ctx, builder, source, row->bytes, times[i].name, why);
    }
    return VBS_OK;
}

static enum vbs_status check_row(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                 const char *source, const struct vbs_copy_row *row)
{
    enum vbs_status status;

    if (row->bytes < 1)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "copy from '%.40s': bytes is %lld, not 1 or more", source,
                                (long long)row->bytes);
    if ((status = check_times(ctx, builder, source, row)))
        return status;
    if (!((double)row->bytes <= MAX_BYTES_PER_US * row->time_us))
        return fail_row(ctx, builder, source, row->bytes, "time_us",
                        "too short, the rate is above 1e18 bytes per us");
    if (row->n_runs < 0)
        return fail_row(ctx, builder, source, row->bytes, "n_runs", "negative");
    if (row->n_runs > 0 && !(row->low_us <= row->time_us && row->time_us <= row->high_us))
        return fail_row(ctx, builder, source, row->bytes, "time_us", "outside low_us..high_us");
    return VBS_OK;
}

enum vbs_status vbs_builder_copies_of(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                      const char *source, struct builder_copy **copy)
{
    struct builder_copy made;

    for (int i = 0; i < builder->n_copies; i++)
        if (strcmp(builder->copies[i].source, source) == 0) {
            *copy = &builder->copies[i];
            return VBS_OK;
        }
    if (builder->n_copies == VBS_MAX_COPIES)
        return vbs_builder_fail(ctx, builder, builder->line, "copies from more than %d sources",
                                VBS_MAX_COPIES);
    made = (struct builder_copy){
        .source = vbs_arena_strdup(&builder->arena, source),
        .rows = vbs_arena_alloc(&builder->arena, VBS_MAX_COPY_ROWS, sizeof *made.rows)};
    if (!made.source || !made.rows)
        return vbs_no_memory(ctx);
    *copy = &builder->copies[builder->n_copies++];
    **copy = made;
    return VBS_OK;
}

enum vbs_status vbs_profile_builder_copy(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                         const char *source, const struct vbs_copy_row *row)
{
    struct vbs_copy_row own = *row;
    struct builder_copy *copy = NULL;
    enum vbs_status status;
    int at;

    if ((status = vbs_builder_check_source(ctx, builder, source)) ||
        (status = check_row(ctx, builder, source, row)) ||
        (status = vbs_builder_copies_of(ctx, builder, source, &copy)))
        return status;
    for (at = copy->n_rows; at > 0 && copy->rows[at - 1].bytes >= row->bytes; at--)
        if (copy->rows[at - 1].bytes == row->bytes)
            return vbs_builder_fail(ctx, builder, builder->line,
                                    "copy of %lld bytes from '%.40s' is there twice",
                                    (long long)row->bytes, source);
    if (copy->n_rows == VBS_MAX_COPY_ROWS)
        return vbs_builder_fail(ctx, builder, builder->line, "more than %d copies from '%.40s'",
                                VBS_MAX_COPY_ROWS, source);
    if (own.n_runs == 0)
        own.mad_us = own.low_us = own.high_us = 0;
    own.mad_us += 0.0; /* -0 becomes 0 */
    own.low_us += 0.0;
    own.high_us += 0.0;
    memmove(copy->rows + at + 1, copy->rows + at, (size_t)(copy->n_rows - at) * sizeof *copy->rows);
    copy->rows[at] = own;
    copy->n_rows++;
    return VBS_OK;
}

/* ---- the link ---- */

static bool is_rate(double bytes_per_us)
{
    return isfinite(bytes_per_us) && bytes_per_us > 0;
}

/* The sizes and times of copies, each divided by the largest, and the weights of the copies in the
 * fit. */
struct points {
    double bytes[VBS_MAX_COPY_ROWS], time[VBS_MAX_COPY_ROWS], weight[VBS_MAX_COPY_ROWS];
    double unit_bytes, unit_us;
};

static void normalise_rows(const struct vbs_copy *copy, struct points *points)
{
    points->unit_bytes = (double)copy->rows[copy->n_rows - 1].bytes;
    points->unit_us = 0;
    for (int i = 0; i < copy->n_rows; i++)
        points->unit_us = fmax(points->unit_us, copy->rows[i].time_us);
    for (int i = 0; i < copy->n_rows; i++) {
        points->bytes[i] = (double)copy->rows[i].bytes / points->unit_bytes;
        points->time[i] = copy->rows[i].time_us / points->unit_us;
        points->weight[i] = 1 / (points->time[i] * points->time[i]);
    }
}

static void fit(struct vbs_copy *copy)
{
    const struct vbs_copy_row *last = &copy->rows[copy->n_rows - 1];
    size_t n = (size_t)copy->n_rows;
    struct points p;
    double latency, slope, c00, c01, c11, chi2;

    copy->link = (struct vbs_link){.source = copy->source,
                                   .bytes_per_us = (double)last->bytes / last->time_us};
    if (n == 1)
        return;
    normalise_rows(copy, &p);
    gsl_fit_wlinear(p.bytes, 1, p.weight, 1, p.time, 1, n, &latency, &slope, &c00, &c01, &c11,
                    &chi2);
    if (!(latency >= 0 && is_rate(p.unit_bytes / (slope * p.unit_us)))) {
        latency = 0;
        gsl_fit_wmul(p.bytes, 1, p.weight, 1, p.time, 1, n, &slope, &c11, &chi2);
    }
    if (!is_rate(p.unit_bytes / (slope * p.unit_us)))
        return;
    copy->link.latency_us = latency * p.unit_us;
    copy->link.bytes_per_us = p.unit_bytes / (slope * p.unit_us);
}

static double largest_error_percent(const struct vbs_copy *copy)
{
    double largest = 0;

    for (int i = 0; i < copy->n_rows; i++) {
        const struct vbs_copy_row *row = &copy->rows[i];
        double fitted_us = copy->link.latency_us + (double)row->bytes / copy->link.bytes_per_us;

        largest = fmax(largest, 100 * fabs(row->time_us - fitted_us) / row->time_us);
    }
    return largest;
}

bool vbs_builder_copies(const struct vbs_profile_builder *builder, struct vbs_arena *arena,
                        struct vbs_profile *profile)
{
    struct vbs_copy *copies = vbs_arena_alloc(arena, (size_t)builder->n_copies, sizeof *copies);

    if (!copies)
        return false;
    for (int i = 0; i < builder->n_copies; i++) {
        const struct builder_copy *from = &builder->copies[i];
        struct vbs_copy_row *rows = vbs_arena_alloc(arena, (size_t)from->n_rows, sizeof *rows);

        copies[i].source = vbs_arena_strdup(arena, from->source);
        if (!rows || !copies[i].source)
            return false;
        memcpy(rows, from->rows, (size_t)from->n_rows * sizeof *rows);
        copies[i].rows = rows;
        copies[i].n_rows = from->n_rows;
        fit(&copies[i]);
        if (from->n_beside > 0) {
            size_t n = (size_t)profile->n_layers + 1;
            double *beside = vbs_arena_alloc(arena, n, sizeof *beside);

            if (!beside)
                return false;
            memcpy(beside, from->beside, n * sizeof *beside);
            copies[i].link.beside = beside;
        }
        copies[i].error_percent = largest_error_percent(&copies[i]);
    }
    profile->copies = copies;
    profile->n_copies = builder->n_copies;
    return true;
}
