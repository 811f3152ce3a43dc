/* The gain table that people read on a terminal. */
#include "base/arena.h"
#include "base/fail.h"
#include "report/form.h"
#include "report/noise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH      100 /* columns of the terminal */
#define NAME_LIMIT 80  /* characters of a name that is shown */

/* VBS Table II gives the largest gain below 30 and above 35 of its MB, which are MiB. */
#define LOW_BYTES  (INT64_C(30) << 20)
#define HIGH_BYTES (INT64_C(35) << 20)

#define LATE 1.000000001 /* times the bound; below it is rounding */

/* In which unit and how exactly times are shown: four figures of the longest. */
struct time_form {
    const char *name;
    double us;
    int decimals;
};

static struct time_form choose_time_form(const struct vbs_compare *compare)
{
    struct time_form form = {"us", 1, 0};
    double longest = 0;

    for (int i = 0; i < compare->n_budgets * compare->n_planners; i++)
        longest = fmax(longest, compare->rows[i].per_sample_us);
    if (longest >= 1e6)
        form = (struct time_form){"s", 1e6, 0};
    else if (longest >= 1e3 || longest == 0)
        form = (struct time_form){"ms", 1e3, 0};
    for (double least = 1000 * form.us; form.decimals < 3 && longest < least; least /= 10)
        form.decimals++;
    return form;
}

static void set_time(struct vbs_form_cell *cell, const struct time_form *form, const char *mark,
                     double us)
{
    if (us < 1e7 * form->us)
        snprintf(cell->text, sizeof cell->text, "%s%.*f", mark, form->decimals, us / form->us);
    else
        snprintf(cell->text, sizeof cell->text, "%s%.2e", mark, us / form->us);
}

static void set_percent(struct vbs_form_cell *cell, double percent)
{
    if (!isfinite(percent))
        strcpy(cell->text, "-");
    else if (fabs(percent) < 1e5)
        /* Adding zero turns what would be printed as -0.0 into 0.0. */
        snprintf(cell->text, sizeof cell->text, "%.1f%%", round(10 * percent) / 10 + 0.0);
    else
        snprintf(cell->text, sizeof cell->text, "%.0e%%", percent);
}

/* "12.3+-0.4%", with a ~ before it when it may as well be 0; the larger half of the interval. */
static void set_gain(struct vbs_form_cell *cell, const struct vbs_gain *gain)
{
    double half = fmax(gain->high_percent - gain->percent, gain->percent - gain->low_percent);
    bool noise = gain->low_percent <= 0 && gain->high_percent >= 0;

    if (!isfinite(half) || half >= 1e5 || fabs(gain->percent) >= 1e5)
        set_percent(cell, gain->percent);
    else
        snprintf(cell->text, sizeof cell->text, "%s%.1f+-%.1f%%", noise ? "~" : "",
                 round(10 * gain->percent) / 10 + 0.0, half);
}

static bool ties(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* The columns in the making. */
struct table {
    const struct vbs_compare *compare;
    struct vbs_arena arena;
    struct vbs_form_column *columns;
    int n_columns;
    struct time_form time;
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

    for (int b = 0; cells && b < compare->n_budgets; b++) {
        int64_t bytes = compare->budgets[b];

        /* A double has no room for every whole number. */
        if (unit.decimals == 0)
            snprintf(cells[b].text, sizeof cells[b].text, "%lld", (long long)(bytes / unit.bytes));
        else
            snprintf(cells[b].text, sizeof cells[b].text, "%.*f", unit.decimals,
                     (double)bytes / (double)unit.bytes);
    }
    return cells != NULL;
}

static bool add_bounds(struct table *table)
{
    const struct vbs_compare *compare = table->compare;
    struct vbs_form_cell *cells = add_column(table, "lower", "bound");

    for (int b = 0; cells && b < compare->n_budgets; b++) {
        if (isfinite(compare->bound_us[b]))
            set_time(&cells[b], &table->time, "", compare->bound_us[b] / (double)compare->request);
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
            strcpy(cells[b].text, "-");
            continue;
        }
        cells[b].strong =
            ties(row->per_sample_us, vbs_form_fastest(compare, b, false)->per_sample_us);
        set_time(&cells[b], &table->time,
                 cells[b].strong                  ? "*"
                 : row->noise == VBS_NOISE_WITHIN ? "~"
                                                  : "",
                 row->per_sample_us);
    }
    return cells != NULL;
}

enum figure { GAIN_FBS, GAIN_FBS_BEST, GAP, BATCHES, OF_PLANNER };

/* The gap that the row itself has is to the bound that its planner proved; others may know better.
 */
static double gap_percent(const struct vbs_compare *compare, const struct vbs_compare_row *row,
                          int b)
{
    return vbs_form_gap_percent(row->per_sample_us * (double)compare->request,
                                compare->bound_us[b]);
}

