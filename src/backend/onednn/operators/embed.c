/* Rows of a constant table, chosen by the values of the input: they are copied. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

#include <math.h>
#include <string.h>

struct embed_plan {
    int64_t rows, width;
    struct od_nest nest;
};

/* Gives the row that a value means: its whole part, counted from the end where it is below 0.
 * Negative: there is no such row. */
static int64_t row_of(const struct embed_plan *p, float value)
{
    float whole = truncf(value);

    if (!(fabsf(whole) <= (float)p->rows))
        return -1;
    return whole < 0 ? (int64_t)whole + p->rows : (int64_t)whole < p->rows ? (int64_t)whole : -1;
}

static void embed_row(const void *plan, const struct od_axis *axis, int64_t first, int64_t n,
                      void *const *at)
{
    const struct embed_plan *p = plan;
    const float *values = (const float *)at[1] + first, *table = at[2];
    float *to = (float *)at[0] + first * p->width;

    (void)axis;
    for (int64_t i = 0; i < n; i++, to += p->width) {
        int64_t row = row_of(p, values[i]);

        for (int64_t j = 0; j < p->width && row < 0; j++)
            to[j] = values[i] - values[i]; /* 0, or no number where the value is not finite */
        if (row >= 0)
            memcpy(to, table + row * p->width, (size_t)p->width * sizeof *to);
    }
}

static bool run_embed(const void *plan, float *const *data)
{
    const struct embed_plan *p = plan;

    od_nest_run(&p->nest, embed_row, p, data);
    return true;
}

enum vbs_status od_build_embed(struct od_build *b)
{
    struct embed_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    int64_t n = b->batch * vbs_shape_elements(&b->l->views[0]);
    dnnl_memory_t data[OD_OPERANDS];
    const struct od_packed *table;
    dnnl_memory_desc_t md;

    VBS_TRY(plan ? od_kernel_begin(b, "loop:embed") : vbs_no_memory(b->ctx));
    *plan = (struct embed_plan){.rows = b->l->operand.dim[0], .width = b->l->operand.dim[1]};
    plan->nest.cost = plan->width;
    od_nest_add_strided(&plan->nest, n, plan->width, 1, 0);
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){plan->rows, plan->width}, &md));
    VBS_TRY(od_operand_as(b, &md, &md, &table));
    VBS_TRY(od_kernel_memory(b, &md, OD_FIXED, 0, table->data, &data[2]));
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){n, plan->width}, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &data[0]));
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){1, n}, &md));
    VBS_TRY(od_source(b, 0, OD_PLAIN, &md, &data[1]));
    VBS_TRY(od_kernel_call(b, run_embed, plan, OD_OPERANDS, data));
    return od_fused_end(b, 0, table->bytes, table->number);
}
