#include "cli/print/schedule.h"

#include "base/fail.h"
#include "base/text.h"
#include "cli/print/flow.h"
#include "cli/print/provenance.h"
#include "cli/print/table.h"
#include "cli/print/weights.h"
#include "profile/slice.h"
#include "vbslab/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The steps of one layer in a schedule, as text for people. */
struct layer_use {
    char batches[32];    /* "6 6", "1 (12x)": in the order in which they run */
    char rows[24];       /* "8, 4": those of its stripes, each number once; empty: none */
    int window;          /* rows of the output in memory, where it has stripes */
    char algorithms[64]; /* the algorithms that it uses, each once */
    char weights[48];    /* "resident", "streamed 8x in 12 slices" */
    double time_us;
    int batch; /* of the latest run of equal steps, and their number */
    int64_t repeats;
    int64_t resident_bytes;
    int64_t n_loads; /* without resident loads */
    int n_slices;    /* of each load; -1: they differ */
};

/* ---- Batches and algorithms ---- */

/* Appends separator and text to line while there is space, and then " ..." once. */
static void append(char *line, size_t size, const char *separator, const char *text)
{
    size_t length = strlen(line), more = strlen(separator) + strlen(text);

    if (length >= 4 && strcmp(line + length - 4, " ...") == 0)
        return;
    if (length + more + sizeof " ..." <= size)
        snprintf(line + length, size - length, "%s%s", separator, text);
    else
        snprintf(line + length, size - length, " ...");
}

/* Appends the latest run of equal steps. */
static void close_run(struct layer_use *use)
{
    char text[40];

    if (use->repeats == 0)
        return;
    if (use->repeats > 1)
        snprintf(text, sizeof text, "%d (%lldx)", use->batch, (long long)use->repeats);
    else
        snprintf(text, sizeof text, "%d", use->batch);
    append(use->batches, sizeof use->batches, use->batches[0] ? " " : "", text);
    use->repeats = 0;
}

/* Gives whether name is an item of list, which has ", " between its items. */
static bool has_item(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; length > 0 && (at = strstr(at, name)); at++)
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ','))
            return true;
    return false;
}

static void append_algorithm(struct layer_use *use, const char *name)
{
    if (has_item(use->algorithms, name))
        return;
    append(use->algorithms, sizeof use->algorithms, use->algorithms[0] ? ", " : "", name);
}

/* Gives the time of one compute step by the profile. */
static double step_us(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                      const struct vbs_step *step)
{
    const struct vbs_profile_row *row =
        vbs_profile_find_row(profile, step->layer, step->batch, step->rows,
                             vbs_profile_algorithm(profile, schedule->algorithms[step->algorithm]));

    return row ? row->time_us *
                     vbs_slice_share(&profile->layers[step->layer], step->slice, step->n_slices)
               : 0;
}

/* Notes the rows of a step that computes some rows of its layer. */
static void collect_rows(const struct vbs_step *step, struct layer_use *use)
{
    char text[16];

    snprintf(text, sizeof text, "%d", step->rows);
    if (!has_item(use->rows, text))
        append(use->rows, sizeof use->rows, use->rows[0] ? ", " : "", text);
    use->window = step->window;
}

static void collect_compute(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                            const struct vbs_step *step, struct layer_use *use)
{
    use->time_us += step_us(profile, schedule, step);
    append_algorithm(use, schedule->algorithms[step->algorithm]);
    if (step->rows > 0 && step->rows < profile->layers[step->layer].rows)
        collect_rows(step, use);
    if ((step->n_slices > 0 && step->slice > 1) || step->row > 0)
        return; /* the samples were counted with the first slice, or with their first rows */
    if (step->batch != use->batch)
        close_run(use);
    use->batch = step->batch;
    use->repeats++;
}

/* ---- Weights ---- */

static void collect_load(const struct vbs_step *step, struct layer_use *use)
{
    int n_slices = step->n_slices > 0 ? step->n_slices : 1;

    if (step->resident) {
        use->resident_bytes += step->bytes;
        return;
    }
    use->n_slices = use->n_loads == 0 || use->n_slices == n_slices ? n_slices : -1;
    use->n_loads++;
}

/* Writes "resident", "streamed", "streamed 8x", "streamed 8x in 12 slices", or "resident + 30
 * loads". */
