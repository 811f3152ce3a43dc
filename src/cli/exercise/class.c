/*
 * exercise --check with the answers of a class: a row for each. An answer that cannot be read, or
 * is one to no exercise, is a row, too, with the reason.
 */
#include "base/fail.h"
#include "base/text.h"
#include "cli/exercise/exercise.h"
#include "cli/print/print.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* What an answer is worth, the best first. */
enum worth { OPTIMAL, SLOWER, EXCEEDS, NO_SCHEDULE, NO_ANSWER, N_WORTHS };

static const char *const WORDS[][2] = {{"optimal", "optimal"},
                                       {"slower", "slower"},
                                       {"exceeds the memory", "exceed the memory"},
                                       {"no schedule", "no schedules"},
                                       {"no answer", "no answers"}}; /* of one, and of several */

/* One answer of the class. */
struct row {
    const char *name; /* the path, with control characters made visible */
    enum worth worth;
    const char *reason; /* "": it fits */
    const struct exercise_judged *judged;
    const struct exercise_twin *twin; /* null: no file before it answers the same exercise */
    bool same_steps;                  /* as the twin's */
};

/* The answers so far, in the form that is printed in the end. */
struct class_report {
    struct cli *cli;
    enum exercise_form form;
    struct cli_table table;
    struct vbs_text csv;
    struct vbs_text remarks; /* lines below the table */
    struct exercise_twins twins;
    json_t *answers;
    bool failed; /* memory ran out */
    int counts[N_WORTHS];
};

static enum worth worth_of(const struct exercise_judged *judged)
{
    if (exercise_is_optimal(judged))
        return OPTIMAL;
    if (judged->verdict.fits)
        return SLOWER;
    return judged->verdict.is_schedule ? EXCEEDS : NO_SCHEDULE;
}

/* Gives a reason without the name of the file, which has a column of its own. */
static const char *without_name(const char *reason, const char *name)
{
    size_t length = strlen(name);

    return strncmp(reason, name, length) == 0 && strncmp(reason + length, ": ", 2) == 0
               ? reason + length + 2
               : reason;
}

/* ---- the three forms ---- */

static void add_table_row(struct class_report *report, const struct row *row)
{
    const struct vbs_exercise *exercise = row->judged->exercise;
    const struct vbs_exercise_verdict *verdict = &row->judged->verdict;
    struct cli_table *table = &report->table;

    cli_table_add(table, "%s", row->name);
    if (exercise) {
        cli_table_add(table, "%d", exercise->level);
        cli_table_add(table, "%lld", (long long)exercise->seed);
    } else {
        cli_table_add(table, "-");
        cli_table_add(table, "-");
    }
    cli_table_add(table, "%s", WORDS[row->worth][0]);
    if (row->worth <= EXCEEDS)
        cli_table_add(table, "%g", verdict->time_us / 1000);
    else
        cli_table_add(table, "-");
    if (exercise)
        cli_table_add(table, "%g", exercise->optimum_us / 1000);
    else
        cli_table_add(table, "-");
    if (row->worth <= SLOWER)
        cli_table_add(table, "%.1f%%", exercise_gap_percent(row->judged));
    else
        cli_table_add(table, "-");
    cli_table_add(table, "%s", row->reason[0] ? row->reason : "-");
}

/* Says of a row what may be of interest beside its verdict. */
static void add_remarks(struct vbs_text *text, const struct row *row)
{
    if (row->twin)
        vbs_text_addf(text, "%s answers the exercise of %s (level %d, seed %lld), %s\n", row->name,
                      row->twin->file, row->twin->level, (long long)row->twin->seed,
                      row->same_steps ? "with the same steps" : "with other steps");
    if (row->judged->named_variant)
        vbs_text_addf(text,
                      "%s is called like variant %d of a class; the answer is to variant %d\n",
                      row->name, row->judged->named_variant,
                      vbs_exercise_variant(row->judged->exercise->seed));
}

static void add_real(struct vbs_text *text, bool is_known, double value)
{
    vbs_text_add(text, ",");
    if (is_known)
        vbs_text_add_double(text, value);
}

