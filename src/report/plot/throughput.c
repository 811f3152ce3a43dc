/*
 * Throughput against memory: of comparisons, and of frontiers, which are drawn as comparisons at
 * every breakpoint. The template is plots/throughput.gp. The data has one block per panel: memory,
 * the limit by the lower bound, and one column per planner, all as samples per second, NaN where
 * nothing fits. Each budget has a line, the last one two. Where schedules were executed, three more
 * columns of each planner hold the executed rate and the ends of its interval.
 */
#include "base/fail.h"
#include "base/grow.h"
#include "report/common/common.h"
#include "report/plot/throughput.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_LIMIT 48 /* characters of a name in a title */
#define NOTE_LIMIT  72
#define MARKERS     40 /* on one curve; more would merge */

#define BOUND "bound" /* the series of the lower bound */

/* What is drawn. */
struct throughput_figure {
    const struct vbs_compare *const *compares;
    int n_compares;
    bool exact;       /* the budgets are all breakpoints of the curves */
    bool shows_bound; /* where one is known */
    bool executed;    /* some schedules were */
    struct vbs_gnuplot *picture;
};

/* The panel of one profile. */
struct panel {
    const struct throughput_figure *figure;
    const struct vbs_compare *compare;
    const char *unit;
    double unit_bytes;
    double memory_from, memory_to; /* in unit */
    bool logarithmic;              /* the memory axis */
    double weights;                /* in unit; 0: none inside */
    double weights_label;          /* in unit; 0: weights are excluded */
    double rate_from, rate_to;     /* samples per second; 0..0 when nothing fits */
};

static bool is_compared(const struct vbs_compare *compare, const struct vbs_planner *planner,
                        int *column)
{
    for (int p = 0; p < compare->n_planners; p++) {
        if (compare->planners[p] == planner) {
            *column = p;
            return true;
        }
    }
    return false;
}

/* Gives whether one of the first n comparisons has the planner. */
static bool is_shown(const struct vbs_compare *const *compares, int n,
                     const struct vbs_planner *planner)
{
    int column;

    for (int i = 0; i < n; i++)
        if (is_compared(compares[i], planner, &column))
            return true;
    return false;
}

/* Gives planner number index of those from outside, in the order of the comparisons; null: there
 * are fewer. */
static const struct vbs_planner *outside_at(const struct vbs_compare *const *compares,
                                            int n_compares, int index)
{
    for (int i = 0; i < n_compares; i++) {
        for (int p = 0; p < compares[i]->n_planners; p++) {
            const struct vbs_planner *planner = compares[i]->planners[p];

            if (vbs_planner_is_outside(planner) && !is_shown(compares, i, planner) && index-- == 0)
                return planner;
        }
    }
    return NULL;
}

/* Gives the next planner, from *index on, that some comparison has; null at the end. The library's
 * come in the order of all of them, and then those from outside. */
static const struct vbs_planner *next_compared(const struct throughput_figure *figure, int *index)
{
    const struct vbs_planner *planner;
    int n_own = 0;

    while ((planner = vbs_planner_at(*index))) {
        ++*index;
        if (is_shown(figure->compares, figure->n_compares, planner))
            return planner;
    }
    while (vbs_planner_at(n_own))
        n_own++;
    return outside_at(figure->compares, figure->n_compares, (*index)++ - n_own);
}

/* Gives whether the planner is among the series that were chosen. */
static bool is_chosen(const struct throughput_figure *figure, const struct vbs_planner *planner)
{
    return vbs_plot_shows(figure->picture->options, vbs_planner_name(planner));
}

/* Gives the next planner that is drawn. */
static const struct vbs_planner *next_planner(const struct throughput_figure *figure, int *index)
{
    const struct vbs_planner *planner;

    do {
        planner = next_compared(figure, index);
    } while (planner && !is_chosen(figure, planner));
    return planner;
}

/* Gives the style of the planner that next_planner gave with this index: a planner of the library
 * has the same one in every figure, by its place among all; one from outside has one that no other
 * curve of the figure has, as long as there are such. */
static int style_of(const struct throughput_figure *figure, int index)
{
    const struct vbs_compare *const *compares = figure->compares;
    int n_compares = figure->n_compares, n_own = 0, n_free = 0, which;

    while (vbs_planner_at(n_own))
        n_own++;
    if (index <= n_own)
        return index;
    for (int i = 0; i < n_own; i++)
        n_free += !is_shown(compares, n_compares, vbs_planner_at(i));
    if (n_free == 0)
        return index;
    which = (index - n_own - 1) % n_free;
    for (int i = 0; i < n_own; i++)
        if (!is_shown(compares, n_compares, vbs_planner_at(i)) && which-- == 0)
            return i + 1;
    return index;
}

