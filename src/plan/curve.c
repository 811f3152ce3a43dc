#include "plan/curve.h"

#include "base/fail.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const int64_t NONE = 0;
static const int32_t NO_CUT = 0;
const struct vbs_curve VBS_CURVE_ZERO = {.n = 1, .bytes = &NONE, .ticks = &NONE, .cut = &NO_CUT};

int vbs_curve_at(const struct vbs_curve *curve, int64_t bytes)
{
    int low = 0, high = curve->n; /* the answer is before high, at or after low - 1 */

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (curve->bytes[middle] <= bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

void vbs_envelope_reset(struct vbs_envelope *envelope)
{
    envelope->best.n = 0;
}

static void buffer_clear(struct vbs_points_buffer *buffer)
{
    free(buffer->bytes);
    free(buffer->ticks);
    free(buffer->cut);
}

void vbs_envelope_clear(struct vbs_envelope *envelope)
{
    buffer_clear(&envelope->best);
    buffer_clear(&envelope->gains);
    buffer_clear(&envelope->merged);
    *envelope = (struct vbs_envelope){0};
}

/* Gives the buffer room for need points. */
static enum vbs_status reserve(struct vbs_ctx *ctx, struct vbs_points_buffer *buffer, int64_t need)
{
    int64_t capacity = buffer->capacity ? buffer->capacity : 64;
    int64_t *bytes, *ticks;
    int32_t *cut;

    if (need <= buffer->capacity)
        return VBS_OK;
    while (capacity < need)
        capacity *= 2;
    if (capacity > INT32_MAX / 2)
        return vbs_no_memory(ctx);
    bytes = realloc(buffer->bytes, (size_t)capacity * sizeof *bytes);
    if (bytes)
        buffer->bytes = bytes;
    ticks = realloc(buffer->ticks, (size_t)capacity * sizeof *ticks);
    if (ticks)
        buffer->ticks = ticks;
    cut = realloc(buffer->cut, (size_t)capacity * sizeof *cut);
    if (cut)
        buffer->cut = cut;
    if (!bytes || !ticks || !cut)
        return vbs_no_memory(ctx);
    buffer->capacity = (int)capacity;
    return VBS_OK;
}

/* Appends a point unless it brings no gain in time; a point at the same bytes gives way. */
static void push(struct vbs_points_buffer *to, int64_t bytes, int64_t ticks, int32_t cut)
{
    int n = to->n;

    if (n > 0 && ticks >= to->ticks[n - 1])
        return;
    if (n > 0 && bytes == to->bytes[n - 1])
        n--;
    to->bytes[n] = bytes;
    to->ticks[n] = ticks;
    to->cut[n] = cut;
    to->n = n + 1;
}

/* best = least of best and gains. */
static enum vbs_status merge(struct vbs_ctx *ctx, struct vbs_envelope *envelope)
{
    const struct vbs_points_buffer *best = &envelope->best, *gains = &envelope->gains;
    struct vbs_points_buffer swap;
    enum vbs_status status = reserve(ctx, &envelope->merged, (int64_t)best->n + gains->n);
    int i = 0, j = 0;

    if (status != VBS_OK)
        return status;
    envelope->merged.n = 0;
    while (i < best->n || j < gains->n) {
        if (j == gains->n || (i < best->n && best->bytes[i] <= gains->bytes[j])) {
            push(&envelope->merged, best->bytes[i], best->ticks[i], best->cut[i]);
            i++;
        } else {
            push(&envelope->merged, gains->bytes[j], gains->ticks[j], gains->cut[j]);
            j++;
        }
    }
    swap = envelope->best;
    envelope->best = envelope->merged;
    envelope->merged = swap;
    return VBS_OK;
}

enum vbs_status vbs_envelope_offer(struct vbs_ctx *ctx, struct vbs_envelope *envelope,
                                   int64_t bytes, int64_t ticks, int32_t cut)
{
    enum vbs_status status = reserve(ctx, &envelope->gains, 1);

    if (status != VBS_OK)
        return status;
    envelope->gains.n = 0;
    push(&envelope->gains, bytes, ticks, cut);
    return merge(ctx, envelope);
}

static bool is_meant(enum vbs_points which, int32_t cut)
{
    return which == VBS_POINTS_ALL || (cut < 0) == (which == VBS_POINTS_NEGATIVE_CUT);
}

/* True when even the fastest point of the sum is no better than what the envelope has at the least
 * memory of the sum: most offers end here. */
static bool is_hopeless(const struct vbs_envelope *envelope, struct vbs_moved first,
                        struct vbs_moved second)
{
    const struct vbs_points_buffer *best = &envelope->best;
    const struct vbs_curve *a = first.curve, *b = second.curve;
    int64_t fastest = a->ticks[a->n - 1] + b->ticks[b->n - 1];
    int64_t bytes = a->bytes[0] + first.by_bytes;
    const struct vbs_curve view = {.n = best->n, .bytes = best->bytes};
    int at;

    if (bytes < b->bytes[0] + second.by_bytes)
        bytes = b->bytes[0] + second.by_bytes;
    if (best->n == 0 || best->ticks[best->n - 1] > fastest)
        return false;
    at = vbs_curve_at(&view, bytes);
    return at >= 0 && best->ticks[at] <= fastest;
}

/* Where the walk along envelope and second stands. */
struct cursor {
    int at_best; /* points of the envelope at or below the memory at hand */
    int at_second;
};

/* Collects what the sum gains while one point of first holds: from bytes up to end. */
static void gain_while(struct vbs_envelope *envelope, int64_t first_ticks, struct vbs_moved second,
                       int64_t bytes, int64_t end, int32_t cut, struct cursor *cursor)
{
    const struct vbs_points_buffer *best = &envelope->best;
    const struct vbs_curve *b = second.curve;
    int q = cursor->at_second, e = cursor->at_best;

    while (q + 1 < b->n && b->bytes[q + 1] + second.by_bytes <= bytes)
        q++;
    for (;;) {
        int64_t ticks = first_ticks + b->ticks[q];

        while (e < best->n && best->bytes[e] <= bytes)
            e++;
        if (e == 0 || ticks < best->ticks[e - 1])
            push(&envelope->gains, bytes, ticks, cut);
        if (q + 1 == b->n || b->bytes[q + 1] + second.by_bytes >= end)
            break;
        q++;
        bytes = b->bytes[q] + second.by_bytes;
    }
    cursor->at_second = q;
    cursor->at_best = e;
}

enum vbs_status vbs_envelope_offer_sum(struct vbs_ctx *ctx, struct vbs_envelope *envelope,
                                       struct vbs_moved first, enum vbs_points which,
                                       struct vbs_moved second, int32_t cut)
{
    const struct vbs_curve *a = first.curve, *b = second.curve;
    struct cursor cursor = {0};
    enum vbs_status status;

    if (a->n == 0 || b->n == 0 || is_hopeless(envelope, first, second))
        return VBS_OK;
    status = reserve(ctx, &envelope->gains, (int64_t)a->n + b->n);
    if (status != VBS_OK)
        return status;
    envelope->gains.n = 0;
    for (int p = 0; p < a->n; p++) {
        int64_t bytes = a->bytes[p] + first.by_bytes;
        int64_t end = p + 1 < a->n ? a->bytes[p + 1] + first.by_bytes : INT64_MAX;

        if (bytes < b->bytes[0] + second.by_bytes)
            bytes = b->bytes[0] + second.by_bytes;
        if (bytes < end && is_meant(which, a->cut[p]))
            gain_while(envelope, a->ticks[p], second, bytes, end, cut, &cursor);
    }
    return envelope->gains.n > 0 ? merge(ctx, envelope) : VBS_OK;
}

enum vbs_status vbs_envelope_curve(struct vbs_ctx *ctx, const struct vbs_envelope *envelope,
                                   struct vbs_arena *arena, struct vbs_curve *curve)
{
    const struct vbs_points_buffer *best = &envelope->best;
    size_t n = (size_t)best->n;
    int64_t *bytes;
    int32_t *cut;

    *curve = (struct vbs_curve){0};
    if (n == 0)
        return VBS_OK;
    bytes = vbs_arena_alloc(arena, n, 2 * sizeof *bytes);
    cut = vbs_arena_alloc(arena, n, sizeof *cut);
    if (!bytes || !cut)
        return vbs_no_memory(ctx);
    memcpy(bytes, best->bytes, n * sizeof *bytes);
    memcpy(bytes + n, best->ticks, n * sizeof *bytes);
    memcpy(cut, best->cut, n * sizeof *cut);
    *curve = (struct vbs_curve){.n = best->n, .bytes = bytes, .ticks = bytes + n, .cut = cut};
    return VBS_OK;
}