static void add_csv_row(struct class_report *report, const struct row *row)
{
    const struct vbs_exercise *exercise = row->judged->exercise;
    const struct vbs_exercise_verdict *verdict = &row->judged->verdict;
    bool is_schedule = row->worth <= EXCEEDS, fits = row->worth <= SLOWER;
    struct vbs_text *text = &report->csv;

    vbs_text_add_csv(text, row->name);
    if (exercise)
        vbs_text_addf(text, ",%d,%lld", exercise->level, (long long)exercise->seed);
    else
        vbs_text_add(text, ",,");
    vbs_text_addf(text, ",%s,%s,%s,", is_schedule ? "true" : "false", fits ? "true" : "false",
                  row->worth == OPTIMAL ? "true" : "false");
    if (verdict->step > 0)
        vbs_text_addf(text, "%lld", (long long)verdict->step);
    vbs_text_add(text, ",");
    vbs_text_add_csv(text, row->reason);
    add_real(text, is_schedule, verdict->time_us);
    add_real(text, is_schedule, (double)verdict->peak_bytes);
    add_real(text, exercise, exercise ? (double)exercise->memory_bytes : 0);
    add_real(text, exercise, exercise ? exercise->optimum_us : 0);
    add_real(text, fits, fits ? exercise_gap_percent(row->judged) : 0);
    vbs_text_add(text, ",");
    vbs_text_add_csv(text, verdict->hint);
    vbs_text_add(text, ",");
    if (row->twin)
        vbs_text_add_csv(text, row->twin->file);
    vbs_text_add(text, !row->twin ? "," : row->same_steps ? ",true" : ",false");
    add_real(text, row->judged->named_variant > 0, row->judged->named_variant);
    vbs_text_add(text, "\n");
}

static void put_no_answer(json_t *object, const struct row *row, bool *failed)
{
    static const char *const UNKNOWN[] = {"time_us",    "peak_bytes",  "memory_bytes",
                                          "optimum_us", "gap_percent", "hint"};
    const struct vbs_exercise *exercise = row->judged->exercise;

    cli_json_put(object, "level", exercise ? json_integer(exercise->level) : json_null(), failed);
    cli_json_put(object, "seed", exercise ? json_integer(exercise->seed) : json_null(), failed);
    cli_json_put(object, "valid", json_false(), failed);
    cli_json_put(object, "fits", json_false(), failed);
    cli_json_put(object, "optimal", json_false(), failed);
    cli_json_put(object, "step", json_null(), failed);
    cli_json_put(object, "reason", json_string(row->reason), failed);
    for (size_t i = 0; i < sizeof UNKNOWN / sizeof *UNKNOWN; i++)
        cli_json_put(object, UNKNOWN[i], json_null(), failed);
}

static void add_json_row(struct class_report *report, const struct row *row)
{
    json_t *object = json_object();

    cli_json_put(object, "file", json_string(row->name), &report->failed);
    if (row->worth == NO_ANSWER)
        put_no_answer(object, row, &report->failed);
    else
        exercise_put_verdict(object, row->judged, &report->failed);
    cli_json_put(object, "same_exercise", row->twin ? json_string(row->twin->file) : json_null(),
                 &report->failed);
    cli_json_put(object, "same_steps", row->twin ? json_boolean(row->same_steps) : json_null(),
                 &report->failed);
    exercise_put_named(object, row->judged, &report->failed);
    cli_json_append(report->answers, object, &report->failed);
}

/* ---- the class ---- */

static void add_row(struct class_report *report, const struct row *row)
{
    report->counts[row->worth]++;
    switch (report->form) {
    case EXERCISE_TEXT:
        add_table_row(report, row);
        add_remarks(&report->remarks, row);
        break;
    case EXERCISE_CSV:
        add_csv_row(report, row);
        break;
    case EXERCISE_JSON:
        add_json_row(report, row);
        break;
    }
}

