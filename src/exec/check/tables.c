#include "exec/check/tables.h"

#include "base/arith.h"
#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 256

static int count_formats(const struct vbs_profile *profile)
{
    int n_rows, n_formats = 1;

    for (int k = 1; k <= profile->n_layers; k++) {
        const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, k, &n_rows);

        for (int i = 0; i < n_rows; i++)
            n_formats = stripes[i].row.format >= n_formats ? stripes[i].row.format + 1 : n_formats;
        for (int b = 0; b < profile->n_batches; b++) {
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, b, &n_rows);

            for (int i = 0; i < n_rows; i++)
                n_formats = rows[i].format >= n_formats ? rows[i].format + 1 : n_formats;
        }
    }
    return n_formats;
}

enum vbs_status vbs_exec_tables_init(struct vbs_ctx *ctx, struct vbs_exec_tables *tables,
                                     struct vbs_exec_checked *checked)
{
    int n_formats = count_formats(checked->profile);
    size_t n = ((size_t)checked->profile->n_layers + 1) * (size_t)n_formats;

    *tables = (struct vbs_exec_tables){.checked = checked, .n_formats = n_formats};
    tables->packed_of = malloc(n * sizeof *tables->packed_of);
    if (!tables->packed_of)
        return vbs_no_memory(ctx);
    memset(tables->packed_of, -1, n * sizeof *tables->packed_of);
    return VBS_OK;
}

void vbs_exec_tables_clear(struct vbs_exec_tables *tables)
{
    free(tables->packed_of);
    free(tables->buckets);
    *tables = (struct vbs_exec_tables){0};
}

/* ---- packed weights ---- */

static enum vbs_status add_packed(struct vbs_ctx *ctx, struct vbs_exec_checked *checked,
                                  const struct vbs_exec_packed *packed)
{
    VBS_TRY(vbs_grow(ctx, &checked->packed, &checked->max_packed, checked->n_packed + 1,
                     sizeof *checked->packed));
    checked->packed[checked->n_packed++] = *packed;
    return VBS_OK;
}

enum vbs_status vbs_exec_find_packed(struct vbs_ctx *ctx, struct vbs_exec_tables *tables, int layer,
                                     int format, int *packed)
{
    const struct vbs_profile *profile = tables->checked->profile;
    int *known = &tables->packed_of[layer * tables->n_formats + format];

    if (*known < 0) {
        struct vbs_exec_packed made = {.layer = layer,
                                       .format = format,
                                       .channels = profile->layers[layer].channels,
                                       .bytes = vbs_profile_format_bytes(profile, layer, format)};

        made.packed_bytes = made.bytes;
        VBS_TRY(add_packed(ctx, tables->checked, &made));
        *known = tables->checked->n_packed - 1;
    }
    *packed = *known;
    return VBS_OK;
}

/* ---- kernels ---- */

