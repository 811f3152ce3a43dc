/* The words around the table: the problem that was compared, the largest gains, and the meaning of
 * the table's signs. */
#include "report/text/table.h"

#include "base/fail.h"
#include "report/compare/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_LIMIT 80 /* characters of a name that is shown */

/* VBS Table II gives the largest gain below 30 and above 35 of its MB, which are MiB. */
#define LOW_BYTES  (INT64_C(30) << 20)
#define HIGH_BYTES (INT64_C(35) << 20)

#define HASH_SHOWN 12 /* digits: enough to tell profiles apart by eye */

#define LATE 1.000000001 /* times the bound; below it is rounding */

/* Ends the paragraph in line: wrapped into text, and line is empty again. */
static void end_paragraph(struct vbs_text *text, struct vbs_text *line, int width)
{
    if (line->length > 0)
        vbs_form_add_wrapped(text, line->data, 2, width);
    text->failed = text->failed || line->failed;
    vbs_text_clear(line);
}

static void add_item(struct vbs_text *line, const char **separator, const char *item)
{
    if (item[0] == '\0')
        return;
    vbs_text_add(line, *separator);
    vbs_text_add_visible(line, item, NAME_LIMIT);
    *separator = ", ";
}

/* Adds a line about a profile. */
static void add_provenance(struct vbs_text *text, const char *verb, int64_t id, const char *hash,
                           const struct vbs_provenance *from, int width)
{
    bool known = from->library[0] || from->backend[0] || from->device[0];
    struct vbs_text line = {0};
    const char *separator = " ";
    char number[48];

    vbs_text_add(&line, known ? verb : "times of");
    add_item(&line, &separator, from->library[0] ? from->library : from->backend);
    add_item(&line, &separator, from->device);
    snprintf(number, sizeof number, "%d %s", from->threads,
             from->threads == 1 ? "thread" : "threads");
    add_item(&line, &separator, from->threads > 0 ? number : "");
    add_item(&line, &separator, from->date);
    snprintf(number, sizeof number, "profile %lld", (long long)id);
    add_item(&line, &separator, id > 0 ? number : known ? "" : "a profile");
    snprintf(number, sizeof number, "content %.*s", HASH_SHOWN, hash);
    add_item(&line, &separator, number);
    end_paragraph(text, &line, width);
}

/* Adds text such as ", weights included (232.6 MiB), copies at 4.66 GiB/s from page-cache". */
static void add_weights(struct vbs_text *line, const struct vbs_compare *compare)
{
    const struct vbs_link *copy = &compare->copy;
    char bytes[24];

    if (compare->weights == VBS_WEIGHTS_EXCLUDED)
        return;
    vbs_text_addf(line, ", weights included (%s",
                  vbs_format_bytes(compare->weight_bytes, bytes, sizeof bytes));
    if (compare->least_weight_bytes < compare->weight_bytes)
        vbs_text_addf(line, " dense, %s coded",
                      vbs_format_bytes(compare->least_weight_bytes, bytes, sizeof bytes));
    vbs_text_add(line, "), ");
    if (!(copy->bytes_per_us > 0)) {
        vbs_text_add(line, "no copies");
        return;
    }
    vbs_text_addf(
        line, "copies at %s/s",
        vbs_format_bytes((int64_t)fmin(1e6 * copy->bytes_per_us, 1e18), bytes, sizeof bytes));
    if (strcmp(copy->source, "given") != 0) {
        vbs_text_add(line, " from ");
        vbs_text_add_visible(line, copy->source, NAME_LIMIT);
    }
}