static void describe_weights(struct layer_use *use)
{
    int64_t passes = use->n_slices > 0 ? use->n_loads / use->n_slices : 0;
    size_t length;

    if (use->n_loads == 0) {
        strcpy(use->weights, use->resident_bytes > 0 ? "resident" : "");
    } else if (use->resident_bytes > 0) {
        snprintf(use->weights, sizeof use->weights, "resident + %lld load%s",
                 (long long)use->n_loads, use->n_loads == 1 ? "" : "s");
    } else if (passes == 0 || passes * use->n_slices != use->n_loads) {
        snprintf(use->weights, sizeof use->weights, "streamed in %lld load%s",
                 (long long)use->n_loads, use->n_loads == 1 ? "" : "s");
    } else {
        strcpy(use->weights, "streamed");
        length = strlen(use->weights);
        if (passes > 1)
            snprintf(use->weights + length, sizeof use->weights - length, " %lldx",
                     (long long)passes);
        length = strlen(use->weights);
        if (use->n_slices > 1)
            snprintf(use->weights + length, sizeof use->weights - length, " in %d slices",
                     use->n_slices);
    }
}

/* Fills uses[1..n_layers]. */
static void collect(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                    struct layer_use *uses)
{
    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];

        if (step->op == VBS_STEP_COMPUTE)
            collect_compute(profile, schedule, step, &uses[step->layer]);
        else if (step->op == VBS_STEP_LOAD)
            collect_load(step, &uses[step->layer]);
    }
    for (int k = 1; k <= profile->n_layers; k++) {
        close_run(&uses[k]);
        describe_weights(&uses[k]);
    }
}

/* ---- Printing ---- */

static void print_head(const struct vbs_schedule *schedule)
{
    char bytes[48];

    cli_print_name(schedule->model);
    printf("%s%lld sample%s in %s, ", schedule->model[0] ? ": " : "", (long long)schedule->request,
           schedule->request == 1 ? "" : "s",
           vbs_format_exact(schedule->memory_bytes, bytes, sizeof bytes));
    if (schedule->weights == VBS_WEIGHTS_INCLUDED)
        printf("weights included, ");
    printf("io %s, planner %s\n\n", vbs_io_word(schedule->io), schedule->planner);
}

/* Prints the two clocks. At every moment of the request one of them runs, so that their sum exceeds
 * the time of the request by the time in which both run. */
static void print_clocks(const struct vbs_schedule *schedule, double compute_us)
{
    double copy_us = schedule->predicted.copy_us;
    double both_us = fmax(compute_us + copy_us - schedule->predicted.time_us, 0);
    char time[32];

    printf("  of that  %s computing, ", cli_format_time(compute_us, time, sizeof time));
    if (copy_us > 0) {
        printf("%s copying, ", cli_format_time(copy_us, time, sizeof time));
        printf("%s of it (%.0f%%) beside computing\n", cli_format_time(both_us, time, sizeof time),
               100 * both_us / copy_us);
    } else {
        printf("nothing copied\n");
    }
}

/* A gap below it comes from adding the same times in other orders. */
#define ROUNDING_PERCENT 1e-9

static void print_times(const struct vbs_schedule *schedule, double compute_us)
{
    char time[32], number[32];
    double time_us = schedule->predicted.time_us;
    double per_sample_us = time_us / (double)schedule->request;

    printf("  time     %s, ", cli_format_time(time_us, time, sizeof time));
    printf("%s per sample", cli_format_time(per_sample_us, time, sizeof time));
    if (per_sample_us > 0)
        printf(", %s samples/s", cli_format_number(1e6 / per_sample_us, number, sizeof number));
    printf("\n");
    if (schedule->predicted.high_us > 0) {
        printf("  between  %s ", cli_format_time(schedule->predicted.low_us, time, sizeof time));
        printf("and %s with 95%%, if all errors have one cause\n",
               cli_format_time(schedule->predicted.high_us, number, sizeof number));
    }
    if (schedule->weights == VBS_WEIGHTS_INCLUDED)
        print_clocks(schedule, compute_us);
    if (schedule->latency_us > 0) {
        printf("  latency  %s; ",
               cli_format_time(schedule->predicted.latency_us, time, sizeof time));
        printf("no sample may wait longer than %s us\n",
               cli_format_typed(schedule->latency_us, number, sizeof number));
    }
    printf("  bound    %s: no schedule is faster; this one ",
           cli_format_time(schedule->bound.time_us, time, sizeof time));
    if (schedule->bound.gap_percent < ROUNDING_PERCENT)
        printf("reaches it\n");
    else if (schedule->bound.gap_percent < 0.01)
        printf("takes less than 0.01%% longer\n");
    else
        printf("takes %.2f%% longer\n", schedule->bound.gap_percent);
}