static double limit_rate(const struct vbs_compare *compare, int b)
{
    double bound_us = compare->bound_us[b];

    return isfinite(bound_us) && bound_us > 0 ? 1e6 * (double)compare->request / bound_us : NAN;
}

/* Gives the executed rates of a row, the second of them the lowest and the third the highest of the
 * interval; NaN where it was not executed. */
static void executed_rates(const struct vbs_compare *compare, int b, int p, double rates[3])
{
    const struct vbs_executed_row *row =
        compare->executed ? &compare->executed->rows[b * compare->n_planners + p] : NULL;
    bool known = row && row->n_turns > 0 && row->low_us > 0;

    rates[0] = known ? 1e6 / row->per_sample_us : NAN;
    rates[1] = known ? 1e6 / row->high_us : NAN;
    rates[2] = known ? 1e6 / row->low_us : NAN;
}

/* Chooses the range of rates: all rates of the panel with a margin. It begins at zero when the
 * curves span most of the way to zero, or over a logarithmic axis, where they fall towards it. Else
 * the differences would be too small to read, so the template marks the axis as broken, for which
 * the lower margin has space. */
static void choose_rates(struct panel *panel)
{
    const struct vbs_compare *compare = panel->compare;
    double low = HUGE_VAL, high = 0, span;
    bool feasible = false;

    for (int b = 0; b < compare->n_budgets; b++)
        for (int p = 0; p < compare->n_planners; p++) {
            const struct vbs_compare_row *row = vbs_form_row(compare, b, p);

            if (!row->feasible || !isfinite(row->samples_per_s))
                continue;
            feasible = true;
            if (is_chosen(panel->figure, row->planner)) {
                double rates[3];

                executed_rates(compare, b, p, rates);
                low = fmin(low, fmin(row->samples_per_s, rates[1]));
                high = fmax(high, fmax(row->samples_per_s, rates[2]));
            }
        }
    for (int b = 0; b < compare->n_budgets && feasible && panel->figure->shows_bound; b++) {
        low = fmin(low, limit_rate(compare, b));
        high = fmax(high, limit_rate(compare, b));
    }
    if (high == 0)
        return;
    span = fmax(high - low, 0.02 * high);
    panel->rate_to = high + 0.08 * span;
    panel->rate_from =
        low < 0.5 * high || compare->weights == VBS_WEIGHTS_INCLUDED ? 0 : low - 0.16 * span;
}

/* Gives whether the memory axis is logarithmic: it spans two powers of two, and the budgets either
 * include weights, which may be most of them, or grow by a constant factor, or are breakpoints,
 * most of which are small. */
static bool is_logarithmic(const struct panel *panel)
{
    const struct vbs_compare *compare = panel->compare;
    const int64_t *budgets = compare->budgets;
    int last = compare->n_budgets - 1;

    if (budgets[0] < 1 || budgets[last] / budgets[0] < 4)
        return false;
    return compare->weights == VBS_WEIGHTS_INCLUDED || panel->figure->exact ||
           (budgets[last] - budgets[last - 1]) / 2 > budgets[1] - budgets[0];
}

static void choose_unit(struct panel *panel)
{
    static const char *const NAMES[] = {"B", "KiB", "MiB", "GiB"};
    const struct vbs_compare *compare = panel->compare;
    int64_t least = compare->budgets[0], most = compare->budgets[compare->n_budgets - 1];
    int i = 0;

    /* Sizes are more familiar as 40 MiB, but as 40 GiB instead of 40960 MiB. */
    while (i < 3 && most >> (10 * (i + 1)) >= (i == 2 ? 10 : 1))
        i++;
    /* On a logarithmic axis small sizes have ticks too: 0.25 and 524288 are still short. */
    while (panel->logarithmic && i > 0 && least < INT64_C(1) << (10 * i - 2) &&
           most >> (10 * (i - 1)) < 1000000)
        i--;
    panel->unit = NAMES[i];
    panel->unit_bytes = (double)(INT64_C(1) << (10 * i));
}

