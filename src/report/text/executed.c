/* The table of executed schedules: a line for each budget and planner, and the verdict on the
 * planners in words. */
#include "base/arena.h"
#include "base/fail.h"
#include "report/text/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LONGER 4 /* times the turns give intervals of half the width */

/* The verdict on the fastest planner of a budget that is no baseline, against fbs-best. */
enum verdict { NONE, FASTER, SLOWER, SAME, UNSURE };

/* The table that is being made. A row without a planner is empty, between two budgets. */
struct executed_table {
    const struct vbs_compare *compare;
    struct vbs_arena arena;
    struct vbs_table_time time;
    struct vbs_form_unit unit;
    struct vbs_form_column columns[7];
    int n_columns, n_rows;
};

static const struct vbs_executed_row *executed_row(const struct vbs_compare *compare, int b, int p)
{
    return &compare->executed->rows[(size_t)b * (size_t)compare->n_planners + (size_t)p];
}

/* ---- Lines ---- */

static struct vbs_form_cell *add_column(struct executed_table *table, const char *top,
                                        const char *bottom)
{
    struct vbs_form_cell *cells =
        vbs_arena_alloc(&table->arena, (size_t)table->n_rows, sizeof *cells);

    table->columns[table->n_columns++] =
        (struct vbs_form_column){.top = top, .bottom = bottom, .cells = cells};
    return cells;
}

/* Writes "2.456+-0.012" with the larger half of the interval. */
static void set_executed(struct vbs_form_cell *cell, const struct vbs_table_time *form,
                         const struct vbs_executed_row *row)
{
    double half = fmax(row->high_us - row->per_sample_us, row->per_sample_us - row->low_us);
    size_t length;

    vbs_table_set_time(cell, form, "", row->per_sample_us);
    length = strlen(cell->text);
    if (half < 1e7 * form->us)
        snprintf(cell->text + length, sizeof cell->text - length, "+-%.*f", form->decimals,
                 half / form->us);
}

static void set_gain(struct vbs_form_cell *cell, const struct vbs_gain *gain)
{
    if (gain->percent == 0 && gain->low_percent == 0 && gain->high_percent == 0)
        strcpy(cell->text, "same");
    else
        vbs_table_set_gain(cell, gain);
}

/* Fills a line; without a schedule, or where it was not executed, with dashes. */
static void set_line(struct executed_table *table, int line, int b, int p)
{
    const struct vbs_compare *compare = table->compare;
    const struct vbs_compare_row *planned = vbs_form_row(compare, b, p);
    const struct vbs_executed_row *row = executed_row(compare, b, p);
    struct vbs_form_column *columns = table->columns;

    if (p == 0)
        vbs_table_set_budget(&columns[0].cells[line], compare, b, &table->unit);
    snprintf(columns[1].cells[line].text, sizeof columns[1].cells[line].text, "%s",
             vbs_planner_name(planned->planner));
    for (int i = 2; i < table->n_columns; i++)
        strcpy(columns[i].cells[line].text, "-");
    if (row->n_turns == 0) {
        if (planned->feasible)
            vbs_table_set_time(&columns[2].cells[line], &table->time, "", planned->per_sample_us);
        return;
    }
    vbs_table_set_time(&columns[2].cells[line], &table->time, "", row->predicted_us);
    set_executed(&columns[3].cells[line], &table->time, row);
    if (row->predicted_us > 0)
        snprintf(columns[4].cells[line].text, sizeof columns[4].cells[line].text, "%+.1f%%",
                 100 * (row->per_sample_us / row->predicted_us - 1));
    set_gain(&columns[5].cells[line], &row->gain_over_fbs);
    set_gain(&columns[6].cells[line], &row->gain_over_fbs_best);
}

static bool fill(struct executed_table *table)
{
    const struct vbs_compare *compare = table->compare;
    int line = 0;

    table->n_rows = compare->n_budgets * (compare->n_planners + 1) - 1;
    if (!add_column(table, "memory", table->unit.name) || !add_column(table, "", "planner") ||
        !add_column(table, "time", "predicted") || !add_column(table, "time", "executed") ||
        !add_column(table, "off by", "") || !add_column(table, "gain over", "fbs") ||
        !add_column(table, "gain over", "fbs-best"))
        return false;
    for (int b = 0; b < compare->n_budgets; b++, line++)
        for (int p = 0; p < compare->n_planners; p++)
            set_line(table, line++, b, p);
    return true;
}

/* Returns the row of some planner whose schedule was executed at budget b, or null. */
static const struct vbs_executed_row *any_executed(const struct vbs_compare *compare, int b)
{
    for (int p = 0; p < compare->n_planners; p++)
        if (executed_row(compare, b, p)->n_turns > 0)
            return executed_row(compare, b, p);
    return NULL;
}

