/*
 * The tables of dp-vbs while they are solved: what table.c, which fills them, and reasons.c, which
 * explains them, share. table.c has the recurrences.
 */
#ifndef VBS_PLAN_TABLE_CELLS_H
#define VBS_PLAN_TABLE_CELLS_H

#include "plan/table/table.h"

#include <stdbool.h>

/* The tables of one chain. The entries of (i, j, b), one for each size of memory, are a row (see
 * vbs_table_row). */
struct tables {
    const struct vbs_chain *chain;
    int64_t *opt, *exact;
    uint16_t *first;          /* the b1 of the least OPT */
    uint16_t *whole;          /* the k of the least EXACT, the paper's aux1 */
    struct tables **branches; /* [item][branch], null for a layer */
};

/* A solve for all budgets up to tot. */
struct table_work {
    struct vbs_ctx *ctx;
    const struct vbs_task *task;
    int64_t tot;            /* largest memory, in steps */
    const int64_t *nothing; /* [tot + 1] zeros: the row of no layers and of no samples */
    int64_t *ticks;         /* memory of the tables of all chains */
    uint16_t *choices;
    size_t n_taken;          /* entries in use */
    struct vbs_arena arena;  /* memory of all else */
    struct vbs_arena tables; /* memory of ticks and choices, in one block */
};

/* Gives where the row (i, j, b) begins; pairs are stored j by j. */
static inline size_t vbs_table_row(const struct table_work *work, int i, int j, int b)
{
    size_t pair = (size_t)j * ((size_t)j + 1) / 2 + (size_t)i;

    return (pair * (size_t)work->task->request + (size_t)b - 1) * ((size_t)work->tot + 1);
}

static inline const int64_t *vbs_table_opt(const struct table_work *work,
                                           const struct tables *tables, int i, int j, int b)
{
    if (i > j || b == 0)
        return work->nothing;
    return &tables->opt[vbs_table_row(work, i, j, b)];
}

static inline const int64_t *vbs_table_exact(const struct table_work *work,
                                             const struct tables *tables, int i, int j, int b)
{
    return &tables->exact[vbs_table_row(work, i, j, b)];
}

/* Explains the plan of a question, or its part, from tables that reach up to its memory at least.
 * VBS_NOT_FOUND: there is no such part. */
enum vbs_status vbs_table_reasons(struct vbs_reasons *reasons, const struct table_work *work,
                                  const struct tables *tables,
                                  const struct vbs_question *question) VBS_MUST_CHECK;

#endif