/* Chooses the range of memory: the budgets with a margin on both sides. */
static void choose_memory(struct panel *panel)
{
    const struct vbs_compare *compare = panel->compare;
    double from = (double)compare->budgets[0] / panel->unit_bytes;
    double to = (double)compare->budgets[compare->n_budgets - 1] / panel->unit_bytes;
    double share = panel->figure->executed ? 0.07 : 0.03; /* bars stand beside their budget */
    double margin = to > from ? share * (to - from) : fmax(0.1 * to, 0.1);

    if (panel->logarithmic)
        margin = pow(to / from, share);
    panel->memory_from = panel->logarithmic ? from / margin : fmax(from - margin, 0);
    panel->memory_to = panel->logarithmic ? to * margin : to + margin;
    if (compare->weights == VBS_WEIGHTS_INCLUDED)
        panel->weights = (double)compare->weight_bytes / panel->unit_bytes;
}

/* Gives the lowest curve above a rate at budget b; the top where there is none. */
static double curve_above(const struct panel *panel, int b, double rate)
{
    const struct vbs_compare *compare = panel->compare;
    double limit = panel->figure->shows_bound ? limit_rate(compare, b) : (double)NAN;
    double next = limit > rate ? fmin(limit, panel->rate_to) : panel->rate_to;

    for (int p = 0; p < compare->n_planners; p++) {
        const struct vbs_compare_row *row = vbs_form_row(compare, b, p);

        if (row->feasible && row->samples_per_s > rate && is_chosen(panel->figure, row->planner))
            next = fmin(next, row->samples_per_s);
    }
    return next;
}

/* Places the label in the largest gap between the curves around the budget of all weights. */
static void choose_label(struct panel *panel)
{
    const struct vbs_compare *compare = panel->compare;
    int before = 0, after, last = compare->n_budgets - 1;
    double widest = 0, next;

    while (before < last && compare->budgets[before + 1] < compare->weight_bytes)
        before++;
    after = before < last ? before + 1 : last;
    for (double rate = panel->rate_from; rate < panel->rate_to; rate = next) {
        next = fmin(curve_above(panel, before, rate), curve_above(panel, after, rate));
        if (next - rate > widest) {
            widest = next - rate;
            panel->weights_label =
                ((rate + next) / 2 - panel->rate_from) / (panel->rate_to - panel->rate_from);
        }
    }
}

static struct panel make_panel(const struct throughput_figure *figure,
                               const struct vbs_compare *compare)
{
    struct panel panel = {.figure = figure, .compare = compare};

    panel.logarithmic = is_logarithmic(&panel);
    choose_unit(&panel);
    choose_rates(&panel);
    choose_memory(&panel);
    choose_label(&panel);
    return panel;
}

/* Adds the executed rates of budget b; -1: of none. */
static void add_executed(const struct panel *panel, int b)
{
    struct vbs_text *data = &panel->figure->picture->data;
    const struct vbs_planner *planner;

    for (int i = 0; (planner = next_planner(panel->figure, &i));) {
        double rates[3] = {NAN, NAN, NAN};
        int p;

        if (b >= 0 && is_compared(panel->compare, planner, &p))
            executed_rates(panel->compare, b, p, rates);
        for (int r = 0; r < 3; r++)
            vbs_gnuplot_add_number(data, ",", rates[r], "");
    }
}

/* Adds the numbers of budget b at its place of the memory axis, or at the axis's end. */
static void add_line(const struct panel *panel, int b, bool at_end)
{
    double memory =
        at_end ? panel->memory_to : (double)panel->compare->budgets[b] / panel->unit_bytes;
    const struct vbs_compare *compare = panel->compare;
    struct vbs_text *data = &panel->figure->picture->data;
    const struct vbs_planner *planner;

    vbs_gnuplot_add_number(data, "", memory, "");
    vbs_gnuplot_add_number(data, ",", limit_rate(compare, b), "");
    for (int i = 0; (planner = next_planner(panel->figure, &i));) {
        int p;
        bool feasible = is_compared(compare, planner, &p) && vbs_form_row(compare, b, p)->feasible;

        vbs_gnuplot_add_number(data, ",",
                               feasible ? vbs_form_row(compare, b, p)->samples_per_s : NAN, "");
    }
    vbs_text_add(data, ",");
    vbs_gnuplot_add_field(data, compare->model);
    if (panel->figure->executed)
        add_executed(panel, at_end ? -1 : b);
    vbs_text_add(data, "\n");
}

