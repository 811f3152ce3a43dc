#include "plan/dp/counts.h"

#include "base/fail.h"

#define GROWTH 8 /* of the distance between numbers, where they are that many times as large */

enum vbs_status vbs_counts_find(struct vbs_ctx *ctx, const struct vbs_task *task,
                                struct vbs_arena *arena, struct vbs_counts *counts)
{
    int r = task->request, exact = task->exact_samples, distance = 1;
    int64_t end; /* of the numbers at that distance */

    *counts = (struct vbs_counts){.exact = exact > 0 && exact < r ? exact : r};
    counts->list = vbs_arena_alloc(arena, (size_t)r, sizeof *counts->list);
    counts->index = vbs_arena_alloc(arena, (size_t)r + 1, sizeof *counts->index);
    if (!counts->list || !counts->index)
        return vbs_no_memory(ctx);
    end = counts->exact;
    counts->index[0] = -1;
    for (int b = 1; b <= r; b++) {
        if (b > end) {
            distance *= GROWTH;
            end *= GROWTH;
        }
        counts->index[b] = b % distance == 0 || b == r ? counts->n : -1;
        if (counts->index[b] >= 0)
            counts->list[counts->n++] = b;
    }
    return VBS_OK;
}
