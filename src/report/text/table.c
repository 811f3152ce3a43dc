/* The gain table for a terminal. */
#include "base/arena.h"
#include "base/fail.h"
#include "report/compare/compare.h"
#include "report/text/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool ties(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* The table that is being made. */
struct table {
    const struct vbs_compare *compare;
    struct vbs_arena arena;
    struct vbs_form_column *columns;
    int n_columns;
    struct vbs_table_time time;
    int n_ours; /* planners that are no baselines */
};

static struct vbs_form_cell *add_column(struct table *table, const char *top, const char *bottom)
{
    struct vbs_form_cell *cells =
        vbs_arena_alloc(&table->arena, (size_t)table->compare->n_budgets, sizeof *cells);

    table->columns[table->n_columns++] =
        (struct vbs_form_column){.top = top, .bottom = bottom, .cells = cells};
    return cells;
}

static bool add_budgets(struct table *table)
{
    const struct vbs_compare *compare = table->compare;
    struct vbs_form_unit unit = vbs_form_budget_unit(compare);
    struct vbs_form_cell *cells = add_column(table, "memory", unit.name);

    for (int b = 0; cells && b < compare->n_budgets; b++)
        vbs_table_set_budget(&cells[b], compare, b, &unit);
    return cells != NULL;
}

static bool add_bounds(struct table *table)
{
    const struct vbs_compare *compare = table->compare;
    struct vbs_form_cell *cells = add_column(table, "lower", "bound");

    for (int b = 0; cells && b < compare->n_budgets; b++) {
        if (isfinite(compare->bound_us[b]))
            vbs_table_set_time(&cells[b], &table->time, "",
                               compare->bound_us[b] / (double)compare->request);
        else
            strcpy(cells[b].text, "-");
    }
    return cells != NULL;
}

static bool add_planner(struct table *table, int p)
{
    const struct vbs_compare *compare = table->compare;
    struct vbs_form_cell *cells = add_column(table, "", vbs_planner_name(compare->planners[p]));

    for (int b = 0; cells && b < compare->n_budgets; b++) {
        const struct vbs_compare_row *row = vbs_form_row(compare, b, p);

        if (!row->feasible) {
            strcpy(cells[b].text, row->missing ? "..." : "-");
            continue;
        }
        cells[b].strong =
            ties(row->per_sample_us, vbs_form_fastest(compare, b, false)->per_sample_us);
        vbs_table_set_time(&cells[b], &table->time,
                           cells[b].strong                  ? "*"
                           : row->noise == VBS_NOISE_WITHIN ? "~"
                                                            : "",
                           row->per_sample_us);
    }
    return cells != NULL;
}

enum figure { GAIN_FBS, GAIN_FBS_BEST, GAIN, GAP, COPIED, CODED, BATCHES, OF_PLANNER };

/* Gives the gap of a row to the highest bound of its budget: the row's own gap is to the bound that
 * its planner proved, and other planners may have proved a higher one. */
static double gap_percent(const struct vbs_compare *compare, const struct vbs_compare_row *row,
                          int b)
{
    return vbs_form_gap_percent(row->per_sample_us * (double)compare->request,
                                compare->bound_us[b]);
}

/* Gives the gain over the fastest of the baselines, which is the least gain. */
static const struct vbs_gain *gain_over_fastest(const struct vbs_compare_row *row)
{
    const struct vbs_gain *least = vbs_gains_in(row, 0);

    for (int i = 1; i < VBS_N_BASELINES; i++)
        if (!isfinite(least->percent) || vbs_gains_in(row, i)->percent < least->percent)
            least = vbs_gains_in(row, i);
    return least;
}

/* The value is a mean, and so no whole number. */
static void set_bytes(struct vbs_form_cell *cell, double bytes)
{
    if (bytes > 0)
        vbs_format_bytes((int64_t)ceil(bytes), cell->text, sizeof cell->text);
    else
        strcpy(cell->text, "0");
}

