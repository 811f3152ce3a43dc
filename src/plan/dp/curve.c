#include "plan/dp/curve.h"

#include "base/fail.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const int64_t NONE = 0;
static const int32_t NO_CUT = 0;
const struct vbs_curve VBS_CURVE_ZERO = {
    .n = 1, .n_runs = 1, .bytes = &NONE, .ticks = &NONE, .cut = &NO_CUT, .runs = &NO_CUT};

int vbs_curve_at(const struct vbs_curve *curve, int64_t bytes)
{
    int low = 0, high = curve->n; /* the result lies in low - 1..high - 1 */

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

/* Grows the buffer to at least need points. */
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

/* Appends a point unless it brings no gain in time; it replaces a point at the same bytes. */
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
    int i = 0, j = 0;

    VBS_TRY(reserve(ctx, &envelope->merged, (int64_t)best->n + gains->n));
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
    VBS_TRY(reserve(ctx, &envelope->gains, 1));
    envelope->gains.n = 0;
    push(&envelope->gains, bytes, ticks, cut);
    return merge(ctx, envelope);
}

/* The last of n ascending values, from at on, that is at most limit; values[at] is at most limit.
 * It goes value by value first, because most walks are short, and then in jumps. */
static int advance(const int64_t *values, int n, int at, int64_t limit)
{
    int step = 1;

    while (at + step < n && values[at + step] <= limit) {
        at += step;
        step *= 2;
    }
    for (; step > 0; step /= 2)
        if (at + step < n && values[at + step] <= limit)
            at += step;
    return at;
}

/* The first of n descending values, from at on, that is below limit; n where there is none. It goes
 * value by value first, and then in jumps. */
static int skip_to_below(const int64_t *values, int n, int at, int64_t limit)
{
    int step = 1;

    if (at >= n || values[at] < limit)
        return at;
    while (at + step < n && values[at + step] >= limit) {
        at += step;
        step *= 2;
    }
    for (; step > 0; step /= 2)
        if (at + step < n && values[at + step] >= limit)
            at += step;
    return at + 1;
}

/* A sum of two curves at one amount of memory: the points that hold there. */
struct sum {
    struct vbs_moved first, second;
    int at_second;
    int at_best;     /* -1: the envelope has no point there */
    int64_t fastest; /* no point of the sum takes less */
};

/* True when the envelope is as fast as the sum can become, which is often so. */
static bool is_dominated(const struct vbs_points_buffer *best, const struct sum *sum)
{
    return sum->at_best >= 0 && best->ticks[sum->at_best] <= sum->fastest;
}

/* Moves the sum to an amount of memory in which both curves are feasible. */
static void move_to(const struct vbs_points_buffer *best, struct sum *sum, int64_t bytes)
{
    const struct vbs_curve *b = sum->second.curve;
    int e = sum->at_best;

    sum->at_second = advance(b->bytes, b->n, sum->at_second, bytes - sum->second.by_bytes);
    if (e < 0 && (best->n == 0 || best->bytes[0] > bytes))
        return;
    sum->at_best = advance(best->bytes, best->n, e < 0 ? 0 : e, bytes);
}

/* Collects the points at which the sum is faster than the envelope while one point of first holds:
 * from the sum's memory up to end. */
static void gain_while(struct vbs_envelope *envelope, struct sum *sum, int64_t first_ticks,
                       int64_t bytes, int64_t end, int32_t cut)
{
    const struct vbs_points_buffer *best = &envelope->best;
    const struct vbs_curve *b = sum->second.curve;
    int64_t shift = sum->second.by_bytes;
    int q = sum->at_second, e = sum->at_best, last = b->n - 1;

    for (;;) {
        int64_t ticks = first_ticks + b->ticks[q];
        int next = q + 1;

        while (e + 1 < best->n && best->bytes[e + 1] <= bytes)
            e++;
        if (e < 0 || ticks < best->ticks[e])
            push(&envelope->gains, bytes, ticks, cut);
        else
            next = skip_to_below(b->ticks, b->n, next, best->ticks[e] - first_ticks);
        if (next > last || b->bytes[next] + shift >= end)
            break;
        q = next;
        bytes = b->bytes[q] + shift;
    }
    sum->at_second = q;
    sum->at_best = e;
}

/* Collects the points at which the sum is faster than the envelope while the points from..to-1 of
 * first hold. */
