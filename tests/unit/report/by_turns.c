/* What was executed of a comparison: its table, the verdict below it, JSON and CSV. */
#include "cases/report_sample.h"
#include "support/fault.h"
#include "support/tap.h"

#include <jansson.h>
#include <stdlib.h>

/* The sample's columns. */
enum { FBS, FBS_BEST, GREEDY_VBS, DP_VBS };

struct executed_sample {
    struct report_sample planned;
    struct vbs_compare_executed executed;
    struct vbs_executed_row rows[SAMPLE_BUDGETS][SAMPLE_PLANNERS];
};

static struct vbs_gain gain_of(double percent, double half)
{
    return (struct vbs_gain){percent, percent - half, percent + half};
}

/* Executes row p of budget b in 9 turns; its gain over fbs-best is told with the half of its
 * interval. */
static void execute(struct executed_sample *s, int b, int p, double us, double percent, double half)
{
    s->rows[b][p] = (struct vbs_executed_row){.n_turns = 9,
                                              .per_sample_us = us,
                                              .low_us = 0.99 * us,
                                              .high_us = 1.02 * us,
                                              .predicted_us = 0.8 * us,
                                              .predicted_low_us = 0.7 * us,
                                              .predicted_high_us = NAN,
                                              .gain_over_fbs = gain_of(percent + 1, half),
                                              .gain_over_fbs_best = gain_of(percent, half)};
}

/* At 10 MiB nothing is to compare with, at 20 MiB dp-vbs is faster than fbs-best, at 30 MiB the
 * machine cannot tell, at 40 MiB it is slower. */
static void fill(struct executed_sample *s)
{
    memset(s, 0, sizeof *s);
    report_sample_fill(&s->planned);
    s->executed = (struct vbs_compare_executed){.seconds = 30, .rows = s->rows[0]};
    s->planned.compare.executed = &s->executed;
    execute(s, 0, DP_VBS, 3000, NAN, NAN);
    for (int b = 1; b < SAMPLE_BUDGETS; b++)
        execute(s, b, FBS_BEST, 2500, 0, 0);
    execute(s, 1, DP_VBS, 2000, 20, 3);
    execute(s, 2, DP_VBS, 2480, 1, 4);
    execute(s, 3, DP_VBS, 2600, -4, 1);
}