static void set_figure(struct vbs_form_cell *cell, const struct vbs_compare *compare, int b,
                       const struct vbs_compare_row *row, enum figure figure)
{
    switch (figure) {
    case GAIN_FBS:
        vbs_table_set_gain(cell, &row->gain_over_fbs);
        break;
    case GAIN_FBS_BEST:
        vbs_table_set_gain(cell, &row->gain_over_fbs_best);
        break;
    case GAIN:
        vbs_table_set_gain(cell, gain_over_fastest(row));
        break;
    case COPIED:
        set_bytes(cell, (double)row->copied_bytes / (double)compare->request);
        break;
    case CODED:
        snprintf(cell->text, sizeof cell->text, "%d", row->n_coded);
        break;
    case GAP:
        vbs_table_set_percent(cell, gap_percent(compare, row, b));
        break;
    case BATCHES:
        if (row->min_batch == row->max_batch)
            snprintf(cell->text, sizeof cell->text, "%d", row->min_batch);
        else
            snprintf(cell->text, sizeof cell->text, "%d-%d", row->min_batch, row->max_batch);
        break;
    case OF_PLANNER:
        snprintf(cell->text, sizeof cell->text, "%s", vbs_planner_name(row->planner));
        break;
    }
}

/* Adds a column about the plan by which a budget is judged: the fastest of planners that are no
 * baselines. */
static bool add_figure(struct table *table, const char *top, const char *bottom, enum figure figure)
{
    struct vbs_form_cell *cells = add_column(table, top, bottom);

    for (int b = 0; cells && b < table->compare->n_budgets; b++) {
        const struct vbs_compare_row *row = vbs_form_fastest(table->compare, b, true);

        if (row)
            set_figure(&cells[b], table->compare, b, row, figure);
        else
            strcpy(cells[b].text, "-");
    }
    return cells != NULL;
}

/* Adds the batches, and the layers on coded weights where the profile has such algorithms. */
static bool add_batches(struct table *table)
{
    return (!table->compare->has_coded || add_figure(table, "coded", "layers", CODED)) &&
           add_figure(table, "", "batches", BATCHES);
}

static bool fill_columns(struct table *table)
{
    const struct vbs_compare *compare = table->compare;
    bool filled;
    int n_times;

    table->columns =
        vbs_arena_alloc(&table->arena, (size_t)compare->n_planners + 8, sizeof *table->columns);
    filled = table->columns && add_budgets(table) && add_bounds(table);
    for (int p = 0; p < compare->n_planners && filled; p++)
        filled = add_planner(table, p);
    n_times = table->n_columns;
    if (table->n_ours > 1)
        filled = filled && add_figure(table, "best", "planner", OF_PLANNER);
    if (table->n_ours > 0 && compare->weights == VBS_WEIGHTS_INCLUDED)
        filled = filled && add_figure(table, "gain over", "baselines", GAIN) &&
                 add_figure(table, "above", "bound", GAP) &&
                 add_figure(table, "copied", "/sample", COPIED) && add_batches(table);
    else if (table->n_ours > 0)
        filled = filled && add_figure(table, "gain over", "fbs", GAIN_FBS) &&
                 add_figure(table, "gain over", "fbs-best", GAIN_FBS_BEST) &&
                 add_figure(table, "above", "bound", GAP) && add_batches(table);
    if (filled)
        table->columns[n_times].begins_group = true;
    return filled;
}

static int count_ours(const struct vbs_compare *compare)
{
    int n = 0;

    for (int p = 0; p < compare->n_planners; p++)
        n += !vbs_planner_is_baseline(compare->planners[p]);
    return n;
}

enum vbs_status vbs_compare_table(struct vbs_ctx *ctx, const struct vbs_compare *compare,
                                  int columns, bool colour, char **text)
{
    int width = vbs_table_width(columns);
    struct table table = {
        .compare = compare,
        .time = vbs_table_time_of(compare),
        .n_ours = count_ours(compare),
    };
    struct vbs_text out = {0};
    bool filled = fill_columns(&table);

    if (filled) {
        vbs_table_add_header(&out, compare, table.time.name, width);
        vbs_form_add_columns(&out, table.columns, table.n_columns, compare->n_budgets, width,
                             colour);
        vbs_table_add_notes(&out, compare, table.n_ours, width);
    }
    vbs_arena_clear(&table.arena);
    if (!filled || out.failed) {
        vbs_text_clear(&out);
        return vbs_no_memory(ctx);
    }
    *text = out.data;
    return VBS_OK;
}
