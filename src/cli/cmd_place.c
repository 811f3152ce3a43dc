#include "base/fail.h"
#include "base/parse.h"
#include "cli/common/common.h"

#include <stdio.h>
#include <string.h>

/* Reports the placement to people, since the rows go to standard output. VBS_INTERRUPTED where a
 * longer search may find a lower one. */
static enum vbs_status report(struct cli *cli, const struct vbs_place_result *result)
{
    double above = (double)(result->height_bytes - result->load_bytes);
    char height[48], load[48];

    cli_note(cli, "%s high%s, %.2f%% above the load of %s",
             vbs_format_exact(result->height_bytes, height, sizeof height),
             result->bound_bytes == result->height_bytes ? ", the least possible" : "",
             result->load_bytes ? 100 * above / (double)result->load_bytes : 0.0,
             vbs_format_exact(result->load_bytes, load, sizeof load));
    if (!result->interrupted)
        return VBS_OK;
    return vbs_fail(&cli->ctx, VBS_INTERRUPTED,
                    "interrupted; the offsets are the lowest found so far, at most %.2f%% higher "
                    "than the lowest possible",
                    result->bound_bytes > 0
                        ? 100 * (double)(result->height_bytes - result->bound_bytes) /
                              (double)result->bound_bytes
                        : 0.0);
}

static enum vbs_status place(struct cli *cli, const char *path, int64_t capacity,
                             struct vbs_place_options options)
{
    struct vbs_place_result *result = NULL;
    struct vbs_place_problem problem;
    struct vbs_place_csv *csv;
    enum vbs_status status;

    VBS_TRY(vbs_place_csv_read(&cli->ctx, path, &csv));
    problem = *vbs_place_csv_problem(csv);
    options.progress = cli_progress(cli);
    if (capacity >= 0) {
        problem.capacity = capacity;
        status = vbs_place(&cli->ctx, &problem, &options, &result);
    } else {
        status = vbs_place_lowest(&cli->ctx, &problem, &options, &result);
    }
    cli_progress_end(cli);
    if (status == VBS_USAGE) /* an error of the problem, which is in the file */
        status = vbs_fail_within(&cli->ctx, VBS_FORMAT,
                                 strcmp(path, "-") == 0 ? "standard input" : path);
    if (status == VBS_OK)
        status = vbs_place_csv_write(&cli->ctx, csv, result, "-");
    if (status == VBS_OK)
        status = report(cli, result);
    vbs_place_free(result);
    vbs_place_csv_free(csv);
    return status;
}

static enum vbs_status read_options(struct cli *cli, const char *const *values,
                                    int64_t *capacity_bytes, struct vbs_place_options *options)
{
    const char *capacity = cli_value(cli, values, "capacity");
    const char *limit = cli_value(cli, values, "time-limit");
    const char *seed = cli_value(cli, values, "seed");
    int64_t number = 0;

    if (capacity)
        VBS_TRY(vbs_parse_bytes(&cli->ctx, capacity, capacity_bytes));
    if (limit)
        VBS_TRY(cli_parse_positive(&cli->ctx, "--time-limit", limit, "seconds",
                                   &options->time_limit_s));
    if (seed)
        VBS_TRY(vbs_parse_int(&cli->ctx, "--seed", seed, 0, INT64_MAX, &number));
    options->seed = (uint64_t)number;
    return VBS_OK;
}

static int run_place(struct cli *cli, const char *const *values, int n_arguments,
                     const char *const *arguments)
{
    struct vbs_place_options options = {.struct_size = sizeof(struct vbs_place_options)};
    int64_t capacity_bytes = -1;
    enum vbs_status status;

    if (n_arguments != 1)
        return cli_usage(cli, "needs one FILE.csv; - is standard input");
    status = read_options(cli, values, &capacity_bytes, &options);
    if (status == VBS_OK)
        status = place(cli, arguments[0], capacity_bytes, options);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"capacity", "SIZE",
     "take the first placement of at most SIZE; exit code 3 when there is none (default: the "
     "lowest placement found)"},
    {"time-limit", "SECONDS", "end the search after this time (default 10)"},
    {"seed", "N", "of the search's random numbers (default 0)"},
    {0},
};

const struct cli_command cli_place = {
    .name = "place",
    .summary = "offsets for buffers that live at known steps: MiniMalloc's CSV, with offsets",
    .usage = "FILE.csv [--capacity SIZE] [options]",
    .options = OPTIONS,
    .arguments =
        (const struct cli_argument[]){
            {"FILE.csv", "columns id, lower, upper (steps from lower to before upper) and size, in "
                         "any order; alignment, gaps (\"A-B\" or \"A-B@L:U\", where it takes none "
                         "of its bytes or those from L to before U), hint (kept, not used), offset "
                         "(where it is fixed) may follow. The same rows come out, with an offset "
                         "column. - is standard input"},
            {CLI_ARGUMENT_SIZE},
            {0}},
    .example = "vbslab place buffers.csv --capacity 1MiB > placed.csv",
    .run = run_place,
};
