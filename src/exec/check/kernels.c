/* Which kernels and which packed weights a schedule uses. */
#include "exec/check/walk.h"

#include "base/fail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 256

static bool index_batches(struct vbs_exec_rows *rows)
{
    const struct vbs_profile *profile = rows->walk->profile;
    const struct vbs_schedule *schedule = rows->walk->schedule;

    rows->largest_batch = profile->batches[profile->n_batches - 1];
    rows->batch_index = malloc(((size_t)rows->largest_batch + 1) * sizeof *rows->batch_index);
    rows->algorithms = malloc(((size_t)schedule->n_algorithms + 1) * sizeof *rows->algorithms);
    if (!rows->batch_index || !rows->algorithms)
        return false;
    for (int b = 0; b <= rows->largest_batch; b++)
        rows->batch_index[b] = -1;
    for (int i = 0; i < profile->n_batches; i++)
        rows->batch_index[profile->batches[i]] = i;
    for (int i = 0; i < schedule->n_algorithms; i++)
        rows->algorithms[i] = vbs_profile_algorithm(profile, schedule->algorithms[i]);
    return true;
}

static bool index_forms(struct vbs_exec_rows *rows)
{
    const struct vbs_profile *profile = rows->walk->profile;
    int n_rows, n_forms = 1;
    size_t n;

    for (int k = 1; k <= profile->n_layers; k++)
        for (int b = 0; b < profile->n_batches; b++) {
            const struct vbs_profile_row *row = vbs_profile_rows(profile, k, b, &n_rows);

            for (int i = 0; i < n_rows; i++)
                n_forms = row[i].format >= n_forms ? row[i].format + 1 : n_forms;
        }
    n = ((size_t)profile->n_layers + 1) * (size_t)n_forms;
    rows->n_forms = n_forms;
    rows->image_of = malloc(n * sizeof *rows->image_of);
    if (!rows->image_of)
        return false;
    memset(rows->image_of, -1, n * sizeof *rows->image_of);
    return true;
}

enum vbs_status vbs_exec_rows_init(struct vbs_ctx *ctx, struct vbs_exec_rows *rows,
                                   struct vbs_exec_walk *walk)
{
    *rows = (struct vbs_exec_rows){.walk = walk};
    if (index_batches(rows) && index_forms(rows))
        return VBS_OK;
    vbs_exec_rows_clear(rows);
    return vbs_no_memory(ctx);
}

void vbs_exec_rows_clear(struct vbs_exec_rows *rows)
{
    free(rows->batch_index);
    free(rows->algorithms);
    free(rows->image_of);
    free(rows->buckets);
    *rows = (struct vbs_exec_rows){0};
}

static enum vbs_status refuse_row(struct vbs_ctx *ctx, const struct vbs_exec_rows *rows, int64_t i)
{
    const struct vbs_schedule *schedule = rows->walk->schedule;
    const struct vbs_step *step = &schedule->steps[i];

    if (step->algorithm < 0 || step->algorithm >= schedule->n_algorithms)
        (void)vbs_fail(ctx, VBS_INVALID, "the schedule has no algorithm %d", step->algorithm);
    else if (vbs_profile_batch_index(rows->walk->profile, step->batch) < 0)
        (void)vbs_fail(ctx, VBS_INVALID, "the profile has no batch %d", step->batch);
    else
        (void)vbs_fail(ctx, VBS_INVALID, "the profile has no row with algorithm '%s'",
                       schedule->algorithms[step->algorithm]);
    return vbs_exec_refuse(ctx, rows->walk, i);
}

enum vbs_status vbs_exec_find_row(struct vbs_ctx *ctx, const struct vbs_exec_rows *rows, int64_t i,
                                  const struct vbs_profile_row **row)
{
    const struct vbs_schedule *schedule = rows->walk->schedule;
    const struct vbs_step *step = &schedule->steps[i];
    const struct vbs_profile_row *found;
    int n_rows;

    if (step->algorithm < 0 || step->algorithm >= schedule->n_algorithms || step->batch < 1 ||
        step->batch > rows->largest_batch || rows->batch_index[step->batch] < 0)
        return refuse_row(ctx, rows, i);
    found =
        vbs_profile_rows(rows->walk->profile, step->layer, rows->batch_index[step->batch], &n_rows);
    for (int r = 0; r < n_rows; r++)
        if (found[r].algorithm == rows->algorithms[step->algorithm]) {
            *row = &found[r];
            return VBS_OK;
        }
    return refuse_row(ctx, rows, i);
}

/* ---- images ---- */

static enum vbs_status add_image(struct vbs_ctx *ctx, struct vbs_exec_rows *rows,
                                 const struct vbs_exec_image *image)
{
    struct vbs_exec_walk *walk = rows->walk;

    if (walk->n_images == rows->max_images) {
        int max = rows->max_images ? 2 * rows->max_images : 64;
        struct vbs_exec_image *images = realloc(walk->images, (size_t)max * sizeof *images);

        if (!images)
            return vbs_no_memory(ctx);
        walk->images = images;
        rows->max_images = max;
    }
    walk->images[walk->n_images++] = *image;
    return VBS_OK;
}

/* Bytes that rows of the layer pack in this form; 0: none do. */
static int64_t form_bytes(const struct vbs_profile *profile, int layer, int form)
{
    int n_rows;

    for (int b = 0; b < profile->n_batches; b++) {
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n_rows);

        for (int i = 0; i < n_rows; i++)
            if (rows[i].format == form)
                return rows[i].weight_bytes;
    }
    return 0;
}