static char *table_of(const struct executed_sample *s, int columns)
{
    struct vbs_ctx ctx = {0};
    char *text = NULL;

    if (vbs_compare_executed_table(&ctx, &s->planned.compare, columns, false, &text) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    return text;
}

/* Gives whether words stand in the table, however its lines are broken. */
static bool says(const struct executed_sample *s, const char *words)
{
    char *text = table_of(s, 1000);
    bool found = strstr(text, words) != NULL;

    if (!found)
        printf("# %s\n", text);
    free(text);
    return found;
}

static int widest_line(const char *text)
{
    int widest = 0;

    for (const char *end; *text; text = end + (*end == '\n')) {
        end = text + strcspn(text, "\n");
        widest = end - text > widest ? (int)(end - text) : widest;
    }
    return widest;
}

static void test_table(void)
{
    struct executed_sample s;
    char *text;

    fill(&s);
    text = table_of(&s, 80);
    ok(widest_line(text) <= 80, "80 columns are kept");
    free(text);
    ok(says(&s, "by turns: 9 turns, time per sample in ms"), "turns are counted");
    ok(says(&s, "1.60  2.00+-0.04  +25.0%  21.0+-3.0%  20.0+-3.0%"), "a line has all");
    ok(says(&s, "2.00  2.50+-0.05  +25.0%"), "so has one of a baseline");
    ok(says(&s, "same\n"), "the steps of the baseline are said to be the same");
}

static void test_verdicts(void)
{
    struct executed_sample s;

    fill(&s);
    ok(says(&s, "faster than fbs-best as executed, with the 95% interval of the gain, at 20 MiB "
                "(dp-vbs, +17.0% to +23.0%)\n"),
       "where a planner is faster");
    ok(says(&s, "slower than fbs-best as executed, with the 95% interval of the gain, at 40 MiB "
                "(dp-vbs, -5.0% to -3.0%)\n"),
       "where all are slower");
    ok(says(&s, "the machine cannot tell dp-vbs from fbs-best at 30 MiB: the 95% interval of the "
                "gain is -3.0% to +5.0%; --execute 120 would narrow it\n"),
       "where the machine cannot tell, and how to find out");
    execute(&s, 3, DP_VBS, 2500, 0.5, 2);
    ok(says(&s, "the machine cannot tell the fastest planner from fbs-best at 30 MiB (dp-vbs, "
                "-3.0% to +5.0%), 40 MiB (dp-vbs, -1.5% to +2.5%); --execute 120 would narrow "
                "these 95% intervals\n"),
       "at several budgets");
    execute(&s, 3, DP_VBS, 2500, 0, 0);
    ok(says(&s, "no other steps than those of fbs-best at 40 MiB\n"), "where plans are the same");
    s.rows[1][FBS_BEST].n_left_out = s.rows[1][DP_VBS].n_left_out = 3;
    s.rows[1][FBS_BEST].slowdown = s.rows[1][DP_VBS].slowdown = 1.4;
    ok(says(&s, "in 3 of 39 turns the last-level cache was slower or faster than when the profile "
                "was measured; 3 of them do not count, in which schedules took 1.40 times as "
                "long\n"),
       "turns in another state do not count");
    s.rows[2][FBS_BEST].n_unusual = s.rows[2][DP_VBS].n_unusual = 9;
    ok(says(&s, "in 12 of 39 turns the last-level cache was slower or faster than when the profile "
                "was measured; 3 of them do not count, in which schedules took 1.40 times as "
                "long; 9 count, so that times are not those of the prediction's state\n"),
       "but where there are few others");
    execute(&s, 3, GREEDY_VBS, 1000, 60, 1);
    ok(says(&s, "no other steps than those of fbs-best at 40 MiB\n"), "baselines are not judged");
}

static void test_nothing(void)
{
    struct report_sample planned;
    struct vbs_ctx ctx = {0};
    char *text = NULL;

    report_sample_fill(&planned);
    ok(vbs_compare_executed_table(&ctx, &planned.compare, 0, false, &text) == VBS_OK && !text[0],
       "nothing is said where nothing was executed");
    free(text);
}

/* ---- JSON and CSV ---- */

static const char *const KEYS[] = {
    "executed_us_per_sample",
    "executed_low_us_per_sample",
    "executed_high_us_per_sample",
    "executed_predicted_us_per_sample",
    "executed_gain_over_fbs_percent",
    "executed_gain_over_fbs_low_percent",
    "executed_gain_over_fbs_high_percent",
    "executed_gain_over_fbs_best_percent",
    "executed_gain_over_fbs_best_low_percent",
    "executed_gain_over_fbs_best_high_percent",
    "n_turns",
    "n_unusual_turns",
    "n_left_out_turns",
    "executed_predicted_low_us_per_sample",
    "executed_predicted_high_us_per_sample",
};
#define N_KEYS ((int)(sizeof KEYS / sizeof KEYS[0]))

static json_t *json_of(const struct vbs_compare *compare)
{
    struct vbs_ctx ctx = {0};
    char *text = NULL;
    json_t *all;

    if (vbs_compare_json(&ctx, &compare, 1, &text) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    all = json_loads(text, 0, NULL);
    free(text);
    return all;
}

static int count_keys(const json_t *row)
{
    int n = 0;

    for (int k = 0; k < N_KEYS; k++)
        n += json_object_get(row, KEYS[k]) != NULL;
    return n;
}

static void test_json(void)
{
    struct executed_sample s;
    json_t *all, *row;

    fill(&s);
    all = json_of(&s.planned.compare);
    row = json_array_get(json_object_get(all, "rows"), SAMPLE_PLANNERS + DP_VBS);
    is_int(count_keys(row), N_KEYS, "a row has the keys of executed schedules");
    ok(json_number_value(json_object_get(row, "executed_us_per_sample")) == 2000 &&
           json_number_value(json_object_get(row, "executed_gain_over_fbs_best_low_percent")) ==
               17 &&
           json_integer_value(json_object_get(row, "n_turns")) == 9,
       "with their values");
    row = json_array_get(json_object_get(all, "rows"), SAMPLE_PLANNERS + GREEDY_VBS);
    ok(json_is_null(json_object_get(row, "executed_us_per_sample")) &&
           json_integer_value(json_object_get(row, "n_turns")) == 0,
       "which are null where nothing was executed");
    json_decref(all);
    s.planned.compare.executed = NULL;
    all = json_of(&s.planned.compare);
    row = json_array_get(json_object_get(all, "rows"), SAMPLE_PLANNERS + DP_VBS);
    is_int(count_keys(row), 0, "without an execution there are no such keys");
    json_decref(all);
}

/* Gives the last fields of line number `line` of a CSV text, from field number `from` on, up to
 * its end. */
static const char *fields_of(const char *text, int line, int from, char *buffer, size_t size)
{
    for (; line > 0; line--)
        text += strcspn(text, "\n") + 1;
    for (; from > 0; from--)
        text += strcspn(text, ",") + 1;
    snprintf(buffer, size, "%.*s", (int)strcspn(text, "\n"), text);
    return buffer;
}

static int count_fields(const char *text)
{
    int n = 1;

    for (; *text && *text != '\n'; text++)
        n += *text == ',';
    return n;
}

static void test_csv(void)
{
    struct executed_sample s;
    const struct vbs_compare *compare = &s.planned.compare;
    char *with = NULL, *without = NULL, line[200], want[700] = "";
    int n;

    fill(&s);
    if (vbs_compare_csv(NULL, &compare, 1, &with) != VBS_OK)
        bail_out("no CSV");
    s.planned.compare.executed = NULL;
    if (vbs_compare_csv(NULL, &compare, 1, &without) != VBS_OK)
        bail_out("no CSV");
    n = count_fields(without);
    for (int k = 0; k < N_KEYS; k++)
        snprintf(want + strlen(want), sizeof want - strlen(want), "%s%s", k ? "," : "", KEYS[k]);
    is_int(count_fields(with), n + N_KEYS, "the columns stand behind the others");
    ok(strncmp(with, without, strcspn(without, "\n")) == 0, "which are as before");
    ok(strstr(with, want) != NULL, "their names are the keys of JSON");
    is_str(fields_of(with, 1 + SAMPLE_PLANNERS + DP_VBS, n, line, sizeof line),
           "2000,1980,2040,1600,21,18,24,20,17,23,9,0,0,1400,", "a line has the values");
    is_str(fields_of(with, 1 + SAMPLE_PLANNERS + GREEDY_VBS, n, line, sizeof line),
           ",,,,,,,,,,0,0,0,,", "which are empty where nothing was executed");
    free(with);
    free(without);
}

/* ---- Memory ---- */

static enum vbs_status print_all(struct vbs_ctx *ctx, const void *subject)
{
    const struct vbs_compare *compare = subject;
    char *texts[2] = {&fault_untouched, &fault_untouched};
    enum vbs_status status = vbs_compare_executed_table(ctx, compare, 80, false, &texts[0]);

    if (status != VBS_OK)
        return fault_status(status, texts[0]);
    status = vbs_compare_csv(ctx, &compare, 1, &texts[1]);
    if (status != VBS_OK)
        status = fault_status(status, texts[1]);
    else
        free(texts[1]);
    free(texts[0]);
    return status;
}

static void test_memory(void)
{
    struct executed_sample s;

    fill(&s);
    for (int lasting = 0; lasting < 2; lasting++) {
        struct fault_trial trial = {
            .run = print_all, .subject = &s.planned.compare, .lasting = lasting};

        fault_each(&trial);
        ok(trial.n_faults > 10 && trial.n_wrong == 0 && trial.status == VBS_OK,
           "%d allocations fail %s", trial.n_faults, trial.way);
    }
}

int main(void)
{
    test_table();
    test_verdicts();
    test_nothing();
    test_json();
    test_csv();
    test_memory();
    return done_testing();
}
