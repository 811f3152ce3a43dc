/*
 * Explains the tables of dp-vbs: walks them as table.c does when it emits steps. A decision of OPT
 * chooses b1, one of EXACT the item that runs whole. All memory is whole steps of the table.
 */
#include "plan/table/cells.h"

#include "base/fail.h"

#include <math.h>

#define INFINITE VBS_TABLE_INFINITE

struct table_walk {
    struct vbs_reasons *to;
    const struct table_work *work;
    int64_t step_bytes;
    bool with_curves;
};

/* An entry (i, j, b, mem) of OPT or EXACT. */
struct table_entry {
    const struct tables *tables;
    int i, j, b;
    int64_t mem;
    int64_t planned; /* <= mem: that the plan was made with, just what its time needs */
};

/* A row of a table that is part of a candidate, moved by some steps of memory. */
struct row_part {
    const int64_t *row;
    int64_t by;
    struct vbs_part part;
};

static int64_t ticks_of(const struct row_part *parts, int n, int64_t mem)
{
    int64_t ticks = 0;

    for (int p = 0; p < n; p++) {
        if (mem < parts[p].by)
            return INFINITE;
        ticks += parts[p].row[mem - parts[p].by];
        if (ticks >= INFINITE)
            return INFINITE;
    }
    return ticks;
}

/* Adds a candidate whose parts are rows. late_ticks: candidates that take longer do not fit. */
static enum vbs_status add_rows(const struct table_walk *walk, enum vbs_choice choice, int at,
                                struct row_part *parts, int n, int64_t mem, int64_t late_ticks)
{
    const struct vbs_task *task = walk->to->task;
    struct vbs_candidate candidate = {.choice = choice,
                                      .at = at,
                                      .time_us = HUGE_VAL,
                                      .least_bytes = INT64_MAX,
                                      .needed_bytes = INT64_MAX};
    struct vbs_part plain[3];
    int64_t least = 0, needed, in = mem;

    while (least <= walk->work->tot &&
           (ticks_of(parts, n, least) >= INFINITE || ticks_of(parts, n, least) > late_ticks))
        least++;
    candidate.fits = least <= mem;
    if (least <= walk->work->tot) {
        in = candidate.fits ? mem : least;
        for (needed = least; ticks_of(parts, n, needed) > ticks_of(parts, n, in);)
            needed++;
        candidate.time_us = vbs_task_us(task, ticks_of(parts, n, in));
        candidate.least_bytes = least * walk->step_bytes;
        candidate.needed_bytes = needed * walk->step_bytes;
    }
    for (int p = 0; p < n; p++) {
        int64_t ticks = ticks_of(&parts[p], 1, in);

        plain[p] = parts[p].part;
        plain[p].times = 1;
        plain[p].beside_bytes = parts[p].by * walk->step_bytes;
        plain[p].time_us = ticks < INFINITE ? vbs_task_us(task, ticks) : HUGE_VAL;
    }
    return vbs_reasons_add(walk->to, &candidate, plain, n);
}

static int first_of(const struct table_entry *entry, int item)
{
    return vbs_item_first(&entry->tables->chain->items[item]);
}

static int last_of(const struct table_entry *entry, int item)
{
    return vbs_item_last(&entry->tables->chain->items[item]);
}

static struct row_part part_of(const struct table_entry *entry, int i, int j, int b,
                               const int64_t *row, int64_t by)
{
    return (struct row_part){
        row,
        by,
        {.first_layer = first_of(entry, i), .last_layer = last_of(entry, j), .samples = b}};
}

static struct vbs_decision decision_on(const struct table_walk *walk,
                                       const struct table_entry *entry)
{
    return (struct vbs_decision){.first_layer = first_of(entry, entry->i),
                                 .last_layer = last_of(entry, entry->j),
                                 .n_layers =
                                     vbs_chain_count(entry->tables->chain, entry->i, entry->j),
                                 .samples = entry->b,
                                 .memory_bytes = entry->mem * walk->step_bytes};
}

static int64_t steps_of(const struct table_walk *walk, int64_t bytes)
{
    return vbs_table_steps(walk->to->task, bytes);
}

/* Gives the number of memories at which a row falls, and lists them where points is not null. */
static int list_falls(const struct table_walk *walk, const int64_t *row,
                      struct vbs_frontier_point *points)
{
    int64_t before = INFINITE;
    int n = 0;

    for (int64_t mem = 0; mem <= walk->work->tot; mem++) {
        if (row[mem] >= before)
            continue;
        before = row[mem];
        if (points)
            points[n] = (struct vbs_frontier_point){mem * walk->step_bytes,
                                                    vbs_task_us(walk->to->task, row[mem])};
        n++;
    }
    return n;
}

