#include "plan/recompute/estimates.h"

#include "base/fail.h"
#include "base/grow.h"
#include "plan/problem/problem.h"

#include <stdlib.h>

enum vbs_status vbs_estimate_offer(struct vbs_ctx *ctx, struct estimate_curve *curve,
                                   const struct estimate_point *point)
{
    VBS_TRY(vbs_grow(ctx, &curve->points, &curve->capacity, curve->n + 1, sizeof *curve->points));
    curve->points[curve->n++] = *point;
    return VBS_OK;
}

/* Orders by bytes, then by time; of equal ones whole samples come first, then large tiles. */
static int compare_points(const void *a, const void *b)
{
    const struct estimate_point *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->us != y->us)
        return x->us < y->us ? -1 : 1;
    if (x->from != y->from)
        return x->from > y->from ? -1 : 1;
    if ((x->tiles == 0) != (y->tiles == 0))
        return x->tiles == 0 ? -1 : 1;
    return x->tiles != y->tiles ? (x->tiles > y->tiles ? -1 : 1) : x->tail - y->tail;
}

void vbs_estimate_settle(struct estimate_curve *curve)
{
    int64_t n = 0;

    if (curve->n > 0)
        qsort(curve->points, (size_t)curve->n, sizeof *curve->points, compare_points);
    for (int64_t i = 0; i < curve->n; i++)
        if (n == 0 || curve->points[i].us < curve->points[n - 1].us * (1 - VBS_TIME_NOISE))
            curve->points[n++] = curve->points[i];
    curve->n = n;
}

const struct estimate_point *vbs_estimate_at(const struct estimate_curve *curve, int64_t bytes)
{
    int64_t low = 0, high = curve->n;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (curve->points[middle].bytes <= bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &curve->points[low - 1] : NULL;
}

enum vbs_status vbs_estimate_offer_sums(struct vbs_ctx *ctx, struct estimate_curve *sums,
                                        const struct estimate_curve *first, int from,
                                        const struct estimate_curve *second)
{
    int64_t a = 0, b = 0;

    while (a < first->n && b < second->n) {
        struct estimate_point sum;
        int64_t bytes = first->points[a].bytes;

        if (second->points[b].bytes > bytes)
            bytes = second->points[b].bytes;
        while (a + 1 < first->n && first->points[a + 1].bytes <= bytes)
            a++;
        while (b + 1 < second->n && second->points[b + 1].bytes <= bytes)
            b++;
        sum = second->points[b];
        sum.bytes = bytes;
        sum.us += first->points[a].us;
        sum.from = from;
        VBS_TRY(vbs_estimate_offer(ctx, sums, &sum));
        /* The next sum is at the next point of either. */
        if (b + 1 == second->n ||
            (a + 1 < first->n && first->points[a + 1].bytes <= second->points[b + 1].bytes))
            a++;
        else
            b++;
    }
    return VBS_OK;
}
