#include "plan/recompute/row_costs.h"

#include "base/fail.h"
#include "profile/reach.h"

#include <math.h>
#include <stdlib.h>

/* A kernel of a layer for one sample: of some rows, or (0) of whole samples. */
struct row_kernel {
    int rows;
    int64_t ws_bytes;
    double time_us;
};

static int compare_ws(const void *a, const void *b)
{
    int64_t x = ((const struct row_kernel *)a)->ws_bytes;
    int64_t y = ((const struct row_kernel *)b)->ws_bytes;

    return (x > y) - (x < y);
}

/* Lists the kernels of a layer, workspaces ascending; null: memory is out. */
static struct row_kernel *list_kernels(const struct vbs_task *task, int layer, bool by_rows,
                                       struct vbs_arena *arena, int *n)
{
    int n_rows, n_stripes;
    const struct vbs_profile_row *rows =
        vbs_profile_rows(task->profile, layer, task->batch_index[1], &n_rows);
    const struct vbs_profile_stripe *stripes =
        vbs_profile_stripes(task->profile, layer, &n_stripes);
    struct row_kernel *kernels =
        vbs_arena_alloc(arena, (size_t)(n_rows + n_stripes), sizeof *kernels);

    *n = 0;
    if (!kernels)
        return NULL;
    for (int i = 0; i < n_rows; i++)
        kernels[(*n)++] = (struct row_kernel){0, rows[i].ws_bytes, rows[i].time_us};
    for (int i = 0; by_rows && i < n_stripes; i++)
        if (stripes[i].batch == 1)
            kernels[(*n)++] = (struct row_kernel){stripes[i].row.rows, stripes[i].row.ws_bytes,
                                                  stripes[i].row.time_us};
    qsort(kernels, (size_t)*n, sizeof *kernels, compare_ws);
    return kernels;
}

/* Lowers the least times by one more kernel, which computes rows rows. Any of the steps may come
 * first, so that one pass in the order of rows tries it any number of times. */
static void offer(double *us, int all, const struct row_kernel *kernel)
{
    int rows = kernel->rows > 0 ? kernel->rows : all;

    for (int n = rows; n <= all; n++)
        us[n] = fmin(us[n], us[n - rows] + kernel->time_us);
}

static void begin(struct row_costs *costs, int limit)
{
    int size = costs->rows + 1;
    double *us = costs->rows_us + (int64_t)limit * size;

    costs->whole_us[limit] = limit > 0 ? costs->whole_us[limit - 1] : HUGE_VAL;
    for (int n = 0; n < size; n++)
        us[n] = n == 0 ? 0 : limit > 0 ? us[n - size] : HUGE_VAL;
}

enum vbs_status vbs_row_costs_find(struct vbs_ctx *ctx, const struct vbs_task *task, int layer,
                                   struct vbs_arena *arena, struct row_costs *costs)
{
    const struct vbs_profile_layer *about = &task->profile->layers[layer];
    bool by_rows = about->reaches && !vbs_layer_accumulates(about) && !task->problem.whole_samples;
    struct row_kernel *kernels;
    int n, limit = -1;

    *costs = (struct row_costs){.rows = by_rows ? about->rows : 0};
    kernels = list_kernels(task, layer, by_rows, arena, &n);
    costs->limits = vbs_arena_alloc(arena, (size_t)n, sizeof *costs->limits);
    costs->whole_us = vbs_arena_alloc(arena, (size_t)n, sizeof *costs->whole_us);
    costs->rows_us =
        vbs_arena_alloc(arena, (size_t)n * ((size_t)costs->rows + 1), sizeof *costs->rows_us);
    if (!kernels || !costs->limits || !costs->whole_us || !costs->rows_us)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++) {
        if (i == 0 || kernels[i].ws_bytes != costs->limits[limit]) {
            costs->limits[++limit] = kernels[i].ws_bytes;
            begin(costs, limit);
        }
        if (kernels[i].rows == 0)
            costs->whole_us[limit] = fmin(costs->whole_us[limit], kernels[i].time_us);
        if (costs->rows > 0)
            offer(costs->rows_us + (int64_t)limit * (costs->rows + 1), costs->rows, &kernels[i]);
    }
    costs->n_limits = limit + 1;
    return VBS_OK;
}