void vbs_table_add_header(struct vbs_text *text, const struct vbs_compare *compare,
                          const char *time_name, int width)
{
    bool modelled = vbs_provenance_modelled(&compare->provenance);
    char time[VBS_FORM_US_SIZE];
    struct vbs_text line = {0};

    if (compare->model[0])
        vbs_text_add_visible(&line, compare->model, NAME_LIMIT);
    else
        vbs_text_add(&line, "unnamed network");
    if (compare->provenance.input[0]) {
        vbs_text_add(&line, " [");
        vbs_text_add_visible(&line, compare->provenance.input, NAME_LIMIT);
        vbs_text_add(&line, "]");
    }
    vbs_text_addf(&line, ", request of %lld %s, io %s (inputs and outputs %s the budget)",
                  (long long)compare->request, compare->request == 1 ? "sample" : "samples",
                  vbs_io_word(compare->io), compare->io == VBS_IO_EXTERNAL ? "outside" : "inside");
    add_weights(&line, compare);
    if (compare->latency_bound_us > 0)
        vbs_text_addf(&line, ", no sample waits longer than %s",
                      vbs_form_time(compare->latency_bound_us, time));
    end_paragraph(text, &line, width);
    add_provenance(text, modelled ? "modelled by" : "measured with", compare->profile_id,
                   compare->hash, &compare->provenance, width);
    if (!compare->self_judged)
        add_provenance(text, "judged by", compare->judge_id, compare->judge_hash, &compare->judge,
                       width);
    vbs_text_addf(text, "\n  time per sample in %s\n\n", time_name);
}

/* Gives whether a gain shows in the table, which rounds 0.04 percent to none. */
static bool is_gain(double percent)
{
    return round(10 * percent) > 0;
}

/* The largest gains over each baseline among the budgets from..to. */
struct best_gain {
    struct vbs_gain over[VBS_N_BASELINES]; /* percent is NaN when there is none */
    int64_t at_bytes[VBS_N_BASELINES];
};

static struct best_gain find_best_gain(const struct vbs_compare *compare, int64_t from_bytes,
                                       int64_t to_bytes)
{
    struct best_gain best = {0};

    for (int i = 0; i < VBS_N_BASELINES; i++)
        best.over[i].percent = NAN;
    for (int b = 0; b < compare->n_budgets; b++) {
        const struct vbs_compare_row *row = vbs_form_fastest(compare, b, true);

        if (!row || compare->budgets[b] < from_bytes || compare->budgets[b] > to_bytes)
            continue;
        for (int i = 0; i < vbs_gains_told(compare); i++) {
            const struct vbs_gain *gain = vbs_gains_in(row, i);

            if (isfinite(gain->percent) && !(gain->percent <= best.over[i].percent)) {
                best.over[i] = *gain;
                best.at_bytes[i] = compare->budgets[b];
            }
        }
    }
    return best;
}

/* Adds the largest gains. Budgets are in the unit of the table. A baseline that is planned only
 * where it is compared is left out where it has no plan. */
static void add_gains(struct vbs_text *line, const char *where, const struct best_gain *best,
                      const struct vbs_form_unit *unit)
{

    for (int i = 0; i < VBS_N_BASELINES; i++) {
        struct vbs_form_cell cell;

        if (i >= VBS_N_MADE && !isfinite(best->over[i].percent))
            continue;
        vbs_text_add(line, i == 0 ? where : ", ");
        vbs_table_set_gain(&cell, &best->over[i]);
        if (!isfinite(best->over[i].percent))
            vbs_text_addf(line, "no comparison with %s", vbs_gains_baseline(i));
        else if (!is_gain(best->over[i].percent))
            vbs_text_addf(line, "no gain over %s", vbs_gains_baseline(i));
        else
            vbs_text_addf(line, "%s over %s (%.*f %s)", cell.text, vbs_gains_baseline(i),
                          unit->decimals, (double)best->at_bytes[i] / (double)unit->bytes,
                          unit->name);
    }
}

static bool has_gains(const struct best_gain *best)
{
    for (int i = 0; i < VBS_N_BASELINES; i++)
        if (isfinite(best->over[i].percent))
            return true;
    return false;
}

/* Adds the largest gains, by the ranges of VBS Table II where the budgets reach into both. */
static void add_summary(struct vbs_text *text, const struct vbs_compare *compare, int width)
{
    struct best_gain low = find_best_gain(compare, 0, LOW_BYTES - 1);
    struct best_gain high = find_best_gain(compare, HIGH_BYTES + 1, VBS_MAX_BYTES);
    struct best_gain all = find_best_gain(compare, 0, VBS_MAX_BYTES);
    struct vbs_form_unit unit = vbs_form_budget_unit(compare);
    struct vbs_text line = {0};

    if (!has_gains(&all))
        return;
    vbs_text_add(&line, "largest gain");
    if (compare->weights == VBS_WEIGHTS_EXCLUDED && compare->budgets[0] < LOW_BYTES &&
        compare->budgets[compare->n_budgets - 1] > HIGH_BYTES) {
        add_gains(&line, " below 30 MiB: ", &low, &unit);
        add_gains(&line, "; above 35 MiB: ", &high, &unit);
    } else {
        add_gains(&line, ": ", &all, &unit);
    }
    end_paragraph(text, &line, width);
}