/* Begins a decision about an entry of a row. */
static enum vbs_status begin(const struct table_walk *walk, int parent,
                             const struct vbs_decision *decision, const int64_t *row, int *index)
{
    struct vbs_frontier_point *points;
    int n;

    VBS_TRY(vbs_reasons_begin(walk->to, parent, decision, index));
    if (!walk->with_curves)
        return VBS_OK;
    n = list_falls(walk, row, NULL);
    points = vbs_arena_alloc(&walk->to->arena, (size_t)n + 1, sizeof *points);
    if (!points)
        return vbs_no_memory(walk->to->ctx);
    list_falls(walk, row, points);
    return vbs_reasons_curve(walk->to, *index, points, n);
}

static enum vbs_status explain_opt(const struct table_walk *walk, const struct table_entry *entry,
                                   int parent);

/* The algorithms of a layer, their memory rounded up. */
static enum vbs_status add_algorithms(const struct table_walk *walk,
                                      const struct table_entry *entry)
{
    const struct vbs_item *item = &entry->tables->chain->items[entry->i];
    const struct vbs_task *task = walk->to->task;
    const struct vbs_profile_row *rows;
    int n_rows;

    if (task->batch_index[entry->b] < 0)
        return VBS_OK;
    rows = vbs_profile_rows(task->profile, item->layer, task->batch_index[entry->b], &n_rows);
    for (int a = 0; a < n_rows; a++) {
        int64_t mem = steps_of(walk, entry->b * item->step_bytes + rows[a].ws_bytes);
        struct vbs_candidate candidate = {.choice = VBS_CHOICE_STEP,
                                          .at = rows[a].algorithm,
                                          .fits = mem <= entry->mem,
                                          .time_us = rows[a].time_us,
                                          .least_bytes = mem * walk->step_bytes,
                                          .needed_bytes = mem * walk->step_bytes};

        VBS_TRY(vbs_reasons_add(walk->to, &candidate, NULL, 0));
    }
    return VBS_OK;
}

/* Explains EXACT[k, k, b, mem], whose decision has begun. */
static enum vbs_status explain_item(const struct table_walk *walk, const struct table_entry *entry,
                                    int index)
{
    const struct vbs_item *item = &entry->tables->chain->items[entry->i];
    int64_t bytes = entry->b * item->step_bytes;
    const int64_t *row = vbs_table_exact(walk->work, entry->tables, entry->i, entry->i, entry->b);

    if (item->layer) {
        const struct vbs_profile_row *chosen = vbs_task_row(
            walk->to->task, item->layer, entry->b, bytes, entry->planned * walk->step_bytes);

        VBS_TRY(add_algorithms(walk, entry));
        return vbs_reasons_end(walk->to, index, VBS_CHOICE_STEP, chosen ? chosen->algorithm : -1);
    }
    VBS_TRY(add_rows(walk, VBS_CHOICE_BLOCK, first_of(entry, entry->i),
                     &(struct row_part){.row = row, .part = {.samples = entry->b}}, 1, entry->mem,
                     INT64_MAX));
    VBS_TRY(vbs_reasons_end(walk->to, index, VBS_CHOICE_BLOCK, first_of(entry, entry->i)));
    for (int branch = 0; branch < item->n_branches; branch++) {
        const struct tables *one = &entry->tables->branches[entry->i][branch];

        VBS_TRY(explain_opt(walk,
                            &(struct table_entry){one, 0, one->chain->n_items - 1, entry->b,
                                                  entry->mem - steps_of(walk, bytes),
                                                  entry->planned - steps_of(walk, bytes)},
                            index));
    }
    return VBS_OK;
}