static void add_executed_header(const struct panel *panel)
{
    static const char *const WORDS[] = {" executed", " executed low", " executed high"};
    struct vbs_text *data = &panel->figure->picture->data;
    const struct vbs_planner *planner;

    for (int i = 0; (planner = next_planner(panel->figure, &i));)
        for (int r = 0; r < 3; r++) {
            vbs_text_add(data, ",");
            vbs_gnuplot_add_field(data, vbs_planner_name(planner));
            vbs_text_add(data, WORDS[r]);
        }
}

static void add_header(const struct panel *panel)
{
    struct vbs_text *data = &panel->figure->picture->data;
    const struct vbs_planner *planner;

    vbs_text_addf(data, "memory_%s," BOUND, panel->unit);
    for (int i = 0; (planner = next_planner(panel->figure, &i));) {
        vbs_text_add(data, ",");
        vbs_gnuplot_add_field(data, vbs_planner_name(planner));
    }
    vbs_text_add(data, ",model");
    if (panel->figure->executed)
        add_executed_header(panel);
    vbs_text_add(data, "\n");
}

/* Adds the panel's block. A plan that fits the last budget fits larger ones too, so the last line
 * extends its steps to the edge. */
static void add_data(const struct panel *panel)
{
    const struct vbs_compare *compare = panel->compare;
    int last = compare->n_budgets - 1;

    add_header(panel);
    for (int b = 0; b <= last; b++)
        add_line(panel, b, false);
    add_line(panel, last, true);
    vbs_text_add(&panel->figure->picture->data, "\n\n");
}

static void add_subject(struct vbs_text *title, const struct vbs_compare *compare)
{
    vbs_text_add_visible(title, compare->model[0] ? compare->model : "unnamed network",
                         TITLE_LIMIT);
    vbs_text_addf(title, ", request %lld, io %s", (long long)compare->request,
                  vbs_io_word(compare->io));
    if (compare->weights == VBS_WEIGHTS_INCLUDED)
        vbs_text_add(title, ", weights included");
}

/* Sets a string of a panel to a text, which it clears. */
static void end_string(struct vbs_text *script, const char *name, int number, struct vbs_text *text,
                       int limit)
{
    vbs_text_addf(script, "%s[%d] = ", name, number);
    vbs_gnuplot_add_string(script, text->data ? text->data : "", limit);
    vbs_text_add(script, "\n");
    script->failed = script->failed || text->failed;
    vbs_text_clear(text);
}

static void add_title(struct vbs_text *script, int number, const struct vbs_compare *compare)
{
    struct vbs_text title = {0};

    add_subject(&title, compare);
    end_string(script, "vbs_title", number, &title, 2 * TITLE_LIMIT);
}

/* Adds the device up to its first comma: a plot has no space for family, stepping and instruction
 * sets. */
static void add_device(struct vbs_text *note, const struct vbs_provenance *from)
{
    const char *device = from->device[0] ? from->device : from->backend;
    size_t length = strcspn(device, ",");
    char *name = strndup(device, length);

    if (name)
        vbs_text_add_visible(note, name, NOTE_LIMIT);
    else
        note->failed = true;
    free(name);
}

static void add_copies(struct vbs_text *note, const struct vbs_compare *compare)
{
    double bytes_per_s = fmin(1e6 * compare->copy.bytes_per_us, 1e18);
    char bytes[24];

    if (bytes_per_s > 0)
        vbs_text_addf(note, "%scopies at %s/s", note->length > 0 ? ", " : "",
                      vbs_format_bytes((int64_t)bytes_per_s, bytes, sizeof bytes));
}

/* Adds the provenance of the times, which are the judge's. */
static void add_note(struct vbs_text *script, int number, const struct vbs_compare *compare)
{
    const struct vbs_provenance *from = &compare->judge;
    struct vbs_text note = {0};

    if (vbs_provenance_modelled(from))
        vbs_text_add(&note, "modelled, not measured");
    else
        add_device(&note, from);
    if (from->threads > 0)
        vbs_text_addf(&note, "%s%d %s", note.length > 0 ? ", " : "", from->threads,
                      from->threads == 1 ? "thread" : "threads");
    if (!compare->self_judged)
        vbs_text_addf(&note, "%sjudged by a second profile", note.length > 0 ? ", " : "");
    if (compare->executed)
        vbs_text_addf(&note, "%slines: predicted, bars: executed (95%% interval)",
                      note.length > 0 ? ", " : "");
    add_copies(&note, compare);
    end_string(script, "vbs_note", number, &note, 2 * NOTE_LIMIT);
}

