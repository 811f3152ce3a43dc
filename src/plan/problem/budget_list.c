#include "plan/problem/budget_list.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>

enum vbs_status vbs_budget_list_add(struct vbs_ctx *ctx, struct vbs_budget_list *budgets,
                                    int64_t bytes)
{
    VBS_TRY(
        vbs_grow(ctx, &budgets->bytes, &budgets->capacity, budgets->n + 1, sizeof *budgets->bytes));
    budgets->bytes[budgets->n++] = bytes;
    return VBS_OK;
}

enum vbs_status vbs_budget_list_add_grid(struct vbs_ctx *ctx, struct vbs_budget_list *budgets,
                                         int64_t from_bytes, int64_t to_bytes)
{
    enum vbs_status status = vbs_budget_list_add(ctx, budgets, from_bytes);
    int64_t at = from_bytes;

    if (status != VBS_OK)
        return status;
    while (at < to_bytes) {
        int64_t step = 1;

        while (step <= at / 32)
            step *= 2;
        at = (at / step + 1) * step;
        VBS_TRY(vbs_budget_list_add(ctx, budgets, at < to_bytes ? at : to_bytes));
    }
    return VBS_OK;
}

static int by_bytes(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void vbs_budget_list_sort(struct vbs_budget_list *budgets)
{
    int n = 0;

    if (budgets->n > 0)
        qsort(budgets->bytes, (size_t)budgets->n, sizeof *budgets->bytes, by_bytes);
    for (int i = 0; i < budgets->n; i++)
        if (n == 0 || budgets->bytes[i] != budgets->bytes[n - 1])
            budgets->bytes[n++] = budgets->bytes[i];
    budgets->n = n;
}

int vbs_budget_list_count(const struct vbs_budget_list *budgets, int64_t bytes)
{
    int low = 0, high = budgets->n;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (budgets->bytes[middle] <= bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void vbs_budget_list_clear(struct vbs_budget_list *budgets)
{
    free(budgets->bytes);
    *budgets = (struct vbs_budget_list){0};
}