/* Explains EXACT[i, j, b, mem]. */
static enum vbs_status explain_exact(const struct table_walk *walk, const struct table_entry *entry,
                                     int parent)
{
    const struct table_work *work = walk->work;
    const struct tables *tables = entry->tables;
    int i = entry->i, j = entry->j, b = entry->b, index, chosen;
    struct vbs_decision decision = decision_on(walk, entry);

    decision.is_exact = true;
    VBS_TRY(begin(walk, parent, &decision, vbs_table_exact(work, tables, i, j, b), &index));
    if (i == j)
        return explain_item(walk, entry, index);
    for (int k = i; k <= j; k++) {
        struct row_part parts[3];
        int n = 0;

        if (k > i)
            parts[n++] = part_of(entry, i, k - 1, b, vbs_table_opt(work, tables, i, k - 1, b), 0);
        parts[n++] = part_of(entry, k, k, b, vbs_table_exact(work, tables, k, k, b), 0);
        if (k < j)
            parts[n++] = part_of(entry, k + 1, j, b, vbs_table_opt(work, tables, k + 1, j, b), 0);
        VBS_TRY(add_rows(walk, VBS_CHOICE_PIVOT, first_of(entry, k), parts, n, entry->mem,
                         work->task->latency_ticks));
    }
    chosen = tables->whole[vbs_table_row(work, i, j, b) + (size_t)entry->planned];
    VBS_TRY(vbs_reasons_end(walk->to, index, VBS_CHOICE_PIVOT, first_of(entry, chosen)));
    if (vbs_table_exact(work, tables, i, j, b)[entry->mem] >= INFINITE)
        return VBS_OK;
    if (chosen > i)
        VBS_TRY(explain_opt(
            walk, &(struct table_entry){tables, i, chosen - 1, b, entry->mem, entry->planned},
            index));
    VBS_TRY(explain_exact(
        walk, &(struct table_entry){tables, chosen, chosen, b, entry->mem, entry->planned}, index));
    if (chosen == j)
        return VBS_OK;
    return explain_opt(
        walk, &(struct table_entry){tables, chosen + 1, j, b, entry->mem, entry->planned}, index);
}

/* Adds the ways to divide the samples of OPT[i, j, b, mem]. */
static enum vbs_status add_splits(const struct table_walk *walk, const struct table_entry *entry)
{
    const struct table_work *work = walk->work;
    const int64_t *cut = entry->tables->chain->cut_bytes;
    int i = entry->i, j = entry->j, b = entry->b;
    bool is_bounded = work->task->problem.io == VBS_IO_RESIDENT;

    for (int b1 = b; b1 >= 1; b1--) {
        struct row_part parts[2] = {
            part_of(entry, i, j, b1, vbs_table_exact(work, entry->tables, i, j, b1),
                    steps_of(walk, cut[i] * (b - b1))),
            part_of(entry, i, j, b - b1, vbs_table_opt(work, entry->tables, i, j, b - b1),
                    b == b1 ? 0 : steps_of(walk, cut[j + 1] * b1))};

        VBS_TRY(add_rows(walk, VBS_CHOICE_SPLIT, b1, parts, b == b1 ? 1 : 2, entry->mem,
                         is_bounded ? work->task->latency_ticks : INT64_MAX));
    }
    return VBS_OK;
}

/* Explains OPT[i, j, b, mem]. One sample cannot be divided, so that its OPT is its EXACT. */
static enum vbs_status explain_opt(const struct table_walk *walk, const struct table_entry *entry,
                                   int parent)
{
    const struct table_work *work = walk->work;
    const int64_t *cut = entry->tables->chain->cut_bytes;
    int i = entry->i, j = entry->j, b = entry->b, b1, index;
    struct vbs_decision decision = decision_on(walk, entry);

    if (b == 1)
        return explain_exact(walk, entry, parent);
    b1 = entry->tables->first[vbs_table_row(work, i, j, b) + (size_t)entry->planned];
    VBS_TRY(begin(walk, parent, &decision, vbs_table_opt(work, entry->tables, i, j, b), &index));
    VBS_TRY(add_splits(walk, entry));
    if (vbs_table_opt(work, entry->tables, i, j, b)[entry->mem] >= INFINITE)
        return vbs_reasons_end(walk->to, index, VBS_CHOICE_SPLIT, 0);
    VBS_TRY(vbs_reasons_end(walk->to, index, VBS_CHOICE_SPLIT, b1));
    VBS_TRY(explain_exact(walk,
                          &(struct table_entry){entry->tables, i, j, b1,
                                                entry->mem - steps_of(walk, cut[i] * (b - b1)),
                                                entry->planned - steps_of(walk, cut[i] * (b - b1))},
                          index));
    if (b1 == b)
        return VBS_OK;
    return explain_opt(walk,
                       &(struct table_entry){entry->tables, i, j, b - b1,
                                             entry->mem - steps_of(walk, cut[j + 1] * b1),
                                             entry->planned - steps_of(walk, cut[j + 1] * b1)},
                       index);
}

/* Finds the entry whose layers are those of the question. */
static bool find_entry(const struct tables *tables, const struct vbs_question *question,
                       struct table_entry *entry)
{
    const struct vbs_chain *chain = tables->chain;

    for (int i = 0; i < chain->n_items; i++) {
        for (int j = i; j < chain->n_items; j++)
            if (vbs_item_first(&chain->items[i]) == question->first_layer &&
                vbs_item_last(&chain->items[j]) == question->last_layer) {
                *entry = (struct table_entry){.tables = tables, .i = i, .j = j};
                return true;
            }
        for (int branch = 0; branch < chain->items[i].n_branches; branch++)
            if (find_entry(&tables->branches[i][branch], question, entry))
                return true;
    }
    return false;
}