/* Judges one answer. A failure that concerns this answer alone becomes its row. */
static enum vbs_status judge(struct class_report *report, const struct exercise_words *words,
                             const char *path)
{
    struct vbs_ctx *ctx = &report->cli->ctx;
    struct exercise_judged judged = {0};
    struct row row = {.judged = &judged};
    struct vbs_text name = {0};
    enum vbs_status status = exercise_judge(report->cli, words, path, &judged);

    bool is_judged = status == VBS_OK;

    vbs_text_add_visible(&name, path, INT_MAX);
    if (status == VBS_NO_MEMORY || status == VBS_INTERRUPTED)
        goto done;
    status = name.failed ? vbs_no_memory(ctx) : VBS_OK;
    if (status != VBS_OK)
        goto done;
    row.name = name.data ? name.data : "";
    row.worth = is_judged ? worth_of(&judged) : NO_ANSWER;
    row.reason = is_judged ? judged.verdict.reason : without_name(ctx->detail, row.name);
    if (!words->names_seed)
        status = exercise_twins_add(ctx, &report->twins, row.name, &judged, &row.twin);
    row.same_steps = row.twin && strcmp(row.twin->steps, judged.steps) == 0;
    if (status == VBS_OK)
        add_row(report, &row);
done:
    vbs_text_clear(&name);
    exercise_judged_clear(&judged);
    return status;
}

static void print_counts(const struct class_report *report, int n)
{
    const char *separator = ": ";

    printf("\n%d answer%s", n, n == 1 ? "" : "s");
    for (int i = 0; i < N_WORTHS; i++)
        if (report->counts[i] > 0) {
            printf("%s%d %s", separator, report->counts[i], WORDS[i][report->counts[i] > 1]);
            separator = ", ";
        }
    printf("\n");
}

static enum vbs_status print(struct class_report *report, int n)
{
    struct cli *cli = report->cli;
    json_t *object;

    if (report->form == EXERCISE_JSON) {
        object = json_object();
        cli_json_put(object, "format", json_string("vbslab-exercise-verdicts-1"), &report->failed);
        cli_json_put(object, "answers", report->answers, &report->failed);
        report->answers = NULL;
        return cli_json_print(cli, object, report->failed);
    }
    if (report->form == EXERCISE_CSV) {
        if (report->csv.failed)
            return vbs_no_memory(&cli->ctx);
        fputs(report->csv.data, stdout);
        return VBS_OK;
    }
    if (report->remarks.failed)
        return vbs_no_memory(&cli->ctx);
    VBS_TRY(cli_table_print(cli, &report->table));
    print_counts(report, n);
    if (report->remarks.data) {
        cli_flow_begin(cli);
        printf("\n%s", report->remarks.data);
        cli_flow_end(cli);
    }
    return VBS_OK;
}

/* Gives what single answers give, of the worst. */
static enum vbs_status conclude(const struct class_report *report, int n)
{
    int n_invalid = report->counts[NO_SCHEDULE] + report->counts[NO_ANSWER];
    int n_exceed = report->counts[EXCEEDS];

    if (n_invalid + n_exceed == 0)
        return VBS_OK;
    return vbs_fail(&report->cli->ctx, n_invalid > 0 ? VBS_INVALID : VBS_OVER_BUDGET,
                    "%d of %d answers %s wrong: no schedule of the exercise, or above its memory",
                    n_invalid + n_exceed, n, n_invalid + n_exceed == 1 ? "is" : "are");
}

enum vbs_status exercise_check_class(struct cli *cli, const struct exercise_words *words,
                                     const char *const *paths, int n, enum exercise_form form)
{
    static const struct cli_column COLUMNS[] = {
        {"file", false},    {"level", true},       {"seed", true},   {"verdict", false},
        {"time, ms", true}, {"optimum, ms", true}, {"longer", true}, {"reason", false}};
    struct class_report report = {.cli = cli,
                                  .form = form,
                                  .table = {.columns = COLUMNS, .n_columns = 8},
                                  .answers = form == EXERCISE_JSON ? json_array() : NULL};
    enum vbs_status status = VBS_OK;

    vbs_text_add(&report.csv, "file,level,seed,valid,fits,optimal,step,reason,time_us,peak_bytes,"
                              "memory_bytes,optimum_us,gap_percent,hint,same_exercise,same_steps,"
                              "named_variant\n");
    for (int i = 0; i < n && status == VBS_OK; i++)
        status = judge(&report, words, paths[i]);
    if (status == VBS_OK)
        status = print(&report, n);
    cli_table_clear(&report.table);
    json_decref(report.answers);
    vbs_text_clear(&report.csv);
    vbs_text_clear(&report.remarks);
    exercise_twins_clear(&report.twins);
    return status == VBS_OK ? conclude(&report, n) : status;
}