static void add_panel(struct vbs_text *script, int number, const struct panel *panel)
{
    vbs_text_add(script, "\n");
    add_title(script, number, panel->compare);
    add_note(script, number, panel->compare);
    vbs_text_addf(script, "vbs_unit[%d] = '%s'\n", number, panel->unit);
    vbs_text_addf(script, "vbs_every[%d] = %d\n", number,
                  (panel->compare->n_budgets + MARKERS - 1) / MARKERS);
    vbs_text_addf(script, "vbs_last[%d] = %d\n", number, panel->compare->n_budgets - 1);
    vbs_text_addf(script, "vbs_memory_from[%d]", number);
    vbs_gnuplot_add_number(script, " = ", panel->memory_from, "\n");
    vbs_text_addf(script, "vbs_memory_to[%d]", number);
    vbs_gnuplot_add_number(script, " = ", panel->memory_to, "\n");
    vbs_text_addf(script, "vbs_log[%d] = %d\n", number, panel->logarithmic);
    vbs_text_addf(script, "vbs_weights[%d]", number);
    vbs_gnuplot_add_number(script, " = ", panel->weights, "\n");
    vbs_text_addf(script, "vbs_weights_label[%d]", number);
    vbs_gnuplot_add_number(script, " = ", panel->weights_label, "\n");
    vbs_text_addf(script, "vbs_rate_from[%d]", number);
    vbs_gnuplot_add_number(script, " = ", panel->rate_from, "\n");
    vbs_text_addf(script, "vbs_rate_to[%d]", number);
    vbs_gnuplot_add_number(script, " = ", panel->rate_to, "\n");
}

static bool ever_fits(const struct vbs_compare *const *compares, int n_compares,
                      const struct vbs_planner *planner)
{
    int p;

    for (int i = 0; i < n_compares; i++)
        for (int b = 0; is_compared(compares[i], planner, &p) && b < compares[i]->n_budgets; b++)
            if (vbs_form_row(compares[i], b, p)->feasible)
                return true;
    return false;
}

/* Adds the planners' names for the key, and their styles. Arrays of gnuplot count from 1. */
static void add_planners(const struct throughput_figure *figure)
{
    struct vbs_text *script = &figure->picture->script;
    const struct vbs_planner *planner;
    int n = 0;

    for (int i = 0; (planner = next_planner(figure, &i)); n++) {
        vbs_text_addf(script, "vbs_name[%d] = ", n + 1);
        vbs_gnuplot_add_string(script, vbs_planner_name(planner), TITLE_LIMIT);
        vbs_text_add(script, ever_fits(figure->compares, figure->n_compares, planner)
                                 ? ""
                                 : ".' (never fits)'");
        vbs_text_addf(script, "\nvbs_style[%d] = %d\n", n + 1, style_of(figure, i));
    }
}

static void add_preamble(const struct throughput_figure *figure)
{
    static const char *const PER_PANEL[] = {"weights_label", "title",     "note",      "unit",
                                            "every",         "last",      "log",       "weights",
                                            "memory_from",   "memory_to", "rate_from", "rate_to"};
    struct vbs_text *script = &figure->picture->script;
    int n_planners = 0;

    for (int i = 0; next_planner(figure, &i);)
        n_planners++;
    /* An array has at least one element. */
    vbs_text_addf(
        script,
        "vbs_panels = %d\nvbs_planners = %d\nvbs_bound = %d\nvbs_marks = %d\nvbs_executed = %d\n"
        "array vbs_name[%d]\narray vbs_style[%d]\nvbs_style[1] = 1\n",
        figure->n_compares, n_planners, figure->shows_bound, !figure->exact, figure->executed,
        n_planners + 1, n_planners + 1);
    add_planners(figure);
    for (size_t i = 0; i < sizeof PER_PANEL / sizeof PER_PANEL[0]; i++)
        vbs_text_addf(script, "array vbs_%s[%d]\n", PER_PANEL[i], figure->n_compares);
}

/* Compares the least budgets of rows; one that is not known is not less. */
static bool needs_less(const struct vbs_compare_row *a, const struct vbs_compare_row *b)
{
    return a->least_bytes > 0 && (b->least_bytes == 0 || a->least_bytes < b->least_bytes);
}

/* Fails with the reason why nothing can be drawn, and with a remedy. */
static enum vbs_status fail_empty(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                  int n_compares)
{
    const struct vbs_compare_row *least = &compares[0]->rows[0];
    char bytes[48];

