/*
 * Tables. What becomes of the whole numbers is computed when a session is opened, by the steps that
 * kernels of floats have, so that both give the same.
 */
#include "backend/onednn/kernels/table.h"

#include "backend/onednn/kernels/elementwise.h"
#include "backend/onednn/kernels/encode.h"
#include "backend/onednn/kernels/line.h"
#include "backend/onednn/kernels/nest.h"
#include "backend/onednn/rows/rows.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <stdlib.h>
#include <string.h>

#define AT_ONCE 16384 /* values that a thread looks up at once */

/* ---- making tables ---- */

static bool does_nothing(enum vbs_op op)
{
    return op == VBS_OP_DROPOUT || op == VBS_OP_IDENTITY;
}

bool od_table_possible(const struct od_build *b, const struct od_table_request *request)
{
    bool possible =
        vbs_storage_is_whole(request->from.storage) && vbs_storage_is_whole(request->to.storage) &&
        (!request->own || does_nothing(b->l->op) || vbs_op_class(b->l->op) == VBS_CLASS_UNARY);

    for (int i = request->first; i < request->end; i++)
        possible = possible && (does_nothing(b->l->fused[i].op) ||
                                vbs_op_class(b->l->fused[i].op) == VBS_CLASS_UNARY);
    return possible;
}

/* Appends the steps of the operators, in place on the values. */
static enum vbs_status append_operators(struct od_build *b, const struct od_table_request *request,
                                        int64_t n, float *values)
{
    dnnl_memory_desc_t md;
    dnnl_memory_t memory;

    VBS_TRY(od_describe_vector(b, n, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_FIXED, 0, values, &memory));
    if (request->own && !does_nothing(b->l->op))
        VBS_TRY(od_unary_steps(b, b->l->op, &b->l->attributes, &md, memory, memory));
    for (int i = request->first; i < request->end; i++)
        if (!does_nothing(b->l->fused[i].op))
            VBS_TRY(od_unary_steps(b, b->l->fused[i].op, &b->l->fused[i].attributes, &md, memory,
                                   memory));
    return VBS_OK;
}

/* Puts n values through the operators, in a kernel that nobody else sees. */
static enum vbs_status compute(struct od_build *b, const struct od_table_request *request,
                               int64_t n, float *values)
{
    struct od_kernel *outer = b->kernel, aside = {.n_steps = 0};
    enum vbs_status status;
    dnnl_status_t dnnl;

    b->kernel = &aside;
    status = append_operators(b, request, n, values);
    b->kernel = outer;
    if (status == VBS_OK) {
        dnnl = od_kernel_execute(b->session, &aside);
        status = dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "making a table");
    }
    od_kernel_release(&aside);
    return status;
}

enum vbs_status od_table_make(struct od_build *b, const struct od_table_request *request,
                              const float *value, const uint8_t **table, uint8_t *entry)
{
    const struct od_row_loops *rows = od_rows();
    uint8_t whole[OD_TABLE + 1] = {0}, *made = NULL;
    float *values = od_alloc((OD_TABLE + 1) * (int64_t)sizeof *values);
    enum vbs_status status = values ? VBS_OK : vbs_no_memory(b->ctx);

    for (int i = 0; i < OD_TABLE; i++)
        whole[i] = (uint8_t)i;
    if (status == VBS_OK) {
        rows->decode(&request->from, whole, OD_TABLE, values);
        values[OD_TABLE] = value ? *value : 0;
        status = compute(b, request, OD_TABLE + 1, values);
    }
    if (status == VBS_OK) {
        made = vbs_arena_alloc(&b->session->core.arena, OD_TABLE, sizeof *made);
        status = made ? VBS_OK : vbs_no_memory(b->ctx);
    }
    if (status == VBS_OK) {
        uint8_t encoded[OD_TABLE + 1];

        rows->encode(&request->to, values, OD_TABLE + 1, encoded);
        memcpy(made, encoded, OD_TABLE);
        *table = memcmp(made, whole, OD_TABLE) == 0 ? NULL : made;
        if (value)
            *entry = encoded[OD_TABLE];
    }
    free(values);
    return status;
}

/* ---- looking up ---- */

struct table_plan {
    const uint8_t *table;
    int64_t n;
};

struct table_job {
    const struct table_plan *plan;
    const struct od_row_loops *rows;
    const uint8_t *from;
    uint8_t *to;
};

static void look_up(void *self, int64_t part)
{
    const struct table_job *j = self;
    int64_t first = part * AT_ONCE, left = j->plan->n - first;

    int64_t n = left < AT_ONCE ? left : AT_ONCE;

    if (j->plan->table)
        j->rows->map(j->plan->table, j->from + first, n, j->to + first);
    else if (j->from != j->to)
        memcpy(j->to + first, j->from + first, (size_t)n);
}

static bool run_table(const void *plan, float *const *data)
{
    const struct table_plan *p = plan;
    struct table_job job = {
        .plan = p, .rows = od_rows(), .from = (void *)data[1], .to = (void *)data[0]};

    /* A value costs about an eighth of that of a copied float. */
    od_parallel((p->n + AT_ONCE - 1) / AT_ONCE, p->n / 8, look_up, &job);
    return true;
}

enum vbs_status od_table_step(struct od_build *b, const uint8_t *table, int64_t n,
                              dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_t data[] = {to, from};
    struct table_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);

    if (!plan)
        return vbs_no_memory(b->ctx);
    *plan = (struct table_plan){.table = table, .n = n};
    return od_kernel_call(b, run_table, plan, 2, data);
}

/* ---- tails ---- */

void od_tail_find(const struct od_build *b, int first, struct od_tail *tail)
{
    const struct vbs_encoding *out = &od_stored_of(b, b->l->n_inputs)->encoding;

    *tail = (struct od_tail){.encoding = *out, .end = b->l->n_fused};
    for (int at = first; at < b->l->n_fused; at++) {
        struct od_table_request left = {.to = *out, .end = b->l->n_fused};
        struct vbs_encoding rounding;
        int n = vbs_layer_rounding(b->l, at, &rounding);
        bool table, lines;

        if (n == 0)
            continue;
        /* The operators behind see the whole numbers themselves. */
        left.from = (struct vbs_encoding){.storage = rounding.storage, .scale = 1};
        left.first = at + n;
        table = od_table_possible(b, &left);
        if (!table && vbs_layer_turns_back(b->l, left.first, &rounding)) {
            left.from = rounding;
            left.first++;
        }
        lines = !table && od_line_possible(b, &left);
        if (table || lines)
            *tail = (struct od_tail){.encoding = rounding, .end = at, .lines = lines, .left = left};
        return;
    }
}

enum vbs_status od_tail_init(struct od_build *b, int first, struct od_tail *tail)
{
    od_tail_find(b, first, tail);
    if (tail->left.end == 0)
        return VBS_OK;
    return tail->lines ? od_line_make(b, &tail->left, &tail->line)
                       : od_table_make(b, &tail->left, NULL, &tail->table, NULL);
}

enum vbs_status od_tail_step(struct od_build *b, const struct od_tail *tail)
{
    dnnl_memory_t memory;

    if (!tail->table && !tail->line)
        return VBS_OK;
    VBS_TRY(od_stored_memory(b, b->l->n_inputs, &memory));
    if (tail->line)
        return od_line_step(b, tail->line, memory, memory);
    return od_table_step(b, tail->table, b->batch * od_stored_of(b, b->l->n_inputs)->bytes, memory,
                         memory);
}