static void print_weights(const struct vbs_schedule *schedule, int64_t n_loads)
{
    char bytes[24];

    if (schedule->weights == VBS_WEIGHTS_EXCLUDED)
        return;
    if (schedule->predicted.resident_bytes > 0)
        vbs_format_bytes(schedule->predicted.resident_bytes, bytes, sizeof bytes);
    else
        strcpy(bytes, "none");
    printf("\n  weights  %s resident", bytes);
    if (n_loads > 0) {
        printf("; %s copied per request, in %lld load%s",
               vbs_format_bytes(schedule->predicted.copied_bytes, bytes, sizeof bytes),
               (long long)n_loads, n_loads == 1 ? "" : "s");
        cli_print_link(&schedule->copy);
    }
}

static void print_memory(struct cli *cli, const struct vbs_profile *profile,
                         const struct vbs_schedule *schedule, int64_t n_loads, int64_t weight_bytes)
{
    char bytes[48];

    printf("  peak     %s", vbs_format_exact(schedule->predicted.peak_bytes, bytes, sizeof bytes));
    if (schedule->predicted.reserved_bytes > schedule->predicted.peak_bytes)
        printf("; the planner had set %s aside",
               vbs_format_exact(schedule->predicted.reserved_bytes, bytes, sizeof bytes));
    print_weights(schedule, n_loads);
    printf("\n");
    cli_print_held(schedule->weights, weight_bytes, "  ");
    cli_print_provenance(cli, profile, schedule->provenance.profile_id);
    printf("  solver   took %s of memory at its peak\n\n",
           vbs_format_bytes(schedule->solver.peak_bytes, bytes, sizeof bytes));
}

/* The columns of the table of layers that only some schedules have. */
struct more_columns {
    bool rows, weights;
};

static void add_rows(struct cli_table *table, const struct vbs_profile_layer *layer,
                     const struct layer_use *use)
{
    if (!use->rows[0]) {
        cli_table_add(table, "all");
        cli_table_add(table, "-");
        return;
    }
    cli_table_add(table, "%s of %d", use->rows, layer->rows);
    cli_table_add(table, "%d", use->window);
}

static enum vbs_status print_layers(struct cli *cli, const struct vbs_profile *profile,
                                    const struct layer_use *uses, const struct more_columns *more)
{
    struct cli_column columns[8] = {{"layer", true}, {"name", false}, {"batches", false}};
    struct cli_table table = {.columns = columns, .n_columns = 3};
    char time[32];

    if (more->rows) {
        columns[table.n_columns++] = (struct cli_column){"rows", false};
        columns[table.n_columns++] = (struct cli_column){"window", true};
    }
    if (more->weights)
        columns[table.n_columns++] = (struct cli_column){"weights", false};
    columns[table.n_columns++] = (struct cli_column){"algorithms", false};
    columns[table.n_columns++] = (struct cli_column){"time", true};
    for (int k = 1; k <= profile->n_layers; k++) {
        cli_table_add(&table, "%d", k);
        cli_table_add(&table, "%s", profile->layers[k].name);
        cli_table_add(&table, "%s", uses[k].batches);
        if (more->rows)
            add_rows(&table, &profile->layers[k], &uses[k]);
        if (more->weights)
            cli_table_add(&table, "%s", uses[k].weights);
        cli_table_add(&table, "%s", uses[k].algorithms);
        cli_table_add(&table, "%s", cli_format_time(uses[k].time_us, time, sizeof time));
    }
    return cli_table_print(cli, &table);
}

/* Replaces the time of all compute steps by that which they take beside copies. */
static enum vbs_status slow_down(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                 const struct vbs_schedule *schedule, double *compute_us)
{
    struct vbs_replay *replay;