/* Counts the cells of a row of each pair and number of samples, and fills them where cells is not
 * null. */
static void fill_row(const struct table_walk *walk, const struct table_entry *at,
                     struct vbs_cell *cells)
{
    const struct table_work *work = walk->work;
    const struct tables *tables = at->tables;
    const int64_t *opt = vbs_table_opt(work, tables, at->i, at->j, at->b);
    const int64_t *exact = vbs_table_exact(work, tables, at->i, at->j, at->b);
    size_t row = vbs_table_row(work, at->i, at->j, at->b);

    for (int64_t mem = 0; mem <= at->mem; mem++) {
        bool has_opt = opt[mem] < INFINITE, has_exact = exact[mem] < INFINITE;

        cells[mem] = (struct vbs_cell){
            .first_layer = first_of(at, at->i),
            .last_layer = last_of(at, at->j),
            .samples = at->b,
            .memory_bytes = mem * walk->step_bytes,
            .opt_us = has_opt ? vbs_task_us(work->task, opt[mem]) : HUGE_VAL,
            .exact_us = has_exact ? vbs_task_us(work->task, exact[mem]) : HUGE_VAL,
            .first_samples = has_opt ? tables->first[row + (size_t)mem] : 0,
            .pivot = has_exact ? first_of(at, tables->whole[row + (size_t)mem]) : 0};
    }
}

/* Counts the cells of a chain and its branches up to mem, and fills them where cells is not null.
 */
static int64_t list_cells(const struct table_walk *walk, const struct tables *tables, int64_t mem,
                          struct vbs_cell *cells)
{
    int n_items = tables->chain->n_items, r = walk->work->task->request;
    int64_t n = 0;

    for (int i = 0; i < n_items; i++)
        for (int j = i; j < n_items; j++)
            for (int b = 1; b <= r; b++, n += mem + 1)
                if (cells)
                    fill_row(walk, &(struct table_entry){tables, i, j, b, mem, mem}, cells + n);
    for (int k = 0; k < n_items; k++)
        for (int branch = 0; branch < tables->chain->items[k].n_branches; branch++)
            n += list_cells(walk, &tables->branches[k][branch], mem, cells ? cells + n : NULL);
    return n;
}

/* Adds the cells of one entry's row, or of all tables where entry is null. */
static enum vbs_status add_cells(const struct table_walk *walk, const struct tables *tables,
                                 const struct table_entry *entry, int64_t mem, bool with_cells)
{
    struct vbs_explanation *made = &walk->to->made;
    struct vbs_cell *cells;

    made->n_cells = entry ? mem + 1 : list_cells(walk, tables, mem, NULL);
    if (!with_cells)
        return VBS_OK;
    VBS_TRY(vbs_reasons_count(walk->to, made->n_cells));
    cells = vbs_arena_alloc(&walk->to->arena, (size_t)made->n_cells, sizeof *cells);
    if (!cells)
        return vbs_no_memory(walk->to->ctx);
    if (entry)
        fill_row(walk, entry, cells);
    else
        list_cells(walk, tables, mem, cells);
    made->cells = cells;
    return VBS_OK;
}

/* Gives the least memory with the same OPT, for which the plan was made. */
static int64_t least_equal(const struct table_entry *entry, const struct table_work *work)
{
    const int64_t *opt = vbs_table_opt(work, entry->tables, entry->i, entry->j, entry->b);
    int64_t mem = entry->mem;

    while (mem > 0 && opt[mem - 1] == opt[entry->mem])
        mem--;
    return mem;
}

enum vbs_status vbs_table_reasons(struct vbs_reasons *reasons, const struct table_work *work,
                                  const struct tables *tables, const struct vbs_question *question)
{
    struct table_walk walk = {reasons, work, reasons->task->options.table_bytes,
                              question->with_curves};
    struct table_entry entry = {tables, 0, tables->chain->n_items - 1, reasons->task->request,
                                0,      0};
    int64_t mem = question->memory_bytes / walk.step_bytes;

    if (!question->steps) {
        if (!find_entry(tables, question, &entry))
            return VBS_NOT_FOUND;
        entry.b = question->samples;
    }
    entry.mem = mem;
    entry.planned = least_equal(&entry, work);
    VBS_TRY(explain_opt(&walk, &entry, -1));
    VBS_TRY(vbs_chain_explain_order(reasons, tables->chain));
    return add_cells(&walk, tables, question->steps ? NULL : &entry, mem, question->with_cells);
}