/* ---- The verdict ---- */

static enum verdict judge(const struct vbs_gain *gain)
{
    if (!isfinite(gain->low_percent) || !isfinite(gain->high_percent))
        return NONE;
    if (gain->low_percent == 0 && gain->high_percent == 0)
        return SAME;
    return gain->low_percent > 0 ? FASTER : gain->high_percent < 0 ? SLOWER : UNSURE;
}

/* Finds the planner of budget b, none of the baselines, whose executed gain over fbs-best is the
 * highest by the low end of its interval, the first of equals; -1: there is none. */
static int find_best(const struct vbs_compare *compare, int b)
{
    double highest = -HUGE_VAL;
    int best = -1;

    for (int p = 0; p < compare->n_planners; p++) {
        const struct vbs_executed_row *row = executed_row(compare, b, p);

        if (row->n_turns > 0 && !vbs_planner_is_baseline(compare->planners[p]) &&
            row->gain_over_fbs_best.low_percent > highest) {
            highest = row->gain_over_fbs_best.low_percent;
            best = p;
        }
    }
    return best;
}

static void add_budget(struct vbs_text *line, const struct executed_table *table, int b)
{
    struct vbs_form_cell cell;

    vbs_table_set_budget(&cell, table->compare, b, &table->unit);
    vbs_text_addf(line, "%s %s", cell.text, table->unit.name);
}

static void add_interval(struct vbs_text *line, const struct vbs_gain *gain)
{
    vbs_text_addf(line, "%+.1f%% to %+.1f%%", gain->low_percent, gain->high_percent);
}

/* Adds the budgets with a verdict, such as "6 MiB (dp-vbs+, +33.1% to +36.0%), 8 MiB (...)"; gives
 * their number, and in *last the last of them. */
static int add_budgets(struct vbs_text *line, const struct executed_table *table,
                       enum verdict verdict, int *last)
{
    const struct vbs_compare *compare = table->compare;
    int n = 0;

    for (int b = 0; b < compare->n_budgets; b++) {
        int p = find_best(compare, b);
        const struct vbs_gain *gain =
            p < 0 ? NULL : &executed_row(compare, b, p)->gain_over_fbs_best;

        if (!gain || judge(gain) != verdict)
            continue;
        vbs_text_add(line, n++ > 0 ? ", " : "");
        add_budget(line, table, b);
        if (verdict != SAME) {
            vbs_text_addf(line, " (%s, ", vbs_planner_name(compare->planners[p]));
            add_interval(line, gain);
            vbs_text_add(line, ")");
        }
        *last = b;
    }
    return n;
}

/* Adds a paragraph about the budgets with one verdict, if there are such. */
static void add_verdict(struct vbs_text *text, const struct executed_table *table,
                        enum verdict verdict, const char *words, int width)
{
    struct vbs_text line = {0};
    int last;

    vbs_text_add(&line, words);
    if (add_budgets(&line, table, verdict, &last) > 0)
        vbs_form_add_wrapped(text, line.data ? line.data : "", 2, width);
    text->failed = text->failed || line.failed;
    vbs_text_clear(&line);
}

/* Adds the budgets at which the machine cannot tell, and how to find out. */
static void add_unsure(struct vbs_text *text, const struct executed_table *table, int width)
{
    const struct vbs_compare *compare = table->compare;
    struct vbs_text line = {0}, budgets = {0};
    int last = 0, n = add_budgets(&budgets, table, UNSURE, &last);
    int p = find_best(compare, last);

    if (n == 1) {
        vbs_text_addf(&line, "the machine cannot tell %s from fbs-best at ",
                      vbs_planner_name(compare->planners[p]));
        add_budget(&line, table, last);
        vbs_text_add(&line, ": the 95% interval of the gain is ");
        add_interval(&line, &executed_row(compare, last, p)->gain_over_fbs_best);
    } else {
        vbs_text_addf(&line, "the machine cannot tell the fastest planner from fbs-best at %s",
                      budgets.data ? budgets.data : "");
    }
    if (compare->executed->seconds > 0)
        vbs_text_addf(&line, "; --execute %.0f would narrow %s",
                      ceil(LONGER * compare->executed->seconds),
                      n == 1 ? "it" : "these 95% intervals");
    if (n > 0)
        vbs_form_add_wrapped(text, line.data ? line.data : "", 2, width);
    text->failed = text->failed || line.failed || budgets.failed;
    vbs_text_clear(&line);
    vbs_text_clear(&budgets);
}

/* ---- The text ---- */