static void add_ours(struct vbs_text *line, const struct vbs_compare *compare, int n_ours)
{
    if (n_ours > 1) {
        vbs_text_add(line, "the best planner, the fastest that is no baseline");
        return;
    }
    for (int p = 0; p < compare->n_planners; p++)
        if (!vbs_planner_is_baseline(compare->planners[p]))
            vbs_text_add(line, vbs_planner_name(compare->planners[p]));
}

/* Gives whether some gain that the table shows is below 0. */
static bool has_loss(const struct vbs_compare *compare)
{
    for (int b = 0; b < compare->n_budgets; b++) {
        const struct vbs_compare_row *row = vbs_form_fastest(compare, b, true);

        for (int i = 0; row && i < vbs_gains_told(compare); i++)
            if (round(10 * vbs_gains_in(row, i)->percent) < 0)
                return true;
    }
    return false;
}

static bool is_compared(const struct vbs_compare *compare, const char *name)
{
    for (int p = 0; p < compare->n_planners; p++)
        if (strcmp(vbs_planner_name(compare->planners[p]), name) == 0)
            return true;
    return false;
}

/* Adds the names of the baselines over which gains are computed. */
static void add_baselines(struct vbs_text *line, const struct vbs_compare *compare)
{
    bool included = compare->weights == VBS_WEIGHTS_INCLUDED;

    vbs_text_addf(line,
                  "gain: percent less time per sample%s than %sfbs (the largest uniform batch that "
                  "fits)%s fbs-best (the fastest uniform batch that fits%s)",
                  has_loss(compare) ? " (below 0: more)" : "",
                  included ? "the fastest baseline: " : "", included ? "," : " and",
                  compare->self_judged ? "" : ", by the first profile");
    for (int i = VBS_N_MADE; i < VBS_N_BASELINES; i++)
        if (is_compared(compare, vbs_gains_baseline(i)))
            vbs_text_addf(line, ", %s", vbs_gains_baseline(i));
}

static void add_legend(struct vbs_text *text, const struct vbs_compare *compare, int n_ours,
                       int width)
{
    bool noisy = compare->intervals != VBS_INTERVALS_NONE;
    struct vbs_text line = {0};

    vbs_text_addf(
        &line,
        "* fastest of the row;%s - nothing fits or nothing to compare with;%s lower bound: "
        "no schedule in that memory takes less",
        noisy ? " ~ slower than that, but within noise of it;" : "",
        compare->interrupted ? " ... interrupted before it was planned;" : "");
    end_paragraph(text, &line, width);
    if (n_ours == 0)
        return;
    add_baselines(&line, compare);
    vbs_text_addf(&line, "%s; gains, percent above bound%s%s and batch sizes are those of ",
                  noisy ? ", +- to the further end of its 95% interval, ~ where that holds 0" : "",
                  compare->weights == VBS_WEIGHTS_INCLUDED ? ", bytes copied for each sample" : "",
                  compare->has_coded ? ", layers computed from coded weights" : "");
    add_ours(&line, compare, n_ours);
    end_paragraph(text, &line, width);
    if (compare->weights == VBS_WEIGHTS_INCLUDED)
        vbs_text_add(&line, "mmcnn, vdnn and joint may copy weights during the request; the others "
                            "hold all of them");
    end_paragraph(text, &line, width);
}

/* Adds the least budget of each planner, where some row has no plan. */
static void add_least(struct vbs_text *text, const struct vbs_compare *compare, int width)
{
    struct vbs_text line = {0};
    const char *separator = "least budget that fits: ";
    char least[VBS_FORM_US_SIZE];

    for (int p = 0; p < compare->n_planners; p++) {
        const struct vbs_compare_row *row = vbs_form_row(compare, 0, p);

        if (row->feasible || row->missing)
            continue;
        vbs_text_addf(&line, "%s%s ", separator, vbs_planner_name(row->planner));
        if (row->least_bytes == 0)
            vbs_text_add(&line, "not known");
        else if (row->least_bytes < INT64_MAX)
            vbs_text_add(&line, vbs_form_bytes_up(row->least_bytes, least, sizeof least));
        else if (compare->latency_bound_us == 0)
            vbs_text_add(&line, "none without copies");
        else if (row->least_latency_us == 0)
            vbs_text_addf(&line, "none that answers within %.6g us", compare->latency_bound_us);
        else
            vbs_text_addf(&line, "none that answers within %.6g us, but one within %s us",
                          compare->latency_bound_us, vbs_form_us_up(row->least_latency_us, least));
        separator = ", ";
    }
    end_paragraph(text, &line, width);
}