static void gain_in_run(struct vbs_envelope *envelope, struct sum *sum, int from, int to,
                        int32_t cut)
{
    const struct vbs_curve *a = sum->first.curve;
    int64_t shift = sum->first.by_bytes;
    int64_t least = sum->second.curve->first_bytes + sum->second.by_bytes;

    for (int p = from; p < to; p++) {
        int64_t bytes = a->bytes[p] + shift;
        int64_t end = p + 1 < a->n ? a->bytes[p + 1] + shift : INT64_MAX;

        if (end <= least)
            continue;
        if (bytes < least)
            bytes = least;
        move_to(&envelope->best, sum, bytes);
        if (is_dominated(&envelope->best, sum))
            return;
        if (sum->at_best >= 0) {
            int64_t limit = envelope->best.ticks[sum->at_best] - sum->second.curve->last_ticks;

            if (a->ticks[p] >= limit) { /* no gain before the next point below the limit */
                p = skip_to_below(a->ticks, to, p + 1, limit) - 1;
                continue;
            }
        }
        gain_while(envelope, sum, a->ticks[p], bytes, end, cut);
    }
}

/* Moves the sum to its least memory; false when it is nowhere faster than the envelope. */
static bool start_sum(const struct vbs_points_buffer *best, struct sum *sum)
{
    const struct vbs_curve *a = sum->first.curve, *b = sum->second.curve;
    int64_t from_a = a->first_bytes + sum->first.by_bytes;
    int64_t from_b = b->first_bytes + sum->second.by_bytes;

    sum->fastest = a->last_ticks + b->last_ticks;
    sum->at_best = -1;
    if (best->n > 0) {
        const struct vbs_curve view = {.n = best->n, .bytes = best->bytes};

        sum->at_best = vbs_curve_at(&view, from_a > from_b ? from_a : from_b);
    }
    return !is_dominated(best, sum);
}

enum vbs_status vbs_envelope_offer_sum(struct vbs_ctx *ctx, struct vbs_envelope *envelope,
                                       struct vbs_moved first, enum vbs_points which,
                                       struct vbs_moved second, int32_t cut)
{
    const struct vbs_curve *a = first.curve, *b = second.curve;
    struct sum sum = {.first = first, .second = second};
    int stride = which == VBS_POINTS_ALL ? 1 : 2;
    int run = stride == 2 && a->first_negative != (which == VBS_POINTS_NEGATIVE_CUT);

    if (a->n == 0 || b->n == 0 || run >= a->n_runs || !start_sum(&envelope->best, &sum))
        return VBS_OK;
    VBS_TRY(reserve(ctx, &envelope->gains, (int64_t)a->n + b->n));
    envelope->gains.n = 0;
    for (; run < a->n_runs && !is_dominated(&envelope->best, &sum); run += stride)
        gain_in_run(envelope, &sum, a->runs[run], run + 1 < a->n_runs ? a->runs[run + 1] : a->n,
                    cut);
    return envelope->gains.n > 0 ? merge(ctx, envelope) : VBS_OK;
}

/* Finds where the sign of the cuts changes; where to is null it only counts. */
static int find_runs(const struct vbs_points_buffer *points, int32_t *to)
{
    int n = 0;

    for (int p = 0; p < points->n; p++) {
        if (p > 0 && (points->cut[p] < 0) == (points->cut[p - 1] < 0))
            continue;
        if (to)
            to[n] = p;
        n++;
    }
    return n;
}

enum vbs_status vbs_envelope_curve(struct vbs_ctx *ctx, const struct vbs_envelope *envelope,
                                   struct vbs_arena *arena, struct vbs_curve *curve)
{
    struct vbs_points_buffer kept = envelope->best;
    const struct vbs_points_buffer *best = &kept;
    size_t n;
    int n_runs;
    int64_t *bytes;
    int32_t *cut;

    if (envelope->most_bytes > 0)
        while (kept.n > 0 && kept.bytes[kept.n - 1] > envelope->most_bytes)
            kept.n--;
    n = (size_t)kept.n;
    n_runs = find_runs(best, NULL);
    *curve = (struct vbs_curve){0};
    if (n == 0)
        return VBS_OK;
    bytes = vbs_arena_alloc(arena, n, 2 * sizeof *bytes);
    cut = vbs_arena_alloc(arena, n + (size_t)n_runs, sizeof *cut);
    if (!bytes || !cut)
        return vbs_no_memory(ctx);
    memcpy(bytes, best->bytes, n * sizeof *bytes);
    memcpy(bytes + n, best->ticks, n * sizeof *bytes);
    memcpy(cut, best->cut, n * sizeof *cut);
    find_runs(best, cut + n);
    *curve = (struct vbs_curve){.n = best->n,
                                .n_runs = n_runs,
                                .first_bytes = best->bytes[0],
                                .last_ticks = best->ticks[n - 1],
                                .first_negative = best->cut[0] < 0,
                                .bytes = bytes,
                                .ticks = bytes + n,
                                .cut = cut,
                                .runs = cut + n};
    return VBS_OK;
}
