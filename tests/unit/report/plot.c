/*
 * Plots: the pictures are right, no name reaches a command, and no half-written file is left.
 * Pictures come from the gnuplot in PATH; stand-ins for it show the effects of its failures.
 */
#include "cases/report_sample.h"
#include "support/tap.h"

#include "base/text.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder of TMPDIR, and the one in which targets are made. */
static const char *scratch;
static char targets[] = "/tmp/tXXXXXX";

static const char *target(const char *name)
{
    static char path[sizeof targets + 64];

    snprintf(path, sizeof path, "%s/%s", targets, name);
    return path;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* The whole file, or "" when there is none; freed by the caller. */
static char *contents(const char *path)
{
    char *text = NULL;
    size_t length;

    if (vbs_read_file(NULL, path, 1 << 24, &text, &length) != VBS_OK)
        return strdup("");
    return text;
}

static enum vbs_status plot(struct vbs_ctx *ctx, const struct report_sample *sample,
                            const char *path)
{
    const struct vbs_compare *compare = &sample->compare;

    return vbs_compare_plot(ctx, &compare, 1, NULL, path);
}

static void svg_shows_everything(void)
{
    static const char *const WORDS[] = {"googlenet, request 12, io external",
                                        "Example CPU @ 2.70GHz, 2 threads",
                                        "memory budget (MiB)",
                                        "throughput (samples/s)",
                                        "fbs",
                                        "fbs-best",
                                        "greedy-vbs",
                                        "dp-vbs",
                                        "lower bound (limit)"};
    struct report_sample sample;
    struct vbs_ctx ctx = {0};
    char *svg;

    report_sample_fill(&sample);
    ok(plot(&ctx, &sample, target("a.svg")) == VBS_OK, "an SVG is drawn: %s", ctx.detail);
    svg = contents(target("a.svg"));
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
        ok(strstr(svg, WORDS[i]), "it says \"%s\"", WORDS[i]);
    ok(!strstr(svg, "never fits"), "no planner is called infeasible that fits somewhere");
    free(svg);
    is_int(report_folder_count(), 0, "no temporary file is left");
}

/* Makes all times of the sample so many times as long. */
static void slow_down(struct report_sample *sample, double factor)
{
    for (int b = 0; b < SAMPLE_BUDGETS; b++) {
        sample->bound_us[b] *= factor;
        for (int p = 0; p < SAMPLE_PLANNERS; p++) {
            sample->rows[b][p].per_sample_us *= factor;
            sample->rows[b][p].samples_per_s /= factor;
        }
    }
}

static void rates_of_any_size_are_told_shortly(void)
{
    static const struct {
        double factor;
        const char *axis, *tick;
    } CASES[] = {
        {5e5, "throughput (samples/s)", ">0.00018<"},
        {5, "throughput (samples/s)", ">18<"},
        {1.0 / 90, "throughput (samples/s)", ">8500<"},
        {1.0 / 200, "throughput (thousand samples/s)", ">18<"},
        {1.0 / 1200, "throughput (thousand samples/s)", ">110<"},
        {1e-6, "throughput (million samples/s)", ">90<"},
        {1e-9, "throughput (billion samples/s)", ">90<"},
        {1e-16, "throughput (billion samples/s)", ">9e+08<"},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct report_sample sample;
        struct vbs_ctx ctx = {0};
        char *svg;

        report_sample_fill(&sample);
        slow_down(&sample, CASES[i].factor);
        ok(plot(&ctx, &sample, target("l.svg")) == VBS_OK, "times by %g: %s", CASES[i].factor,
           ctx.detail);
        svg = contents(target("l.svg"));
        ok(strstr(svg, CASES[i].axis) && strstr(svg, CASES[i].tick), "says %s, with a tick %s",
           CASES[i].axis, CASES[i].tick);
        free(svg);
    }
}

static void axis_without_zero_is_marked(void)
{
    struct report_sample sample;
    struct vbs_ctx ctx = {0};
    char *svg;

    report_sample_fill(&sample);
    ok(plot(&ctx, &sample, target("l.svg")) == VBS_OK, "rates from 65 to 100: %s", ctx.detail);
    svg = contents(target("l.svg"));
    ok(strstr(svg, ">axis does not start at 0<"), "the axis is marked as broken");
    free(svg);
    sample.rows[0][3].samples_per_s = 20;
    ok(plot(&ctx, &sample, target("l.svg")) == VBS_OK, "rates from 20 to 100: %s", ctx.detail);
    svg = contents(target("l.svg"));
    ok(!strstr(svg, "does not start"), "an axis from 0 is not");
    ok(strstr(svg, "<text> 0<") || strstr(svg, "<text>0<"), "it has a tick at 0");
    free(svg);
}

/* True where the SVG has each of the labels, which blanks part. */
static bool has_labels(const char *svg, const char *labels)
{
    char copy[80], *rest = NULL, word[40], padded[40];

    snprintf(copy, sizeof copy, "%s", labels);
    for (char *label = strtok_r(copy, " ", &rest); label; label = strtok_r(NULL, " ", &rest)) {
        snprintf(word, sizeof word, ">%s<", label);
        snprintf(padded, sizeof padded, "> %s<", label);
        if (!strstr(svg, word) && !strstr(svg, padded))
            return false;
    }
    return true;
}

static void memory_has_ticks_at_round_numbers(void)
{
    static const struct {
        int64_t budgets[SAMPLE_BUDGETS]; /* in KiB */
        enum vbs_weights weights;
        const char *unit, *ticks, *absent;
    } CASES[] = {
        {{10240, 20480, 30720, 40960}, VBS_WEIGHTS_EXCLUDED, "MiB", "10 15 20 25 30 35 40", "32"},
        {{102400, 112640, 122880, 143360}, VBS_WEIGHTS_INCLUDED, "MiB", "100 110 140", "104 128"},
        {{102400, 204800, 409600, 819200}, VBS_WEIGHTS_EXCLUDED, "MiB", "128 192 512 768", "184"},
        {{102400, 204800, 819200, 1638400}, VBS_WEIGHTS_INCLUDED, "MiB", "128 512 1024", "184"},
        {{1024, 8192, 65536, 614400}, VBS_WEIGHTS_INCLUDED, "MiB", "1 2 64 512", "0.5"},
        {{100, 1000, 10000, 60000}, VBS_WEIGHTS_EXCLUDED, "KiB", "256 1024 16384", "128"},
        {{5120, 81920, 1310720, 41943040}, VBS_WEIGHTS_EXCLUDED, "MiB", "16 1024 16384", "0.25"},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct report_sample sample;
        struct vbs_ctx ctx = {0};
        char *svg, axis[40];

        report_sample_fill(&sample);
        sample.compare.weights = CASES[i].weights;
        for (int b = 0; b < SAMPLE_BUDGETS; b++)
            sample.budgets[b] = CASES[i].budgets[b] * 1024;
        ok(plot(&ctx, &sample, target("l.svg")) == VBS_OK, "%lld to %lld KiB: %s",
           (long long)CASES[i].budgets[0], (long long)CASES[i].budgets[SAMPLE_BUDGETS - 1],
           ctx.detail);
        svg = contents(target("l.svg"));
        snprintf(axis, sizeof axis, ">memory budget (%s)<", CASES[i].unit);
        ok(strstr(svg, axis) && has_labels(svg, CASES[i].ticks), "%s with ticks at %s", axis,
           CASES[i].ticks);
        ok(!has_labels(svg, CASES[i].absent), "none at %s", CASES[i].absent);
        free(svg);
    }
}

static void note_says_where_times_come_from(void)
{
    struct report_sample sample;
    struct vbs_ctx ctx = {0};
    char *svg;

    report_sample_fill(&sample);
    sample.compare.provenance.device = "First CPU";
    sample.compare.judge.device = "Second CPU, stepping 3";
    sample.compare.self_judged = false;
    ok(plot(&ctx, &sample, target("l.svg")) == VBS_OK, "judged by a second profile: %s",
       ctx.detail);
    svg = contents(target("l.svg"));
    ok(strstr(svg, ">Second CPU, 2 threads, judged by a second profile<"), "the judge is noted");
    free(svg);
    report_sample_fill(&sample);
    sample.compare.judge.backend = "analytic";
    sample.compare.judge.device = "imaginary: 1 TFLOP/s, 100 GB/s";
    sample.compare.judge.threads = 0;
    ok(plot(&ctx, &sample, target("l.svg")) == VBS_OK, "analytic: %s", ctx.detail);
    svg = contents(target("l.svg"));
    ok(strstr(svg, ">modelled, not measured<") && !strstr(svg, "imaginary"),
       "modelled times are called so");
    free(svg);
}

static void every_format_is_itself(void)
{
    static const struct {
        const char *name, *start;
    } CASES[] = {{"b.svg", "<?xml"}, {"b.png", "\x89PNG"}, {"b.pdf", "%PDF-"}, {"b.SVG", "<?xml"}};
    struct report_sample sample;

    report_sample_fill(&sample);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct vbs_ctx ctx = {0};
        char *picture;

        ok(plot(&ctx, &sample, target(CASES[i].name)) == VBS_OK, "%s is drawn: %s", CASES[i].name,
           ctx.detail);
        picture = contents(target(CASES[i].name));
        ok(strncmp(picture, CASES[i].start, strlen(CASES[i].start)) == 0, "%s is of its format",
           CASES[i].name);
        free(picture);
    }
}