/* Names the planners that have no schedules. */
static void add_estimates(struct vbs_text *text, const struct vbs_compare *compare, int width)
{
    struct vbs_text line = {0};
    int n = 0;

    for (int p = 0; p < compare->n_planners; p++)
        if (vbs_planner_estimates(compare->planners[p]))
            vbs_text_addf(&line, "%s%s", n++ > 0 ? ", " : "",
                          vbs_planner_name(compare->planners[p]));
    if (n > 0)
        vbs_text_addf(
            &line,
            ": no schedule; estimates%s, of one sample after the other with rows that are "
            "computed again, for which the lower bound does not hold",
            compare->self_judged ? "" : " by the first profile, which nobody judges");
    end_paragraph(text, &line, width);
}

/* Adds a sentence about the latency: the bound is kept by the times that were planned with, and may
 * be exceeded by the judge's. */
static void add_latency(struct vbs_text *text, const struct vbs_compare *compare, int width)
{
    char time[VBS_FORM_US_SIZE];
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
                      "%s",
                      n_late, n, vbs_form_time(longest_us, time));
    end_paragraph(text, &line, width);
}

/* Gives whether some row is feasible. */
static bool is_feasible(const struct vbs_compare *compare)
{
    for (int b = 0; b < compare->n_budgets; b++)
        if (vbs_form_fastest(compare, b, false))
            return true;
    return false;
}

/* Adds the effects that the intervals include, and those that they leave out. */
static void add_noise(struct vbs_text *text, const struct vbs_compare *compare, int width)
{
    static const char *const SOURCES[] = {
        [VBS_INTERVALS_ROWS] = "intervals of the medians",
        [VBS_INTERVALS_SAMPLES] = "samples behind the medians",
    };
    struct vbs_text line = {0};

    if (compare->intervals != VBS_INTERVALS_NONE)
        vbs_text_addf(&line,
                      "intervals show the noise within one run of the measurement (%d draws from "
                      "the %s%s), not what differs from run to run",
                      VBS_NOISE_REPLICATES, SOURCES[compare->intervals],
                      compare->weights == VBS_WEIGHTS_INCLUDED ? ", copies as exact" : "");
    else if (is_feasible(compare) && !vbs_provenance_modelled(&compare->judge))
        vbs_text_add(&line, compare->interrupted
                                ? "interrupted: the noise of the gains was not computed"
                                : "times are taken as exact: the profile has no intervals of them");
    end_paragraph(text, &line, width);
}

/* Adds the cautions that a reader needs before quoting a gain. */
static void add_caution(struct vbs_text *text, const struct vbs_compare *compare, int width)
{
    struct vbs_text line = {0};

    if (vbs_provenance_modelled(&compare->judge))
        vbs_text_add(&line, "times are modelled, not measured");
    else if (compare->self_judged)
        vbs_text_add(&line, "planned and judged on the same measurements: a part of each gain may "
                            "be the choice among noisy numbers; a second, independent profile as "
                            "judge tells");
    else
        vbs_text_add(&line, "planned on the first profile, judged by the second: luck in the "
                            "first does not count");
    end_paragraph(text, &line, width);
    add_noise(text, compare, width);
}

void vbs_table_add_notes(struct vbs_text *text, const struct vbs_compare *compare, int n_ours,
                         int width)
{
    vbs_text_add(text, "\n");
    if (n_ours > 0)
        add_summary(text, compare, width);
    add_least(text, compare, width);
    add_estimates(text, compare, width);
    add_latency(text, compare, width);
    add_caution(text, compare, width);
    vbs_text_add(text, "\n");
    add_legend(text, compare, n_ours, width);
}