static void set_figure(struct vbs_form_cell *cell, const struct vbs_compare *compare, int b,
                       const struct vbs_compare_row *row, enum figure figure)
{
    switch (figure) {
    case GAIN_FBS:
        set_gain(cell, &row->gain_over_fbs);
        break;
    case GAIN_FBS_BEST:
        set_gain(cell, &row->gain_over_fbs_best);
        break;
    case GAP:
        set_percent(cell, gap_percent(compare, row, b));
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

/* A column about the plan that a row is judged by: the fastest of ours. */
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

static bool fill_columns(struct table *table)
{
    const struct vbs_compare *compare = table->compare;
    bool filled;
    int n_times;

    table->columns =
        vbs_arena_alloc(&table->arena, (size_t)compare->n_planners + 7, sizeof *table->columns);
    filled = table->columns && add_budgets(table) && add_bounds(table);
    for (int p = 0; p < compare->n_planners && filled; p++)
        filled = add_planner(table, p);
    n_times = table->n_columns;
    if (table->n_ours > 1)
        filled = filled && add_figure(table, "best", "planner", OF_PLANNER);
    if (table->n_ours > 0)
        filled = filled && add_figure(table, "gain over", "fbs", GAIN_FBS) &&
                 add_figure(table, "gain over", "fbs-best", GAIN_FBS_BEST) &&
                 add_figure(table, "above", "bound", GAP) &&
                 add_figure(table, "", "batches", BATCHES);
    if (filled)
        table->columns[n_times].begins_group = true;
    return filled;
}

/* Ends the paragraph in line: wrapped into text, and line is empty again. */
static void end_paragraph(struct vbs_text *text, struct vbs_text *line)
{
    if (line->length > 0)
        vbs_form_add_wrapped(text, line->data, 2, WIDTH);
    text->failed = text->failed || line->failed;
    vbs_text_clear(line);
}

static void add_part(struct vbs_text *line, const char **separator, const char *part)
{
    if (part[0] == '\0')
        return;
    vbs_text_add(line, *separator);
    vbs_text_add_visible(line, part, NAME_LIMIT);
    *separator = ", ";
}

/* A line about a profile; nothing when nothing is known about it. */
static void add_circumstances(struct vbs_text *text, const char *verb, int64_t id,
                              const struct vbs_circumstances *from)
{
    struct vbs_text line = {0};
    const char *separator = " ";
    char number[48];

    vbs_text_add(&line, verb);
    add_part(&line, &separator, from->library[0] ? from->library : from->backend);
    add_part(&line, &separator, from->device);
    snprintf(number, sizeof number, "%d %s", from->threads,
             from->threads == 1 ? "thread" : "threads");
    add_part(&line, &separator, from->threads > 0 ? number : "");
    add_part(&line, &separator, from->date);
    snprintf(number, sizeof number, "profile %lld", (long long)id);
    add_part(&line, &separator, id > 0 ? number : "");
    if (separator[0] == ' ')
        line.length = 0;
    end_paragraph(text, &line);
}

static void add_header(struct vbs_text *text, const struct table *table)
{
    const struct vbs_compare *compare = table->compare;
    bool modelled = strcmp(compare->circumstances.backend, "analytic") == 0;
    struct vbs_text line = {0};

    if (compare->model[0])
        vbs_text_add_visible(&line, compare->model, NAME_LIMIT);
    else
        vbs_text_add(&line, "unnamed network");
    if (compare->circumstances.input[0]) {
        vbs_text_add(&line, " [");
        vbs_text_add_visible(&line, compare->circumstances.input, NAME_LIMIT);
        vbs_text_add(&line, "]");
    }
    vbs_text_addf(&line, ", request of %lld %s, io %s (inputs and outputs %s the budget)",
                  (long long)compare->request, compare->request == 1 ? "sample" : "samples",
                  vbs_io_word(compare->io), compare->io == VBS_IO_EXTERNAL ? "outside" : "inside");
    if (compare->latency_bound_us > 0)
        vbs_text_addf(&line, ", no sample waits longer than %.6g ms",
                      compare->latency_bound_us / 1e3);
    end_paragraph(text, &line);
    add_circumstances(text, modelled ? "modelled by" : "measured with", compare->profile_id,
                      &compare->circumstances);
    if (!compare->self_judged)
        add_circumstances(text, "judged by", compare->judge_id, &compare->judge);
    vbs_text_addf(text, "\n  time per sample in %s\n\n", table->time.name);
}

/* As the table rounds it: 0.04 of a percent is none. */
static bool is_gain(double percent)
{
    return round(10 * percent) > 0;
}

/* The largest gains over both baselines among the budgets from..to. */
struct best_gain {
    struct vbs_gain over[2]; /* fbs, fbs-best; percent is not a number when there is none */
    int64_t at_bytes[2];
};

static struct best_gain find_best_gain(const struct vbs_compare *compare, int64_t from_bytes,
                                       int64_t to_bytes)
{
    struct best_gain best = {.over = {{.percent = NAN}, {.percent = NAN}}};

    for (int b = 0; b < compare->n_budgets; b++) {
        const struct vbs_compare_row *row = vbs_form_fastest(compare, b, true);

        if (!row || compare->budgets[b] < from_bytes || compare->budgets[b] > to_bytes)
            continue;
        for (int i = 0; i < 2; i++) {
            const struct vbs_gain *gain = i == 0 ? &row->gain_over_fbs : &row->gain_over_fbs_best;

            if (isfinite(gain->percent) && !(gain->percent <= best.over[i].percent)) {
                best.over[i] = *gain;
                best.at_bytes[i] = compare->budgets[b];
            }
        }
    }
    return best;
}

static void add_gains(struct vbs_text *line, const char *where, const struct best_gain *best)
{
    static const char *const BASELINES[] = {"fbs", "fbs-best"};
    char bytes[24];

    for (int i = 0; i < 2; i++) {
        struct vbs_form_cell cell;

        vbs_text_add(line, i == 0 ? where : ", ");
        set_gain(&cell, &best->over[i]);
        if (!isfinite(best->over[i].percent))
            vbs_text_addf(line, "no comparison with %s", BASELINES[i]);
        else if (!is_gain(best->over[i].percent))
            vbs_text_addf(line, "no gain over %s", BASELINES[i]);
        else
            vbs_text_addf(line, "%s over %s (%s)", cell.text, BASELINES[i],
                          vbs_format_bytes(best->at_bytes[i], bytes, sizeof bytes));
    }
}

/* The largest gains; by the ranges of VBS Table II where the budgets lie in both. */
static void add_summary(struct vbs_text *text, const struct table *table)
{
    const struct vbs_compare *compare = table->compare;
    struct best_gain low = find_best_gain(compare, 0, LOW_BYTES - 1);
    struct best_gain high = find_best_gain(compare, HIGH_BYTES + 1, VBS_MAX_BYTES);
    struct best_gain all = find_best_gain(compare, 0, VBS_MAX_BYTES);
    struct vbs_text line = {0};

    if (!isfinite(all.over[0].percent) && !isfinite(all.over[1].percent))
        return;
    vbs_text_add(&line, "largest gain");
    if (compare->budgets[0] < LOW_BYTES && compare->budgets[compare->n_budgets - 1] > HIGH_BYTES) {
        add_gains(&line, " below 30 MiB: ", &low);
        add_gains(&line, "; above 35 MiB: ", &high);
    } else {
        add_gains(&line, ": ", &all);
    }
    end_paragraph(text, &line);
}

static void add_ours(struct vbs_text *line, const struct table *table)
{
    const struct vbs_compare *compare = table->compare;

    if (table->n_ours > 1) {
        vbs_text_add(line, "the best planner, the fastest that is no baseline");
        return;
    }
    for (int p = 0; p < compare->n_planners; p++)
        if (!vbs_compare_is_baseline(compare->planners[p]))
            vbs_text_add(line, vbs_planner_name(compare->planners[p]));
}

/* True when some gain that the table shows is below 0. */
static bool has_loss(const struct vbs_compare *compare)
{
    for (int b = 0; b < compare->n_budgets; b++) {
        const struct vbs_compare_row *row = vbs_form_fastest(compare, b, true);

        if (row && (round(10 * row->gain_over_fbs.percent) < 0 ||
                    round(10 * row->gain_over_fbs_best.percent) < 0))
            return true;
    }
    return false;
}

static void add_legend(struct vbs_text *text, const struct table *table)
{
    const struct vbs_compare *compare = table->compare;
    bool noisy = compare->intervals != VBS_INTERVALS_NONE;
    struct vbs_text line = {0};

    vbs_text_addf(&line,
                  "* fastest of the row;%s - nothing fits or nothing to compare with; lower bound: "
                  "no schedule in that memory takes less",
                  noisy ? " ~ slower than that, but within noise of it;" : "");
    end_paragraph(text, &line);
    if (table->n_ours == 0)
        return;
    vbs_text_addf(&line,
                  "gain: percent less time per sample%s than fbs (the largest uniform batch that "
                  "fits) and fbs-best (the fastest uniform batch that fits%s)%s; gains, percent "
                  "above bound and batch sizes are those of ",
                  has_loss(compare) ? " (below 0: more)" : "",
                  compare->self_judged ? "" : ", by the first profile",
                  noisy ? ", +- to the further end of its 95% interval, ~ where that holds 0" : "");
    add_ours(&line, table);
    end_paragraph(text, &line);
}

/* From which budget on each planner works, where some row lacks one. */
static void add_least(struct vbs_text *text, const struct vbs_compare *compare)
{
    struct vbs_text line = {0};
    const char *separator = "least memory: ";
    char least[VBS_FORM_US_SIZE];

    for (int p = 0; p < compare->n_planners; p++) {
        const struct vbs_compare_row *row = vbs_form_row(compare, 0, p);

        if (row->feasible)
            continue;
        vbs_text_addf(&line, "%s%s ", separator, vbs_planner_name(row->planner));
        if (row->least_bytes < INT64_MAX)
            vbs_text_add(&line, vbs_form_bytes_up(row->least_bytes, least, sizeof least));
        else
            vbs_text_addf(&line, "none that answers within %.6g us, but one within %s us",
                          compare->latency_bound_us, vbs_form_us_up(row->least_latency_us, least));
        separator = ", ";
    }
    end_paragraph(text, &line);
}

/* A bound is kept by the times that were planned with; what becomes of it by the judge's. */
static void add_latency(struct vbs_text *text, const struct vbs_compare *compare)
{
    struct vbs_text line = {0};
    double longest_us = 0;
    int n = 0, n_late = 0;

    for (int i = 0; i < compare->n_budgets * compare->n_planners; i++) {
        n += compare->rows[i].feasible;
        n_late += compare->rows[i].latency_us > LATE * compare->latency_bound_us;
        longest_us = fmax(longest_us, compare->rows[i].latency_us);
    }
    if (compare->latency_bound_us > 0 && n_late > 0)
        vbs_text_addf(&line,
                      "by the judge's times %d of %d schedules have a sample wait longer, up to "
                      "%.6g ms",
                      n_late, n, longest_us / 1e3);
    end_paragraph(text, &line);
}

/* True when something fits somewhere. */
static bool is_feasible(const struct vbs_compare *compare)
{
    for (int b = 0; b < compare->n_budgets; b++)
        if (vbs_form_fastest(compare, b, false))
            return true;
    return false;
}

/* What the intervals hold, and what they do not. */
static void add_noise(struct vbs_text *text, const struct vbs_compare *compare)
{
    static const char *const SOURCES[] = {
        [VBS_INTERVALS_ROWS] = "intervals of the medians",
        [VBS_INTERVALS_SAMPLES] = "samples behind the medians",
    };
    struct vbs_text line = {0};

    if (compare->intervals != VBS_INTERVALS_NONE)
        vbs_text_addf(&line,
                      "intervals show the noise within one run of the measurement (%d draws from "
                      "the %s), not what differs from run to run",
                      VBS_NOISE_REPLICATES, SOURCES[compare->intervals]);
    else if (is_feasible(compare) && strcmp(compare->judge.backend, "analytic") != 0)
        vbs_text_add(&line, "times are taken as exact: the profile has no intervals of them");
    end_paragraph(text, &line);
}

/* What a reader must know before quoting a gain. */
static void add_caution(struct vbs_text *text, const struct vbs_compare *compare)
{
    struct vbs_text line = {0};

    if (strcmp(compare->judge.backend, "analytic") == 0)
        vbs_text_add(&line, "times are modelled, not measured");
    else if (compare->self_judged)
        vbs_text_add(&line, "planned and judged on the same measurements: a part of each gain may "
                            "be the choice among noisy numbers; a second, independent profile as "
                            "judge tells");
    else
        vbs_text_add(&line, "planned on the first profile, judged by the second: luck in the "
                            "first does not count");
    end_paragraph(text, &line);
    add_noise(text, compare);
}

static int count_ours(const struct vbs_compare *compare)
{
    int n = 0;

    for (int p = 0; p < compare->n_planners; p++)
        n += !vbs_compare_is_baseline(compare->planners[p]);
    return n;
}

enum vbs_status vbs_compare_table(struct vbs_ctx *ctx, const struct vbs_compare *compare,
                                  bool colour, char **text)
{
    struct table table = {
        .compare = compare,
        .time = choose_time_form(compare),
        .n_ours = count_ours(compare),
    };
    struct vbs_text out = {0};
    bool filled = fill_columns(&table);

    if (filled) {
        add_header(&out, &table);
        vbs_form_add_columns(&out, table.columns, table.n_columns, compare->n_budgets, WIDTH,
                             colour);
        vbs_text_add(&out, "\n");
        if (table.n_ours > 0)
            add_summary(&out, &table);
        add_least(&out, compare);
        add_latency(&out, compare);
        add_caution(&out, compare);
        vbs_text_add(&out, "\n");
        add_legend(&out, &table);
    }
    vbs_arena_clear(&table.arena);
    if (!filled || out.failed) {
        vbs_text_clear(&out);
        return vbs_no_memory(ctx);
    }
    *text = out.data;
    return VBS_OK;
}