static void add_header(struct vbs_text *text, const struct executed_table *table, int width)
{
    const struct vbs_compare *compare = table->compare;
    int least = 0, most = 0;
    struct vbs_text line = {0};

    for (int i = 0; i < compare->n_budgets * compare->n_planners; i++) {
        int n = compare->executed->rows[i].n_turns;

        if (n > 0 && (least == 0 || n < least))
            least = n;
        if (n > most)
            most = n;
    }
    vbs_text_addf(&line, "executed on this machine, the schedules of a budget by turns: %d", least);
    if (most > least)
        vbs_text_addf(&line, " to %d", most);
    vbs_text_addf(&line, " turns, time per sample in %s", table->time.name);
    vbs_form_add_wrapped(text, line.data ? line.data : "", 2, width);
    vbs_text_add(text, "\n");
    text->failed = text->failed || line.failed;
    vbs_text_clear(&line);
}

/* The turns of all budgets, and the least and the most slowdown of those that are left out. */
struct turn_counts {
    int n, n_unusual, n_left_out;
    double least, most;
};

static struct turn_counts count_turns(const struct vbs_compare *compare)
{
    struct turn_counts counts = {.least = HUGE_VAL};

    for (int b = 0; b < compare->n_budgets; b++) {
        const struct vbs_executed_row *row = any_executed(compare, b);

        if (!row)
            continue;
        counts.n += row->n_turns + row->n_left_out;
        counts.n_unusual += row->n_unusual;
        counts.n_left_out += row->n_left_out;
        if (row->n_left_out > 0) {
            counts.least = fmin(counts.least, row->slowdown);
            counts.most = fmax(counts.most, row->slowdown);
        }
    }
    return counts;
}

/* Adds how many turns were in another state of the machine, and what becomes of them. */
static void add_states(struct vbs_text *text, const struct vbs_compare *compare, int width)
{
    const struct turn_counts counts = count_turns(compare);
    struct vbs_text line = {0};

    vbs_text_addf(&line,
                  "in %d of %d turns the last-level cache was slower or faster than when the "
                  "profile was measured",
                  counts.n_unusual + counts.n_left_out, counts.n);
    if (counts.n_left_out > 0)
        vbs_text_addf(&line, "; %d of them do not count, in which schedules took %.2f",
                      counts.n_left_out, counts.least);
    if (counts.most - counts.least >= 0.005)
        vbs_text_addf(&line, " to %.2f", counts.most);
    if (counts.n_left_out > 0)
        vbs_text_add(&line, " times as long");
    if (counts.n_unusual > 0)
        vbs_text_addf(&line, "; %d count, so that times are not those of the prediction's state",
                      counts.n_unusual);
    if (counts.n_unusual + counts.n_left_out > 0)
        vbs_form_add_wrapped(text, line.data ? line.data : "", 2, width);
    text->failed = text->failed || line.failed;
    vbs_text_clear(&line);
}

static void add_notes(struct vbs_text *text, const struct executed_table *table, int width)
{
    vbs_text_add(text, "\n");
    vbs_form_add_wrapped(text,
                         "+- to the further end of the 95% interval, ~ where that of a gain holds "
                         "0; gains are medians of the ratios within each turn, so that they can be "
                         "told more exactly than times; same: the same steps; off by: executed "
                         "above predicted; - not executed, or nothing to compare with",
                         2, width);
    vbs_text_add(text, "\n");
    add_states(text, table->compare, width);
    add_verdict(text, table, SAME, "no other steps than those of fbs-best at ", width);
    add_verdict(text, table, SLOWER,
                "slower than fbs-best as executed, with the 95% interval of the gain, at ", width);
    add_verdict(text, table, FASTER,
                "faster than fbs-best as executed, with the 95% interval of the gain, at ", width);
    add_unsure(text, table, width);
}

enum vbs_status vbs_compare_executed_table(struct vbs_ctx *ctx, const struct vbs_compare *compare,
                                           int columns, bool colour, char **text)
{
    int width = vbs_table_width(columns);
    struct executed_table table = {.compare = compare,
                                   .time = vbs_table_time_of(compare),
                                   .unit = vbs_form_budget_unit(compare)};
    struct vbs_text out = {0};
    bool filled = true;

    vbs_text_add(&out, "");
    if (compare->executed)
        filled = fill(&table);
    if (compare->executed && filled) {
        add_header(&out, &table, width);
        vbs_form_add_columns(&out, table.columns, table.n_columns, table.n_rows, width, colour);
        add_notes(&out, &table, width);
    }
    vbs_arena_clear(&table.arena);
    if (!filled || out.failed) {
        vbs_text_clear(&out);
        return vbs_no_memory(ctx);
    }
    *text = out.data;
    return VBS_OK;
}
