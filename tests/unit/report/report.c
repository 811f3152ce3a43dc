/*
 * A comparison is printed as table, JSON and CSV in the forms that are kept in tests/data/golden,
 * which UPDATE_GOLDEN=1 renews.
 */
#include "cases/report_sample.h"
#include "support/tap.h"

#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>

#define HOSTILE                                                                                    \
    "ev\x1b[31mil\r\n`id`$(id)'\"<&>\t\xe2\x80\xae\xc2\x9b"                                        \
    "31m, {/Bold \xff}"

static int is_golden(const char *text, const char *path, const char *name)
{
    const char *renew = getenv("UPDATE_GOLDEN");
    struct vbs_ctx ctx = {0};
    char *golden = NULL;
    size_t length;
    int same;

    if (renew && renew[0] && vbs_write_file(&ctx, path, text, strlen(text)) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    if (vbs_read_file(&ctx, path, 1 << 20, &golden, &length) != VBS_OK)
        return ok(0, "%s: %s", name, vbs_detail(&ctx));
    same = is_str(text, golden, name);
    free(golden);
    return same;
}

static char *table_within(const struct vbs_compare *compare, int columns, bool colour)
{
    struct vbs_ctx ctx = {0};
    char *text = NULL;

    if (vbs_compare_table(&ctx, compare, columns, colour, &text) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    return text;
}

static char *table_of(const struct vbs_compare *compare, bool colour)
{
    return table_within(compare, 0, colour);
}

/* Gives whether words stand in text, however its lines are broken. */
static bool says(const char *text, const char *words)
{
    for (; *text; text++) {
        const char *t = text, *w = words;

        while (*w && (*t == *w || (*w == ' ' && *t == '\n'))) {
            t++;
            w++;
            if (t[-1] == '\n')
                t += strspn(t, " ");
        }
        if (!*w)
            return true;
    }
    return false;
}

static int widest_line(const char *text)
{
    int widest = 0, width = 0;

    for (; *text; text++) {
        width = *text == '\n' ? 0 : width + (((unsigned char)*text & 0xc0) != 0x80);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Removes "ESC [ ... m", in place; returns their number. */
static int strip_colour(char *text)
{
    char *to = text;
    int n = 0;

    while (*text) {
        if (*text == '\x1b') {
            text += strcspn(text, "m") + 1;
            n++;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
    return n;
}

static void table_is_as_agreed(void)
{
    struct report_sample sample;
    char *plain, *coloured;

    report_sample_fill(&sample);
    plain = table_of(&sample.compare, false);
    is_golden(plain, "tests/data/golden/compare-table.txt", "table of a comparison");
    ok(!strchr(plain, '\x1b'), "no escape sequence without colour");
    coloured = table_of(&sample.compare, true);
    is_int(strip_colour(coloured), 2 * 5, "colour marks the fastest cells, five with a tie");
    is_str(coloured, plain, "colour changes nothing else");
    free(plain);
    free(coloured);
}

static void table_tells_who_judged(void)
{
    struct report_sample sample;
    char *text;

    report_sample_fill(&sample);
    sample.compare.self_judged = false;
    sample.compare.judge.device = "Another CPU";
    sample.compare.judge_id = 8;
    text = table_of(&sample.compare, false);
    ok(says(text, "judged by oneDNN 2.6.3, Another CPU, 2 threads"), "names the judge");
    ok(!says(text, "same measurements"), "no caution with an independent judge");
    ok(strstr(text, "\nplanned on the first profile, judged by the second: luck in the first does "
                    "not count\n"),
       "says in one line what that means");
    ok(says(text, "fbs-best (the fastest uniform batch that fits, by the first profile)"),
       "and by which profile fbs-best was chosen");
    free(text);
    sample.compare.judge.backend = sample.compare.provenance.backend = "analytic";
    text = table_of(&sample.compare, false);
    ok(says(text, "modelled, not measured"), "says that times are modelled");
    free(text);
}

/* A gain whose interval is not known. */
static struct vbs_gain exactly(double percent)
{
    return (struct vbs_gain){percent, NAN, NAN};
}

/* Makes dp-vbs slower than fbs by factor everywhere. */
static void let_ours_lose(struct report_sample *sample, double factor)
{
    for (int b = 0; b < SAMPLE_BUDGETS; b++) {
        struct vbs_compare_row *row = &sample->rows[b][3], *fbs = &sample->rows[b][0];

        if (!fbs->feasible)
            continue;
        row->per_sample_us = factor * fbs->per_sample_us;
        row->gain_over_fbs = exactly(100 * (1 - factor));
        row->gain_over_fbs_best =
            exactly(100 * (1 - row->per_sample_us / sample->rows[b][1].per_sample_us));
    }
    sample->compare.self_judged = false;
}

static void table_admits_losses(void)
{
    struct report_sample sample;
    char *text;

    report_sample_fill(&sample);
    text = table_of(&sample.compare, false);
    ok(!says(text, "no gain") && !says(text, "below 0"), "gains alone need no such words");
    free(text);
    let_ours_lose(&sample, 1.25);
    text = table_of(&sample.compare, false);
    ok(says(text, "largest gain below 30 MiB: no gain over fbs, no gain over fbs-best; above 35 "
                  "MiB: no gain over fbs, no gain over fbs-best"),
       "a largest gain below 0 is called no gain");
    ok(strstr(text, "-25.0%"), "rows show the loss");
    ok(says(text, "percent less time per sample (below 0: more) than fbs"), "which is explained");
    free(text);
    let_ours_lose(&sample, 1.0002);
    text = table_of(&sample.compare, false);
    ok(says(text, "no gain over fbs,"), "a gain that is shown as 0.0%% is no gain");
    free(text);
    for (int b = 0; b < SAMPLE_BUDGETS; b++)
        sample.rows[b][3].gain_over_fbs = exactly(NAN);
    sample.rows[3][3].gain_over_fbs_best = exactly(7);
    text = table_of(&sample.compare, false);
    ok(says(text, "above 35 MiB: no comparison with fbs, 7.0% over fbs-best (40 MiB)"),
       "no comparison is not called no gain");
    free(text);
}

static void table_marks_what_is_noise(void)
{
    struct report_sample sample;
    char *text;

    report_sample_fill(&sample);
    text = table_of(&sample.compare, false);
    ok(strstr(text, "  ~12.00  ") && strstr(text, "  *11.00  "),
       "a time within noise of the fastest is marked");
    ok(strstr(text, "  ~8.3+-10.0%  ") && strstr(text, "  12.0+-1.0%  "),
       "so is a gain that may be none");
    ok(says(text, "~ slower than that, but within noise of it"), "and the mark is explained");
    ok(says(text, "(999 draws from the samples behind the medians)"), "with what was drawn from");
    free(text);
    sample.compare.intervals = VBS_INTERVALS_ROWS;
    text = table_of(&sample.compare, false);
    ok(says(text, "(999 draws from the intervals of the medians)"), "or from the rows");
    free(text);
    sample.compare.intervals = VBS_INTERVALS_NONE;
    for (int i = 0; i < SAMPLE_BUDGETS * SAMPLE_PLANNERS; i++) {
        struct vbs_compare_row *row = &sample.rows[0][0] + i;

        row->gain_over_fbs = exactly(row->gain_over_fbs.percent);
        row->gain_over_fbs_best = exactly(row->gain_over_fbs_best.percent);
        row->noise = VBS_NOISE_UNKNOWN;
    }
    text = table_of(&sample.compare, false);
    ok(!strstr(text, "+-") && !strstr(text, "~"), "without intervals there are no marks");
    ok(says(text, "times are taken as exact: the profile has no intervals of them"),
       "which is said");
    free(text);
    sample.rows[3][3].gain_over_fbs = (struct vbs_gain){5, -1e9, 7};
    text = table_of(&sample.compare, false);
    ok(strstr(text, "  5.0%  "), "an interval that says nothing is left out");
    free(text);
}

static void table_tells_of_latency(void)
{
    struct report_sample sample;
    char *text;

    report_sample_fill(&sample);
    sample.compare.latency_bound_us = 150e3;
    sample.rows[0][0].least_bytes = INT64_MAX;
    sample.rows[0][0].least_latency_us = 151234.56;
    text = table_of(&sample.compare, false);
    ok(says(text, "no sample waits longer than 150 ms"), "the bound is in the heading");
    ok(says(text, "least budget that fits: fbs none that answers within 150000 us, but one within "
                  "151235 us, "
                  "fbs-best 12.10 MiB"),
       "a planner that cannot keep it in any memory says what it could");
    ok(says(text, "by the judge's times 3 of 11 schedules have a sample wait longer, up to 186 ms"),
       "what the judge makes of it is told");
    free(text);
}

enum { MAX_REPEATED = 16 };

/* Fills n planners: the same four again and again. */
static void repeat_planners(struct report_sample *sample, int n,
                            const struct vbs_planner **planners, struct vbs_compare_row *rows)
{
    for (int p = 0; p < n; p++)
        planners[p] = sample->planners[p % SAMPLE_PLANNERS];
    for (int i = 0; i < SAMPLE_BUDGETS * n; i++)
        rows[i] = sample->rows[i / n][i % n % SAMPLE_PLANNERS];
    sample->compare.n_planners = n;
    sample->compare.planners = planners;
    sample->compare.rows = rows;
}

static void wide_table_is_broken_into_blocks(void)
{
    static const int COUNTS[] = {4, 6, 8, 16};
    struct report_sample sample;
    const struct vbs_planner *planners[MAX_REPEATED];
    struct vbs_compare_row rows[SAMPLE_BUDGETS * MAX_REPEATED];

    for (size_t i = 0; i < sizeof COUNTS / sizeof COUNTS[0]; i++) {
        int n_memory = 0;
        char *text;

        report_sample_fill(&sample);
        repeat_planners(&sample, COUNTS[i], planners, rows);
        sample.compare.provenance.device = sample.compare.judge.device =
            "Imaginary(R) Accelerator(TM) 9999-XL, family 6 model 207 stepping 2, "
            "avx512_core_bf16_and_more_without_any_space_in_the_name_of_the_instruction_set";
        sample.compare.self_judged = false;
        text = table_of(&sample.compare, false);
        ok(widest_line(text) <= 100, "%d planners: no line above 100 columns, got %d", COUNTS[i],
           widest_line(text));
        for (const char *at = text; (at = strstr(at, "  memory  ")); at++)
            n_memory++;
        ok(n_memory > (COUNTS[i] > 6), "%d blocks, each with the memory column", n_memory);
        if (COUNTS[i] > 4)
            ok(strstr(text, "batches\n") && strstr(strstr(text, "\n\n  memory  "), "gain over"),
               "the figures of the best planner stand together in the last");
        if (COUNTS[i] > 7)
            ok(says(text, "those of the best planner, the fastest that is no baseline"),
               "says whose gains are shown");
        free(text);
    }
}

static void table_shows_every_size(void)
{
    static const struct {
        int64_t first, step;
        const char *unit, *last;
    } CASES[] = {
        {1, 1, "     B  ", "       4  "},
        {15000000, 1000000, "    MB  ", "      18  "},
        {512 << 10, 512 << 10, "   MiB  ", "     2.0  "},
        {200 << 10, 200 << 10, "   KiB  ", "     800  "},
        {1 << 20, 7000001, "       B  ", "  22048579  "},
        {5630853, 1 << 20, "   MiB  ", "    8.37  "},
        {INT64_C(8) << 30, INT64_C(1) << 30, "   GiB  ", "      11  "},
        {INT64_MAX - 3, 1, "                  B  ", "  9223372036854775807  "},
    };
    struct report_sample sample;

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char *text;

        report_sample_fill(&sample);
        for (int b = 0; b < SAMPLE_BUDGETS; b++)
            sample.budgets[b] = CASES[i].first + b * CASES[i].step;
        text = table_of(&sample.compare, false);
        ok(strstr(text, CASES[i].unit) && strstr(text, CASES[i].last),
           "budgets from %lld by %lld are shown exactly", (long long)CASES[i].first,
           (long long)CASES[i].step);
        free(text);
    }
}

static void starved_table_is_readable(void)
{
    struct report_sample sample;
    char *text;

    report_sample_fill(&sample);
    report_sample_starve(&sample);
    text = table_of(&sample.compare, false);
    is_golden(text, "tests/data/golden/compare-table-infeasible.txt", "table where nothing fits");
    free(text);
}

static int n_controls(const char *text)
{
    int n = 0;

    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        n += (*c < 0x20 && *c != '\n') || *c == 0x7f;
    return n;
}

static void hostile_names_are_harmless_on_a_terminal(void)
{
    struct report_sample sample;
    char *text;

    report_sample_fill(&sample);
    sample.compare.model = HOSTILE;
    sample.compare.provenance.input = HOSTILE;
    sample.compare.provenance.library = HOSTILE;
    sample.compare.provenance.device = HOSTILE;
    sample.compare.provenance.date = HOSTILE;
    text = table_of(&sample.compare, false);
    is_int(n_controls(text), 0, "no control character of a name reaches the table");
    ok(!strstr(text, "\xe2\x80\xae") && !strstr(text, "\xc2\x9b"),
       "neither do direction overrides and C1 controls");
    ok(!strstr(text, "\xff"), "nor bytes that are no UTF-8");
    ok(strstr(text, "ev\\x1b[31mil\\x0d\\x0a`id`$(id)'\"<&>\\x09"), "they are shown instead");
    ok(widest_line(text) <= 100, "and wrapped at 100 columns, got %d", widest_line(text));
    free(text);
}

static json_t *json_of(const struct vbs_compare *const *compares, int n)
{
    struct vbs_ctx ctx = {0};
    char *text = NULL;
    json_error_t error;
    json_t *json;

    if (vbs_compare_json(&ctx, compares, n, &text) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    json = text ? json_loads(text, JSON_REJECT_DUPLICATES, &error) : NULL;
    free(text);
    return json;
}

static double real_of(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);

    return json_is_real(value) ? json_real_value(value) : json_is_null(value) ? NAN : -1e300;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static int64_t int_of(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);

    return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* Gives whether a result of a row matches; an infeasible row has none. */
static bool result_matches(const json_t *json, const struct vbs_compare_row *row, const char *key,
                           double value)
{
    const json_t *given = json_object_get(json, key);

    if (!row->feasible)
        return json_is_null(given);
    return json_is_number(given) && json_number_value(given) == value;
}

static bool row_matches(const json_t *json, const struct vbs_compare_row *row, double bound_us)
{
    const char *planner = json_string_value(json_object_get(json, "planner"));

    return int_of(json, "memory_bytes") == row->memory_bytes && planner &&
           strcmp(planner, vbs_planner_name(row->planner)) == 0 &&
           json_is_boolean(json_object_get(json, "feasible")) &&
           json_is_true(json_object_get(json, "feasible")) == row->feasible &&
           result_matches(json, row, "per_sample_us", row->per_sample_us) &&
           result_matches(json, row, "samples_per_s", row->samples_per_s) &&
           result_matches(json, row, "peak_bytes", (double)row->peak_bytes) &&
           same(real_of(json, "gain_over_fbs_percent"),
                row->feasible ? row->gain_over_fbs.percent : NAN) &&
           same(real_of(json, "gain_over_fbs_best_percent"),
                row->feasible ? row->gain_over_fbs_best.percent : NAN) &&
           result_matches(json, row, "gap_percent", row->gap_percent) &&
           result_matches(json, row, "max_batch", row->max_batch) &&
           result_matches(json, row, "min_batch", row->min_batch) &&
           result_matches(json, row, "plan_us", row->plan_us) &&
           int_of(json, "least_bytes") == row->least_bytes &&
           result_matches(json, row, "latency_us", row->latency_us) &&
           same(real_of(json, "bound_us"), isfinite(bound_us) ? bound_us : NAN);
}

/* Gives whether the noise of a row matches; an infeasible row has none. */
static bool noise_matches(const json_t *json, const struct vbs_compare_row *row)
{
    static const char *const KEYS[] = {"gain_over_fbs_low_percent", "gain_over_fbs_high_percent",
                                       "gain_over_fbs_best_low_percent",
                                       "gain_over_fbs_best_high_percent"};
    const struct vbs_gain *fbs = &row->gain_over_fbs, *best = &row->gain_over_fbs_best;
    const double ends[] = {fbs->low_percent, fbs->high_percent, best->low_percent,
                           best->high_percent};
    const json_t *within = json_object_get(json, "within_noise");

    for (int i = 0; i < 4; i++)
        if (!same(real_of(json, KEYS[i]), row->feasible ? ends[i] : NAN))
            return false;
    return row->noise == VBS_NOISE_UNKNOWN
               ? json_is_null(within)
               : json_is_boolean(within) &&
                     json_is_true(within) == (row->noise == VBS_NOISE_WITHIN);
}

static void a_table_fits_the_terminal(void)
{
    static const int COLUMNS[] = {40, 60, 80, 120};
    struct report_sample sample;

    report_sample_fill(&sample);
    for (size_t i = 0; i < sizeof COLUMNS / sizeof COLUMNS[0]; i++) {
        char *text = table_within(&sample.compare, COLUMNS[i], false);
        int widest = text ? widest_line(text) : 0;

        ok(widest > COLUMNS[i] / 2 && widest <= COLUMNS[i], "in %d columns the widest line has %d",
           COLUMNS[i], widest);
        ok(text && says(text, "greedy-vbs") && says(text, "gain over"), "and words are whole");
        free(text);
    }
}

static void json_holds_every_number_exactly(void)
{
    struct report_sample sample;
    const struct vbs_compare *compares[] = {&sample.compare, &sample.compare};
    json_t *json, *rows, *provenance, *profiles;
    int n_same = 0;

    report_sample_fill(&sample);
    sample.rows[1][3].per_sample_us = 0.1 + 0.2;
    sample.rows[2][3].plan_us = 1.0 / 3;
    json = json_of(compares, 1);
    is_str(json_string_value(json_object_get(json, "format")), "vbslab-compare-1", "format");
    is_int(int_of(json, "profile"), 7, "profile");
    is_str(json_string_value(json_object_get(json, "model")), "googlenet", "model");
    is_int(int_of(json, "request"), 12, "request");
    is_str(json_string_value(json_object_get(json, "io")), "external", "io");
    rows = json_object_get(json, "rows");
    is_int((int64_t)json_array_size(rows), SAMPLE_BUDGETS * SAMPLE_PLANNERS,
           "a row per budget and planner");
    for (int i = 0; i < SAMPLE_BUDGETS * SAMPLE_PLANNERS; i++)
        n_same += row_matches(json_array_get(rows, (size_t)i), &sample.compare.rows[i],
                              sample.compare.bound_us[i / SAMPLE_PLANNERS]) &&
                  noise_matches(json_array_get(rows, (size_t)i), &sample.compare.rows[i]);
    is_int(n_same, SAMPLE_BUDGETS * SAMPLE_PLANNERS,
           "rows come back to the bit, no number and no result of an infeasible row as null");
    provenance = json_object_get(json, "provenance");
    is_str(json_string_value(json_object_get(provenance, "hash")), sample.compare.hash, "hash");
    ok(json_is_false(json_object_get(provenance, "modelled")), "its times are measured");
    is_int(int_of(json, "version"), 2, "version");
    profiles = json_object_get(json, "profiles");
    ok(json_array_size(profiles) == 1 &&
           json_equal(json_object_get(json_array_get(profiles, 0), "rows"), rows),
       "one profile is in the array of all, too");
    json_decref(json);
    json = json_of(compares, 2);
    profiles = json_object_get(json, "profiles");
    ok(json_array_size(profiles) == 2 && json_is_object(json_array_get(profiles, 1)) &&
           !json_object_get(json, "rows") && int_of(json, "version") == 2,
       "several are only there");
    json_decref(json);
}

static void json_has_null_for_what_is_not_known(void)
{
    struct report_sample sample;
    const struct vbs_compare *compare = &sample.compare;
    json_t *json, *row;

    report_sample_fill(&sample);
    sample.rows[0][0].least_bytes = INT64_MAX;
    sample.rows[0][0].least_latency_us = 1234.5;
    sample.rows[1][3].gain_over_fbs = exactly(12.5);
    sample.rows[1][3].noise = VBS_NOISE_UNKNOWN;
    sample.compare.latency_bound_us = 1000;
    json = json_of(&compare, 1);
    is_str(json_string_value(json_object_get(json, "intervals")), "samples",
           "what intervals come from");
    is_near(real_of(json, "latency_bound_us"), 1000, 0, "the bound on the latency");
    row = json_array_get(json_object_get(json, "rows"), 0);
    ok(json_is_null(json_object_get(row, "least_bytes")) &&
           real_of(row, "least_latency_us") == 1234.5,
       "no budget helps, but a longer latency");
    row = json_array_get(json_object_get(json, "rows"), SAMPLE_PLANNERS + 3);
    ok(real_of(row, "gain_over_fbs_percent") == 12.5 &&
           json_is_null(json_object_get(row, "gain_over_fbs_low_percent")) &&
           json_is_null(json_object_get(row, "within_noise")) &&
           json_is_null(json_object_get(row, "least_latency_us")),
       "a gain without an interval");
    json_decref(json);
    sample.compare.intervals = VBS_INTERVALS_NONE;
    json = json_of(&compare, 1);
    is_str(json_string_value(json_object_get(json, "intervals")), "none", "no intervals");
    json_decref(json);
}

static void json_keeps_hostile_names(void)
{
    static const char VALID[] = "ev\x1b[31mil\r\n`id`$(id)'\"<&>\t\xe2\x80\xae";
    struct report_sample sample;
    const struct vbs_compare *compare = &sample.compare;
    json_t *json;

    report_sample_fill(&sample);
    sample.compare.model = VALID;
    json = json_of(&compare, 1);
    is_str(json_string_value(json_object_get(json, "model")), VALID, "UTF-8 comes back unchanged");
    json_decref(json);
    sample.compare.model = "a\xff"
                           "b\xc0\x80\xed\xa0\x80";
    json = json_of(&compare, 1);
    ok(json, "bytes that are no UTF-8 do not spoil the JSON");
    ok(json && strncmp(json_string_value(json_object_get(json, "model")),
                       "a\xef\xbf\xbd"
                       "b",
                       5) == 0,
       "they become replacement characters");
    json_decref(json);
}

static void csv_holds_the_same_fields(void)
{
    struct report_sample sample;
    const struct vbs_compare *compare = &sample.compare;
    struct vbs_ctx ctx = {0};
    char *text = NULL;
    int n_lines = 0;

    report_sample_fill(&sample);
    sample.rows[1][3].per_sample_us = 0.1 + 0.2;
    ok(vbs_compare_csv(&ctx, &compare, 1, &text) == VBS_OK, "CSV is made");
    is_golden(text, "tests/data/golden/compare.csv", "CSV of a comparison");
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        n_lines++;
    is_int(n_lines, 1 + SAMPLE_BUDGETS * SAMPLE_PLANNERS, "a header and a line per row");
    free(text);
    sample.compare.model = "a,\"b\"\nc";
    ok(vbs_compare_csv(&ctx, &compare, 1, &text) == VBS_OK, "CSV with a hostile name is made");
    ok(strstr(text, "7,7,true,\"a,\"\"b\"\"\nc\",12,external,10485760,fbs,false,"),
       "the name is quoted as RFC 4180 asks");
    free(text);
}

/* The last planner was interrupted at the last budget. */
static void missing_rows_are_told(void)
{
    struct report_sample sample;
    const struct vbs_compare *compare = &sample.compare;
    struct vbs_compare_row *last = &sample.rows[SAMPLE_BUDGETS - 1][SAMPLE_PLANNERS - 1];
    struct vbs_ctx ctx = {0};
    json_t *json;
    char *text = NULL;
    int n_lines = 0;

    report_sample_fill(&sample);
    *last = (struct vbs_compare_row){
        .memory_bytes = last->memory_bytes, .planner = last->planner, .missing = true};
    sample.compare.interrupted = true;
    sample.compare.intervals = VBS_INTERVALS_NONE;
    ok(vbs_compare_table(&ctx, compare, 100, false, &text) == VBS_OK, "a table with a gap is made");
    ok(text && strstr(text, " ...") && strstr(text, "... interrupted before it was"),
       "and marks what is missing");
    ok(text && strstr(text, "interrupted: the noise of the gains was not computed"),
       "and says why there are no intervals");
    free(text);
    text = NULL;
    json = json_of(&compare, 1);
    is_int((int)json_array_size(json_object_get(json, "rows")),
           SAMPLE_BUDGETS * SAMPLE_PLANNERS - 1, "JSON leaves the row out");
    ok(json_is_true(json_object_get(json, "interrupted")), "and says that some may be missing");
    json_decref(json);
    ok(vbs_compare_csv(&ctx, &compare, 1, &text) == VBS_OK, "CSV is made");
    for (const char *at = text; at && (at = strchr(at, '\n')); at++)
        n_lines +=
            strncmp(at - 13, ",true,0,false", 13) == 0 || strncmp(at - 12, ",true,,false", 12) == 0;
    is_int(n_lines, SAMPLE_BUDGETS * SAMPLE_PLANNERS - 1, "and likewise");
    free(text);
}

int main(void)
{
    table_is_as_agreed();
    table_tells_who_judged();
    table_admits_losses();
    table_marks_what_is_noise();
    table_tells_of_latency();
    wide_table_is_broken_into_blocks();
    table_shows_every_size();
    starved_table_is_readable();
    hostile_names_are_harmless_on_a_terminal();
    a_table_fits_the_terminal();
    json_holds_every_number_exactly();
    json_has_null_for_what_is_not_known();
    json_keeps_hostile_names();
    csv_holds_the_same_fields();
    missing_rows_are_told();
    return done_testing();
}
