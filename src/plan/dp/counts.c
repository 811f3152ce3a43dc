#include "plan/dp/counts.h"

#include "base/fail.h"

#define GROWTH 8 /* the distance between numbers grows by this factor where the numbers do */

/* The distance between the numbers near b. */
static int distance_at(const struct vbs_counts *counts, int b)
{
    int64_t end = counts->exact, distance = 1;

    while (b > end) {
        distance *= GROWTH;
        end *= GROWTH;
    }
    return (int)distance;
}

enum vbs_status vbs_counts_find(struct vbs_ctx *ctx, const struct vbs_task *task,
                                struct vbs_arena *arena, struct vbs_counts *counts)
{
    int r = task->request, exact = task->exact_samples;

    if (exact > 0 && exact < GROWTH)
        exact = GROWTH;
    *counts = (struct vbs_counts){.exact = exact > 0 && exact < r ? exact : r};
    counts->list = vbs_arena_alloc(arena, (size_t)r, sizeof *counts->list);
    counts->index = vbs_arena_alloc(arena, (size_t)r + 1, sizeof *counts->index);
    if (!counts->list || !counts->index)
        return vbs_no_memory(ctx);
    for (int b = 0; b <= r; b++)
        counts->index[b] = b % distance_at(counts, b) == 0 ? 0 : -1;
    for (int b = r; b > 0; b %= distance_at(counts, b))
        counts->index[b] = 0;
    counts->index[0] = -1;
    for (int b = 1; b <= r; b++)
        if (counts->index[b] == 0) {
            counts->index[b] = counts->n;
            counts->list[counts->n++] = b;
        }
    return VBS_OK;
}
