/* The time of a run by layer, beside the plan. */
#include "cli/run/run.h"

#include "cli/print/print.h"

#include <stdlib.h>

struct run_layer_time *run_layer_times(const struct run_job *job)
{
    const struct vbs_schedule *schedule = job->schedule;
    const struct vbs_exec_step *ran = job->times.fastest.steps;
    struct run_layer_time *times = calloc((size_t)job->profile->n_layers + 1, sizeof *times);

    for (int64_t s = 0; times && s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];
        const struct vbs_replay_step *planned = &job->replay->steps[s];
        struct run_layer_time *time = &times[step->op == VBS_STEP_COMPUTE ? step->layer : 0];

        if (step->op == VBS_STEP_EVICT || step->resident)
            continue;
        time->n_steps++;
        time->planned_us += planned->end_us - planned->start_us;
        time->measured_us += ran[s].end_us - ran[s].start_us;
    }
    return times;
}

static void add_times(struct cli_table *table, const struct run_layer_time *time)
{
    char number[32];

    cli_table_add(table, "%s", cli_format_time(time->planned_us, number, sizeof number));
    cli_table_add(table, "%s", cli_format_time(time->measured_us, number, sizeof number));
    if (time->planned_us > 0 && time->measured_us > 10 * time->planned_us)
        cli_table_add(table, "%.0fx", time->measured_us / time->planned_us);
    else if (time->planned_us > 0)
        cli_table_add(table, "%+.1f%%", 100 * (time->measured_us / time->planned_us - 1));
    else
        cli_table_add(table, "%s", "");
}

static void add_row(struct cli_table *table, const char *number, const char *name,
                    const struct run_layer_time *time, double computed_us)
{
    cli_table_add(table, "%s", number);
    cli_table_add(table, "%s", name);
    cli_table_add(table, "%lld", (long long)time->n_steps);
    add_times(table, time);
    if (computed_us > 0)
        cli_table_add(table, "%.1f%%", 100 * time->measured_us / computed_us);
    else
        cli_table_add(table, "%s", "");
}

enum vbs_status run_print_layers(struct run_job *job)
{
    static const struct cli_column COLUMNS[] = {
        {"layer", true},    {"name", false},      {"steps", true}, {"planned", true},
        {"measured", true}, {"difference", true}, {"share", true}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 7};
    struct run_layer_time *times = run_layer_times(job), all = {0};
    char number[16];

    table.failed = !times;
    for (int k = 1; times && k <= job->profile->n_layers; k++) {
        all.n_steps += times[k].n_steps;
        all.planned_us += times[k].planned_us;
        all.measured_us += times[k].measured_us;
    }
    for (int k = 1; times && k <= job->profile->n_layers; k++) {
        snprintf(number, sizeof number, "%d", k);
        add_row(&table, number, job->profile->layers[k].name, &times[k], all.measured_us);
    }
    if (times)
        add_row(&table, "", "all layers", &all, all.measured_us);
    if (times && times[0].n_steps > 0)
        add_row(&table, "", "loads of weights, meanwhile", &times[0], 0);
    free(times);
    printf("\nlayers of the fastest run\n\n");
    return cli_table_print(job->cli, &table);
}
