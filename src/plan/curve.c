#include "plan/curve.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

const struct vbs_point *vbs_curve_at(const struct vbs_curve *curve, int64_t bytes)
{
    int low = 0, high = curve->n; /* the answer is before high, at or after low - 1 */

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (curve->points[middle].bytes <= bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &curve->points[low - 1] : NULL;
}

void vbs_envelope_reset(struct vbs_envelope *envelope)
{
    envelope->n_best = 0;
}

void vbs_envelope_clear(struct vbs_envelope *envelope)
{
    free(envelope->best);
    free(envelope->sum);
    free(envelope->merged);
    *envelope = (struct vbs_envelope){0};
}

static bool grow(struct vbs_point **points, int capacity)
{
    struct vbs_point *more = realloc(*points, (size_t)capacity * sizeof *more);

    if (more)
        *points = more;
    return more != NULL;
}

static enum vbs_status reserve(struct vbs_ctx *ctx, struct vbs_envelope *envelope, int64_t need)
{
    int64_t capacity = envelope->capacity ? envelope->capacity : 64;

    while (capacity < need)
        capacity *= 2;
    if (capacity <= envelope->capacity)
        return VBS_OK;
    if (capacity > INT32_MAX / (int64_t)sizeof(struct vbs_point) ||
        !grow(&envelope->best, (int)capacity) || !grow(&envelope->sum, (int)capacity) ||
        !grow(&envelope->merged, (int)capacity))
        return vbs_no_memory(ctx);
    envelope->capacity = (int)capacity;
    return VBS_OK;
}

/* Appends point to a list unless it brings no gain in time; a point at the same bytes gives way. */
static int push(struct vbs_point *list, int n, const struct vbs_point *point)
{
    if (n > 0 && point->ticks >= list[n - 1].ticks)
        return n;
    if (n > 0 && point->bytes == list[n - 1].bytes)
        n--;
    list[n] = *point;
    return n + 1;
}

/* best = least of best and the n points of other. */
static void merge(struct vbs_envelope *envelope, const struct vbs_point *other, int n)
{
    const struct vbs_point *best = envelope->best;
    struct vbs_point *swap = envelope->best;
    int i = 0, j = 0, out = 0;

    while (i < envelope->n_best || j < n) {
        bool take_best = j == n || (i < envelope->n_best && best[i].bytes <= other[j].bytes);

        out = push(envelope->merged, out, take_best ? &best[i++] : &other[j++]);
    }
    envelope->best = envelope->merged;
    envelope->merged = swap;
    envelope->n_best = out;
}

enum vbs_status vbs_envelope_offer(struct vbs_ctx *ctx, struct vbs_envelope *envelope,
                                   struct vbs_point point)
{
    enum vbs_status status = reserve(ctx, envelope, envelope->n_best + 1);

    if (status == VBS_OK)
        merge(envelope, &point, 1);
    return status;
}

/* Where a merge of parts stands: the point of each that holds. */
struct cursor {
    int n_parts;
    const struct vbs_moved *parts;
    int at[VBS_MAX_PARTS];
};

static int64_t moved_bytes(const struct vbs_moved *part, int index)
{
    return part->curve->points[index].bytes + part->by_bytes;
}

/* The least memory at which all parts are feasible; false where there is none. */
static bool start(struct cursor *cursor, int64_t *bytes)
{
    *bytes = 0;
    for (int p = 0; p < cursor->n_parts; p++) {
        if (cursor->parts[p].curve->n == 0)
            return false;
        if (moved_bytes(&cursor->parts[p], 0) > *bytes)
            *bytes = moved_bytes(&cursor->parts[p], 0);
    }
    for (int p = 0; p < cursor->n_parts; p++) {
        const struct vbs_moved *part = &cursor->parts[p];

        cursor->at[p] =
            (int)(vbs_curve_at(part->curve, *bytes - part->by_bytes) - part->curve->points);
    }
    return true;
}

static int64_t ticks_here(const struct cursor *cursor)
{
    int64_t ticks = 0;

    for (int p = 0; p < cursor->n_parts; p++)
        ticks += cursor->parts[p].curve->points[cursor->at[p]].ticks;
    return ticks;
}

/* Moves to the next memory at which some part falls; false at the end. */
static bool advance(struct cursor *cursor, int64_t *bytes)
{
    int64_t next = INT64_MAX;
    bool found = false;

    for (int p = 0; p < cursor->n_parts; p++) {
        if (cursor->at[p] + 1 < cursor->parts[p].curve->n) {
            int64_t candidate = moved_bytes(&cursor->parts[p], cursor->at[p] + 1);

            if (!found || candidate < next)
                next = candidate;
            found = true;
        }
    }
    for (int p = 0; found && p < cursor->n_parts; p++)
        if (cursor->at[p] + 1 < cursor->parts[p].curve->n &&
            moved_bytes(&cursor->parts[p], cursor->at[p] + 1) == next)
            cursor->at[p]++;
    *bytes = next;
    return found;
}

/* True when even the fastest point of the sum is no better than what the envelope has at the least
 * memory of the sum. */
static bool hopeless(const struct vbs_envelope *envelope, const struct cursor *cursor,
                     int64_t bytes)
{
    const struct vbs_curve best = {.n = envelope->n_best, .points = envelope->best};
    const struct vbs_point *holds = vbs_curve_at(&best, bytes);
    int64_t fastest = 0;

    for (int p = 0; p < cursor->n_parts; p++)
        fastest += cursor->parts[p].curve->points[cursor->parts[p].curve->n - 1].ticks;
    return holds && holds->ticks <= fastest;
}

enum vbs_status vbs_envelope_offer_sum(struct vbs_ctx *ctx, struct vbs_envelope *envelope,
                                       const struct vbs_moved *parts, int n_parts, int first,
                                       int split)
{
    struct cursor cursor = {.n_parts = n_parts, .parts = parts};
    int64_t bytes, need = envelope->n_best;
    enum vbs_status status;
    int n = 0;

    if (!start(&cursor, &bytes) || hopeless(envelope, &cursor, bytes))
        return VBS_OK;
    for (int p = 0; p < n_parts; p++)
        need += parts[p].curve->n;
    status = reserve(ctx, envelope, need);
    if (status != VBS_OK)
        return status;
    do {
        envelope->sum[n++] = (struct vbs_point){
            .bytes = bytes,
            .ticks = ticks_here(&cursor),
            .first = first,
            .split = split >= 0 ? split : parts[0].curve->points[cursor.at[0]].split,
        };
    } while (advance(&cursor, &bytes));
    merge(envelope, envelope->sum, n);
    return VBS_OK;
}

enum vbs_status vbs_envelope_curve(struct vbs_ctx *ctx, const struct vbs_envelope *envelope,
                                   struct vbs_arena *arena, struct vbs_curve *curve)
{
    struct vbs_point *points;

    *curve = (struct vbs_curve){0};
    if (envelope->n_best == 0)
        return VBS_OK;
    points = vbs_arena_alloc(arena, (size_t)envelope->n_best, sizeof *points);
    if (!points)
        return vbs_no_memory(ctx);
    memcpy(points, envelope->best, (size_t)envelope->n_best * sizeof *points);
    *curve = (struct vbs_curve){.n = envelope->n_best, .points = points};
    return VBS_OK;
}