static int n_words(const char *text, const char *word)
{
    int n = 0;

    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

static void several_profiles_are_several_panels(void)
{
    struct report_sample samples[4];
    const struct vbs_compare *compares[4];
    struct vbs_ctx ctx = {0};
    char *svg;

    for (int i = 0; i < 4; i++) {
        report_sample_fill(&samples[i]);
        compares[i] = &samples[i].compare;
    }
    samples[1].compare.model = "second";
    samples[2].compare.model = "third";
    samples[3].compare.model = "fourth";
    report_sample_starve(&samples[3]);
    ok(vbs_compare_plot(&ctx, compares, 4, NULL, target("c.svg")) == VBS_OK, "four profiles: %s",
       ctx.detail);
    svg = contents(target("c.svg"));
    is_int(n_words(svg, ", request 12, io external"), 8, "four titles, and in that of the file");
    ok(strstr(svg, "<title>Throughput against memory: googlenet, request 12, io external; second"),
       "which says what is shown");
    is_int(n_words(svg, "<title>"), 1, "and is the only one");
    is_int(n_words(svg, ">memory budget (MiB)<"), 4, "four axes");
    ok(strstr(svg, "second, request") && strstr(svg, "fourth, request"), "each with its model");
    is_int(n_words(svg, ">no planner fits these budgets<"), 1, "one of them is empty and says so");
    is_int(n_words(svg, "<text>lower bound (limit)<"), 1, "one key");
    free(svg);
}

static void one_budget_and_one_planner(void)
{
    struct report_sample sample;
    struct vbs_ctx ctx = {0};
    char *svg;

    report_sample_fill(&sample);
    sample.compare.n_budgets = 1;
    ok(plot(&ctx, &sample, target("d.svg")) == VBS_OK, "one budget: %s", ctx.detail);
    svg = contents(target("d.svg"));
    ok(strstr(svg, "<text>fbs-best (never fits)<"), "planners that fit nowhere are named so");
    free(svg);
    report_sample_fill(&sample);
    sample.compare.n_planners = 1;
    ok(plot(&ctx, &sample, target("e.svg")) == VBS_OK, "one planner: %s", ctx.detail);
    svg = contents(target("e.svg"));
    ok(!strstr(svg, "dp-vbs"), "others are not in the key");
    free(svg);
}

/* Each of them would make a file if any part were taken for a command. */
static void hostile_names_reach_no_command(void)
{
    static const char *const FORMS[] = {"`touch %s`",
                                        "$(touch %s)",
                                        "'.system(\"touch %s\").'",
                                        "\"; system('touch %s') #",
                                        "x'\nsystem 'touch %s'\n'",
                                        "x\\\n!touch %s\n",
                                        "''.system('touch %s').''",
                                        "'",
                                        "a'",
                                        "''''",
                                        "@touch %s",
                                        "\xff\xc2\x9b<!-- %s --><script>"};
    char trap[64], name[160];
    int n_drawn = 0, n_sprung = 0, n_raw = 0;

    snprintf(trap, sizeof trap, "%s/x", targets);
    for (size_t i = 0; i < sizeof FORMS / sizeof FORMS[0]; i++) {
        struct report_sample sample;
        struct vbs_ctx ctx = {0};
        char *svg;

        report_sample_fill(&sample);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(name, sizeof name, FORMS[i], trap);
#pragma GCC diagnostic pop
        sample.compare.model = name;
        sample.compare.provenance.device = sample.compare.judge.device = name;
        n_drawn += plot(&ctx, &sample, target("f.svg")) == VBS_OK;
        if (ctx.detail[0])
            printf("# %s\n", ctx.detail);
        svg = contents(target("f.svg"));
        n_sprung += exists(trap);
        n_raw += strstr(svg, "<script>") || strstr(svg, "\xff") || strstr(svg, "<!--");
        free(svg);
        unlink(trap);
    }
    is_int(n_drawn, (int64_t)(sizeof FORMS / sizeof FORMS[0]), "hostile names are drawn");
    is_int(n_sprung, 0, "none is run");
    is_int(n_raw, 0, "none is markup");
}

/* Some names would end a text of SVG, or are UTF-8 but no text of XML. */
static void names_leave_svg_well_formed(void)
{
    struct report_sample sample;
    const struct vbs_compare *compare = &sample.compare;
    struct vbs_ctx ctx = {0};
    char *svg;

    report_sample_fill(&sample);
    sample.compare.model = "a]]>b<c>&\xef\xbf\xbf\xef\xbf\xbe";
    ok(vbs_compare_plot(&ctx, &compare, 1, NULL, target("a.svg")) == VBS_OK, "a hostile model: %s",
       ctx.detail);
    svg = contents(target("a.svg"));
    ok(svg && !strstr(svg, "a]]>b") && !strstr(svg, "\xef\xbf\xbf") && !strstr(svg, "\xef\xbf\xbe"),
       "leaves nothing that is not XML");
    ok(svg && strstr(svg, "<title>Throughput against memory: a]]&gt;b&lt;c&gt;&amp;"),
       "and stands in the title of the file");
    free(svg);
}

static void hostile_target_is_only_a_name(void)
{
    struct report_sample sample;
    struct vbs_ctx ctx = {0};
    const char *path = target("'`touch x`$(id)\n; .svg");

    report_sample_fill(&sample);
    ok(plot(&ctx, &sample, path) == VBS_OK && exists(path),
       "a hostile file name is a file name: %s", ctx.detail);
    unlink(path);
}

static void nothing_to_plot_is_said(void)
{
    struct report_sample sample;
    struct vbs_ctx ctx = {0};

    report_sample_fill(&sample);
    report_sample_starve(&sample);
    ok(plot(&ctx, &sample, target("g.svg")) == VBS_INFEASIBLE, "nothing fits: %s", ctx.detail);
    ok(strstr(ctx.detail, "49283072 bytes (47 MiB), with dp-vbs"), "the least budget is named");
    ok(!exists(target("g.svg")), "no file is made");
}

static void other_endings_are_refused(void)
{
    static const char *const NAMES[] = {"-", "plot", "plot.gif", "plot.svg/", ".", ""};
    struct report_sample sample;
    struct vbs_ctx ctx = {0};

    report_sample_fill(&sample);
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        ok(plot(&ctx, &sample, NAMES[i]) == VBS_USAGE, "'%s': %s", NAMES[i], ctx.detail);
}

static void unwritable_target_leaves_nothing(void)
{
    struct report_sample sample;
    struct vbs_ctx ctx = {0};

    report_sample_fill(&sample);
    ok(plot(&ctx, &sample, target("none/h.svg")) == VBS_IO, "no such folder: %s", ctx.detail);
    is_int(report_folder_count(), 0, "nothing is left in TMPDIR");
    setenv("TMPDIR", target("none"), 1);
    ok(plot(&ctx, &sample, target("h.svg")) == VBS_IO, "no TMPDIR: %s", ctx.detail);
    setenv("TMPDIR", scratch, 1);
    ok(!exists(target("h.svg")), "no file is made");
}

/* The limit stands for a full disk; our own files, gnuplot's, or the target reach it. */
static void full_disk_leaves_nothing(void)
{
    static const rlim_t LIMITS[] = {0, 100, 12000};
    struct report_sample sample;
    struct rlimit before, limit;

    report_sample_fill(&sample);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    for (size_t i = 0; i < sizeof LIMITS / sizeof LIMITS[0]; i++) {
        struct vbs_ctx ctx = {0};
        enum vbs_status status;

        limit = before;
        limit.rlim_cur = LIMITS[i];
        setrlimit(RLIMIT_FSIZE, &limit);
        status = plot(&ctx, &sample, target("i.png"));
        setrlimit(RLIMIT_FSIZE, &before);
        ok(status == VBS_IO || status == VBS_LIBRARY, "room for %d bytes: %s", (int)LIMITS[i],
           ctx.detail);
        ok(!exists(target("i.png")), "no part of the picture is left");
        is_int(report_folder_count(), 0, "nothing is left in TMPDIR");
    }
    signal(SIGXFSZ, SIG_DFL);
}

static void old_picture_outlives_a_failure(void)
{
    struct report_sample sample;
    struct vbs_ctx ctx = {0};
    char *before, *after;

    report_sample_fill(&sample);
    ok(plot(&ctx, &sample, target("j.svg")) == VBS_OK, "a picture is there");
    before = contents(target("j.svg"));
    report_sample_starve(&sample);
    ok(plot(&ctx, &sample, target("j.svg")) != VBS_OK, "the next fails");
    after = contents(target("j.svg"));
    is_str(after, before, "the picture is as it was");
    free(before);
    free(after);
}

/* Puts a program called gnuplot, or none, into an otherwise empty PATH; plots. */
static enum vbs_status plot_with(struct vbs_ctx *ctx, const char *program)
{
    struct report_sample sample;
    char *path = strdup(getenv("PATH")), gnuplot[64];
    enum vbs_status status;

    snprintf(gnuplot, sizeof gnuplot, "%s/gnuplot", targets);
    if (!path || (program && vbs_write_file(ctx, gnuplot, program, strlen(program)) != VBS_OK))
        exit(1);
    chmod(gnuplot, 0700);
    report_sample_fill(&sample);
    setenv("PATH", targets, 1);
    status = plot(ctx, &sample, target("k.svg"));
    setenv("PATH", path, 1);
    unlink(gnuplot);
    free(path);
    return status;
}

static void failures_of_gnuplot_are_told(void)
{
    struct vbs_ctx ctx = {0};

    ok(plot_with(&ctx, NULL) == VBS_UNSUPPORTED, "no gnuplot: %s", ctx.detail);
    ok(strstr(ctx.detail, "gnuplot-nox"), "the package is named");
    ok(plot_with(&ctx,
                 "#!/bin/sh\necho >&2\necho '  plot x' >&2\n"
                 "echo '\"script\" line 3: bad \033[1m' >&2\necho more; exit 1\n") == VBS_LIBRARY,
       "gnuplot fails: %s", ctx.detail);
    ok(strstr(ctx.detail, "\"script\" line 3: bad \\x1b[1m"), "the line with its reason is told");
    ok(plot_with(&ctx, "#!/bin/sh\nexit 3\n") == VBS_LIBRARY, "without a word: %s", ctx.detail);
    ok(plot_with(&ctx, "#!/bin/sh\nkill -TERM $$\n") == VBS_LIBRARY, "by a signal: %s", ctx.detail);
    ok(plot_with(&ctx, "#!/bin/sh\nexit 0\n") == VBS_LIBRARY, "without a picture: %s", ctx.detail);
    ok(plot_with(&ctx, "#!/bin/sh\necho '<?xml half of a picture' > /dev/fd/5\n") == VBS_LIBRARY,
       "with half a picture: %s", ctx.detail);
    ok(!exists(target("k.svg")), "no file is made by any of them");
    is_int(report_folder_count(), 0, "nothing is left in TMPDIR");
}

/* Files have no names even while gnuplot runs, so that none stays when the process is killed. */
static void files_have_no_names(void)
{
    char program[512];
    struct vbs_ctx ctx = {0};

    snprintf(
        program, sizeof program,
        "#!/bin/sh\n[ -s /dev/fd/3 ] && [ -s /dev/fd/4 ] && set -- '%s'/* && [ ! -e \"$1\" ] &&\n"
        "echo line 1: nothing there >&2\nexit 1\n",
        scratch);
    ok(plot_with(&ctx, program) == VBS_LIBRARY && strstr(ctx.detail, "line 1: nothing there"),
       "gnuplot has a script and data, and the folder of temporary files is empty: %s", ctx.detail);
}

static void wish_to_stop_is_heard(void)
{
    struct vbs_ctx ctx = {0};
    volatile sig_atomic_t stop = 1;

    ctx.cancel = &stop;
    ok(plot_with(&ctx, "#!/bin/sh\nexit 0\n") == VBS_INTERRUPTED, "interrupted: %s", ctx.detail);
}

static void with_gnuplot(void)
{
    svg_shows_everything();
    rates_of_any_size_are_told_shortly();
    axis_without_zero_is_marked();
    memory_has_ticks_at_round_numbers();
    note_says_where_times_come_from();
    every_format_is_itself();
    several_profiles_are_several_panels();
    one_budget_and_one_planner();
    hostile_names_reach_no_command();
    names_leave_svg_well_formed();
    hostile_target_is_only_a_name();
    unwritable_target_leaves_nothing();
    full_disk_leaves_nothing();
    old_picture_outlives_a_failure();
}

static void remove_targets(void)
{
    static const char *const NAMES[] = {"a.svg", "b.svg", "b.png", "b.pdf", "b.SVG", "c.svg",
                                        "d.svg", "e.svg", "f.svg", "j.svg", "l.svg"};

    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        unlink(target(NAMES[i]));
    ok(rmdir(targets) == 0, "nothing else lies beside the pictures");
}

int main(void)
{
    if (!mkdtemp(targets))
        return 1;
    scratch = report_folder();
    if (system("gnuplot --version >/dev/null 2>&1") == 0)
        with_gnuplot();
    else
        skip("drawing", "gnuplot is not installed");
    nothing_to_plot_is_said();
    other_endings_are_refused();
    failures_of_gnuplot_are_told();
    files_have_no_names();
    wish_to_stop_is_heard();
    remove_targets();
    report_folder_remove();
    return done_testing();
}