    if (schedule->weights == VBS_WEIGHTS_EXCLUDED || !schedule->copy.beside)
        return VBS_OK;
    VBS_TRY(vbs_replay_run(ctx, profile, schedule, -1, false, &replay));
    *compute_us = replay->compute_us;
    vbs_replay_free(replay);
    return VBS_OK;
}

enum vbs_status cli_print_schedule(struct cli *cli, const struct vbs_profile *profile,
                                   const struct vbs_schedule *schedule)
{
    struct layer_use *uses = calloc((size_t)profile->n_layers + 1, sizeof *uses);
    struct more_columns more = {.weights = schedule->weights == VBS_WEIGHTS_INCLUDED};
    double compute_us = 0;
    int64_t n_loads = 0, weight_bytes = 0;
    enum vbs_status status =
        uses ? vbs_exec_used_weights(&cli->ctx, profile, schedule, &weight_bytes)
             : vbs_no_memory(&cli->ctx);

    if (status != VBS_OK) {
        free(uses);
        return status;
    }
    collect(profile, schedule, uses);
    for (int k = 1; k <= profile->n_layers; k++) {
        compute_us += uses[k].time_us;
        n_loads += uses[k].n_loads;
        more.rows = more.rows || uses[k].rows[0];
    }
    status = slow_down(&cli->ctx, profile, schedule, &compute_us);
    if (status != VBS_OK) {
        free(uses);
        return status;
    }
    cli_flow_begin_text(cli);
    print_head(schedule);
    print_times(schedule, compute_us);
    print_memory(cli, profile, schedule, n_loads, weight_bytes);
    cli_flow_end(cli);
    status = print_layers(cli, profile, uses, &more);
    free(uses);
    return status;
}

/* ---- The profile that it was planned from ---- */

#define SHOWN_DEVICE 80 /* characters of a device's name in a message */

static bool has_other_origin(const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    char hash[VBS_PROFILE_HASH_SIZE];

    if (!schedule->provenance.hash || !schedule->provenance.hash[0])
        return false;
    vbs_profile_hash(profile, hash);
    return strcmp(schedule->provenance.hash, hash) != 0;
}

/* Writes "the schedule was planned from another profile: 6f5c..., onednn on AMD EPYC, threads
 * 2". */
static void describe_origin(const struct vbs_schedule *schedule, char *line, size_t size)
{
    const char *backend = schedule->provenance.backend, *device = schedule->provenance.device;
    char threads[32] = "";

    if (schedule->provenance.threads > 0)
        snprintf(threads, sizeof threads, ", threads %d", schedule->provenance.threads);
    snprintf(line, size, "the schedule was planned from another profile: %.*s, %.20s on %.*s%s",
             VBS_PROFILE_HASH_SIZE - 1, schedule->provenance.hash,
             backend && backend[0] ? backend : "backend unknown", SHOWN_DEVICE,
             device && device[0] ? device : "a device that is not named", threads);
}

/* Describes the mismatch of schedule and profile; false: there is none. */
static bool describe_mismatch(const struct vbs_profile *profile,
                              const struct vbs_schedule *schedule, char *line, size_t size)
{
    const char *model = profile->provenance.model;

    if (schedule->model[0] && model[0] && strcmp(schedule->model, model) != 0)
        snprintf(line, size, "the schedule is for '%.100s', the profile of '%.100s'",
                 schedule->model, model);
    else if (has_other_origin(profile, schedule))
        describe_origin(schedule, line, size);
    else
        return false;
    return true;
}

void cli_warn_origin(struct cli *cli, const struct vbs_profile *profile,
                     const struct vbs_schedule *schedule)
{
    char line[320];

    if (describe_mismatch(profile, schedule, line, sizeof line))
        cli_warn(cli, "%s", line);
}

enum vbs_status cli_fail_origin(struct cli *cli, enum vbs_status status,
                                const struct vbs_profile *profile,
                                const struct vbs_schedule *schedule)
{
    char detail[VBS_DETAIL_SIZE], line[320];

    if (!describe_mismatch(profile, schedule, line, sizeof line))
        return status;
    snprintf(detail, sizeof detail, "%s", vbs_detail(&cli->ctx));
    return vbs_fail(&cli->ctx, status, "%s; %s", detail, line);
}
