/* Rows of weights, of which many are read together: a file may have them as columns, of which a
 * call of the system is to bring more than one value, and coded weights are decoded in blocks. */
#include "backend/common/common.h"

#include "base/fail.h"

#include <stdlib.h>

/* Makes space for n values. */
static enum vbs_status reserve(struct vbs_ctx *ctx, struct vbs_weight_rows *rows, int64_t n)
{
    if (n <= rows->capacity)
        return VBS_OK;
    free(rows->values);
    rows->capacity = 0;
    rows->values = malloc((size_t)n * sizeof *rows->values);
    if (!rows->values)
        return vbs_no_memory(ctx);
    rows->capacity = n;
    return VBS_OK;
}

enum vbs_status vbs_weight_row(struct vbs_ctx *ctx, struct vbs_session_core *core, int layer,
                               enum vbs_parameter what, int64_t row, int64_t n_values,
                               const float **values)
{
    struct vbs_weight_rows *rows = &core->rows;

    if (rows->layer != layer || rows->what != what || rows->n_values != n_values ||
        row < rows->first || row >= rows->first + rows->n) {
        int64_t n_rows = vbs_parameter_count(core->network, layer, -1, what) / n_values;
        int64_t most = vbs_parameter_at_once(core->network, layer, -1, what) / n_values;
        int64_t first = most > 1 ? row / most * most : row;
        int64_t n = most < 1 ? 1 : most < n_rows - first ? most : n_rows - first;

        rows->n = 0;
        VBS_TRY(reserve(ctx, rows, n * n_values));
        VBS_TRY(vbs_parameter_values(ctx, core->network, layer, -1, what, first * n_values,
                                     n * n_values, rows->values));
        rows->layer = layer;
        rows->what = what;
        rows->n_values = n_values;
        rows->first = first;
        rows->n = n;
    }
    *values = rows->values + (row - rows->first) * n_values;
    return VBS_OK;
}

void vbs_weight_rows_clear(struct vbs_session_core *core)
{
    free(core->rows.values);
    core->rows = (struct vbs_weight_rows){0};
}