    for (int i = 0; i < n_compares; i++) {
        if (vbs_form_fastest(compares[i], compares[i]->n_budgets - 1, false))
            return vbs_fail(ctx, VBS_UNSUPPORTED, "nothing to plot: every plan takes no time");
        for (int p = 0; p < compares[i]->n_planners; p++)
            if (needs_less(vbs_form_row(compares[i], 0, p), least))
                least = vbs_form_row(compares[i], 0, p);
    }
    if (least->least_bytes == 0)
        return vbs_fail(ctx, VBS_INFEASIBLE,
                        "nothing to plot: no planner has a plan for any of the budgets");
    if (least->least_bytes == INT64_MAX && compares[0]->latency_bound_us == 0)
        return vbs_fail(ctx, VBS_INFEASIBLE,
                        "nothing to plot: the time for planning was over before a planner found a "
                        "schedule");
    if (least->least_bytes == INT64_MAX)
        return vbs_fail(ctx, VBS_INFEASIBLE,
                        "nothing to plot: no planner answers within %g us in any memory",
                        compares[0]->latency_bound_us);
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "nothing to plot: no planner fits any of the budgets; the least that works is "
                    "%s, with %s",
                    vbs_format_exact(least->least_bytes, bytes, sizeof bytes),
                    vbs_planner_name(least->planner));
}

/* Gives whether the bound of any budget is known. */
static bool has_bound(const struct vbs_compare *const *compares, int n_compares)
{
    for (int i = 0; i < n_compares; i++)
        for (int b = 0; b < compares[i]->n_budgets; b++)
            if (!isnan(limit_rate(compares[i], b)))
                return true;
    return false;
}

/* Checks the names of the series: those of the planners, and of the bound where there is one. */
static enum vbs_status check_series(const struct throughput_figure *figure, bool has_bound)
{
    const struct vbs_planner *planner;
    const char **names = NULL;
    int64_t capacity = 0;
    int n = 0;
    enum vbs_status status = VBS_OK;

    for (int i = 0; status == VBS_OK && (planner = next_compared(figure, &i));) {
        status = vbs_grow(figure->picture->ctx, &names, &capacity, n + 2, sizeof *names);
        if (status == VBS_OK)
            names[n++] = vbs_planner_name(planner);
    }
    if (status == VBS_OK && n > 0 && has_bound)
        names[n++] = BOUND;
    if (status == VBS_OK)
        status = vbs_plot_check_series(figure->picture->ctx, figure->picture->options, names, n);
    free(names);
    return status;
}

static enum vbs_status draw(const struct throughput_figure *figure, const char *subject)
{
    struct vbs_gnuplot *picture = figure->picture;
    struct vbs_text title = {0};
    bool empty = true;
    enum vbs_status status;

    add_preamble(figure);
    vbs_text_addf(&title, "%s: ", subject);
    for (int i = 0; i < figure->n_compares; i++) {
        struct panel panel = make_panel(figure, figure->compares[i]);

        vbs_text_add(&title, i > 0 ? "; " : "");
        add_subject(&title, figure->compares[i]);
        empty = empty && panel.rate_to == 0;
        add_panel(&picture->script, i + 1, &panel);
        add_data(&panel);
    }
    if (empty)
        status = fail_empty(picture->ctx, figure->compares, figure->n_compares);
    else if (title.failed)
        status = vbs_no_memory(picture->ctx);
    else
        status = vbs_gnuplot_draw(picture, "throughput", title.data);
    vbs_text_clear(&title);
    return status;
}

enum vbs_status vbs_throughput_draw(struct vbs_gnuplot *picture,
                                    const struct vbs_compare *const *compares, int n_compares,
                                    bool exact, const char *subject)
{
    bool bound = has_bound(compares, n_compares);
    struct throughput_figure figure = {.compares = compares,
                                       .n_compares = n_compares,
                                       .exact = exact,
                                       .shows_bound =
                                           bound && vbs_plot_shows(picture->options, BOUND),
                                       .picture = picture};

    for (int i = 0; i < n_compares; i++)
        figure.executed = figure.executed || compares[i]->executed;
    VBS_TRY(check_series(&figure, bound));
    return draw(&figure, subject);
}

enum vbs_status vbs_compare_plot(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                 int n_compares, const struct vbs_plot_options *options,
                                 const char *path)
{
    struct vbs_gnuplot picture;
    enum vbs_status status = vbs_gnuplot_begin(ctx, options, path, &picture);

    if (status == VBS_OK)
        status =
            vbs_throughput_draw(&picture, compares, n_compares, false, "Throughput against memory");
    vbs_gnuplot_clear(&picture);
    return status;
}