static uint64_t hash_kernel(const struct vbs_profile *profile,
                            const struct vbs_requested_kernel *requested)
{
    const int64_t words[] = {requested->layer, requested->batch, requested->slice,
                             requested->n_slices, requested->rows};
    uint64_t hash = VBS_MIX_FIRST;

    for (int i = 0; i < 5; i++)
        hash = vbs_mix(hash, (uint64_t)words[i]);
    for (int i = 0; requested->rows > 0 && i < profile->layers[requested->layer].n_inputs; i++) {
        const struct vbs_exec_rows read =
            vbs_exec_rows_read(profile, requested->layer, i, requested->row, requested->rows);

        hash = vbs_mix(hash, (uint64_t)read.above);
        hash = vbs_mix(hash, (uint64_t)read.below);
        hash = vbs_mix(hash, (uint64_t)read.phase);
    }
    for (const char *c = requested->algorithm; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

/* Gives whether two kernels of equal numbers of rows do the same although their rows are others. */
static bool same_border(const struct vbs_profile *profile, const struct vbs_requested_kernel *a,
                        const struct vbs_requested_kernel *b)
{
    for (int i = 0; a->row != b->row && i < profile->layers[a->layer].n_inputs; i++) {
        const struct vbs_exec_rows of_a = vbs_exec_rows_read(profile, a->layer, i, a->row, a->rows);
        const struct vbs_exec_rows of_b = vbs_exec_rows_read(profile, b->layer, i, b->row, b->rows);

        if (of_a.above != of_b.above || of_a.below != of_b.below || of_a.phase != of_b.phase)
            return false;
    }
    return true;
}

static bool same_kernel(const struct vbs_profile *profile, const struct vbs_requested_kernel *a,
                        const struct vbs_requested_kernel *b)
{
    return a->layer == b->layer && a->batch == b->batch && a->slice == b->slice &&
           a->n_slices == b->n_slices && a->rows == b->rows &&
           strcmp(a->algorithm, b->algorithm) == 0 && same_border(profile, a, b);
}

/* Finds the bucket in which requested is, or in which it belongs. */
static int *find_bucket(const struct vbs_exec_tables *tables,
                        const struct vbs_requested_kernel *requested)
{
    const struct vbs_exec_kernel *kernels = tables->checked->kernels;
    const struct vbs_profile *profile = tables->checked->profile;
    uint64_t mask = (uint64_t)tables->n_buckets - 1, at = hash_kernel(profile, requested) & mask;

    while (tables->buckets[at] >= 0 &&
           !same_kernel(profile, &kernels[tables->buckets[at]].requested, requested))
        at = (at + 1) & mask;
    return &tables->buckets[at];
}

/* Makes space for one more kernel. The table is at most half full. */
static bool grow_kernels(struct vbs_exec_tables *tables)
{
    struct vbs_exec_checked *checked = tables->checked;
    int n = tables->n_buckets ? 2 * tables->n_buckets : FIRST_BUCKETS;
    struct vbs_exec_kernel *kernels;
    int *buckets;

    if (2 * (checked->n_kernels + 1) <= tables->n_buckets)
        return true;
    kernels = realloc(checked->kernels, (size_t)n / 2 * sizeof *kernels);
    if (!kernels)
        return false;
    checked->kernels = kernels;
    checked->max_kernels = n / 2;
    buckets = malloc((size_t)n * sizeof *buckets);
    if (!buckets)
        return false;
    memset(buckets, -1, (size_t)n * sizeof *buckets);
    free(tables->buckets);
    tables->buckets = buckets;
    tables->n_buckets = n;
    for (int i = 0; i < checked->n_kernels; i++)
        *find_bucket(tables, &checked->kernels[i].requested) = i;
    return true;
}

enum vbs_status vbs_exec_find_kernel(struct vbs_ctx *ctx, struct vbs_exec_tables *tables,
                                     const struct vbs_step *step, const struct vbs_profile_row *row,
                                     int *kernel)
{
    struct vbs_exec_checked *checked = tables->checked;
    bool is_slice = step->n_slices > 1, is_stripe = vbs_exec_is_stripe(checked->profile, step);
    struct vbs_exec_kernel made = {
        .requested = {.layer = step->layer,
                      .batch = is_stripe ? 1 : step->batch,
                      .slice = is_slice ? step->slice : 0,
                      .n_slices = is_slice ? step->n_slices : 0,
                      .row = is_stripe ? step->row : 0,
                      .rows = is_stripe ? step->rows : 0,
                      .algorithm = checked->profile->algorithms[row->algorithm]},
        .packed = -1,
        .ws_bytes = row->ws_bytes};
    int *bucket;

    if (!grow_kernels(tables))
        return vbs_no_memory(ctx);
    bucket = find_bucket(tables, &made.requested);
    if (*bucket < 0) {
        if (checked->schedule->weights == VBS_WEIGHTS_INCLUDED && row->weight_bytes > 0)
            VBS_TRY(vbs_exec_find_packed(ctx, tables, step->layer, row->format, &made.packed));
        checked->kernels[checked->n_kernels] = made;
        *bucket = checked->n_kernels++;
    } else if (checked->kernels[*bucket].ws_bytes < row->ws_bytes) { /* stripes of more samples */
        checked->kernels[*bucket].ws_bytes = row->ws_bytes;
    }
    *kernel = *bucket;
    return VBS_OK;
}