enum vbs_status vbs_exec_find_image(struct vbs_ctx *ctx, struct vbs_exec_rows *rows, int64_t i,
                                    int layer, int form, int *image)
{
    const struct vbs_profile *profile = rows->walk->profile;
    int *known = form < rows->n_forms ? &rows->image_of[layer * rows->n_forms + form] : NULL;
    struct vbs_exec_image made = {
        .layer = layer, .form = form, .channels = profile->layers[layer].channels};
    enum vbs_status status = VBS_OK;

    if (known && *known < 0) {
        made.bytes = made.packed_bytes = form_bytes(profile, layer, form);
        if (made.bytes > 0) {
            status = add_image(ctx, rows, &made);
            *known = status == VBS_OK ? rows->walk->n_images - 1 : -1;
        }
    }
    if (status != VBS_OK)
        return status;
    if (known && *known >= 0) {
        *image = *known;
        return VBS_OK;
    }
    (void)vbs_fail(ctx, VBS_INVALID, "the profile has no weights of form %d", form);
    return vbs_exec_refuse(ctx, rows->walk, i);
}

/* ---- kernels ---- */

/* The part of a layer that a step takes. */
static double share_of(const struct vbs_profile_layer *layer, const struct vbs_step *step)
{
    int64_t channels = layer->channels;

    if (step->n_slices <= 1)
        return 1;
    if (channels <= 0 || step->slice < 1)
        return 1.0 / step->n_slices;
    return (double)(channels * step->slice / step->n_slices -
                    channels * (step->slice - 1) / step->n_slices) /
           (double)channels;
}

static uint64_t hash_kernel(const struct vbs_requested_kernel *requested)
{
    const int64_t words[] = {requested->layer, requested->batch, requested->slice,
                             requested->n_slices};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (int i = 0; i < 4; i++)
        hash = (hash ^ (uint64_t)words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    for (const char *c = requested->algorithm; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

static bool same_kernel(const struct vbs_requested_kernel *a, const struct vbs_requested_kernel *b)
{
    return a->layer == b->layer && a->batch == b->batch && a->slice == b->slice &&
           a->n_slices == b->n_slices && strcmp(a->algorithm, b->algorithm) == 0;
}

/* Where requested is, or belongs. */
static int *find_bucket(const struct vbs_exec_rows *rows,
                        const struct vbs_requested_kernel *requested)
{
    uint64_t mask = (uint64_t)rows->n_buckets - 1, at = hash_kernel(requested) & mask;

    while (rows->buckets[at] >= 0 &&
           !same_kernel(&rows->walk->kernels[rows->buckets[at]].requested, requested))
        at = (at + 1) & mask;
    return &rows->buckets[at];
}

/* Room for one kernel more, in a table that is at most half full. */
static bool grow_kernels(struct vbs_exec_rows *rows)
{
    struct vbs_exec_walk *walk = rows->walk;
    int n = rows->n_buckets ? 2 * rows->n_buckets : FIRST_BUCKETS;
    struct vbs_exec_kernel *kernels;
    int *buckets;

    if (2 * (walk->n_kernels + 1) <= rows->n_buckets)
        return true;
    kernels = realloc(walk->kernels, (size_t)n / 2 * sizeof *kernels);
    if (!kernels)
        return false;
    walk->kernels = kernels;
    buckets = malloc((size_t)n * sizeof *buckets);
    if (!buckets)
        return false;
    memset(buckets, -1, (size_t)n * sizeof *buckets);
    free(rows->buckets);
    rows->buckets = buckets;
    rows->n_buckets = n;
    for (int i = 0; i < walk->n_kernels; i++)
        *find_bucket(rows, &walk->kernels[i].requested) = i;
    return true;
}

enum vbs_status vbs_exec_find_kernel(struct vbs_ctx *ctx, struct vbs_exec_rows *rows, int64_t i,
                                     const struct vbs_profile_row *row, int *kernel)
{
    struct vbs_exec_walk *walk = rows->walk;
    const struct vbs_step *step = &walk->schedule->steps[i];
    bool in_parts = step->n_slices > 1;
    struct vbs_exec_kernel made = {
        .requested = {.layer = step->layer,
                      .batch = step->batch,
                      .slice = in_parts ? step->slice : 0,
                      .n_slices = in_parts ? step->n_slices : 0,
                      .algorithm = walk->profile->algorithms[row->algorithm]},
        .image = -1,
        .ws_bytes = row->ws_bytes,
        .time_us = row->time_us * share_of(&walk->profile->layers[step->layer], step)};
    enum vbs_status status = VBS_OK;
    int *bucket;

    if (!grow_kernels(rows))
        return vbs_no_memory(ctx);
    bucket = find_bucket(rows, &made.requested);
    if (*bucket < 0) {
        if (walk->schedule->weights == VBS_WEIGHTS_INCLUDED && row->weight_bytes > 0)
            status = vbs_exec_find_image(ctx, rows, i, step->layer, row->format, &made.image);
        if (status != VBS_OK)
            return status;
        *bucket = walk->n_kernels;
        walk->kernels[walk->n_kernels++] = made;
    }
    *kernel = *bucket;
    return VBS_OK;
}
