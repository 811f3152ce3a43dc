/* What the bound of a schedule of optimal rests on. */
#include "base/fail.h"
#include "cli/explain/explain.h"
#include "cli/print/print.h"

#include <math.h>
#include <stdio.h>

/* Gives the percent by which a time is longer than the best one; 0 where two decimals show none, so
 * that the sign of a rounding error is not printed. */
static double percent_above(double time_us, double best_us)
{
    double percent = 100 * (time_us / best_us - 1);

    return fabs(percent) < 0.005 ? 0 : percent;
}

static void add_line(struct cli_table *table, const char *what, double time_us, double best_us)
{
    char time[32];

    cli_table_add(table, "%s", what);
    cli_table_add(table, "%s", cli_format_exact_time(time_us, time, sizeof time));
    cli_table_add(table, "%+.2f%%", percent_above(time_us, best_us));
}

/* Writes "9 groups, the largest of 3 layers". */
static void describe_groups(const struct cli_explanation *about, char *text, size_t size)
{
    const struct vbs_bound_report *bound = &about->made->bound;

    if (bound->largest_group == about->made->n_layers)
        snprintf(text, size, "bound: a search of all %d layers together", bound->largest_group);
    else if (bound->largest_group > 1)
        snprintf(text, size, "bound: %d groups of layers, the largest of %d", bound->n_groups,
                 bound->largest_group);
    else
        snprintf(text, size, "bound: searches that found nothing faster");
}

enum vbs_status cli_print_bound(const struct cli_explanation *about)
{
    static const struct cli_column COLUMNS[] = {
        {"", false}, {"time", true}, {"against the schedule", true}};
    const struct vbs_bound_report *bound = &about->made->bound;
    const struct vbs_schedule *schedule = about->schedule;
    double best_us = schedule->predicted.time_us;
    struct cli_table table = {.columns = COLUMNS, .n_columns = 3};
    char groups[80];

    add_line(&table, "bound: no limit of memory", bound->free_us, best_us);
    add_line(&table, "bound: each layer beside waiting samples", bound->waiting_us, best_us);
    describe_groups(about, groups, sizeof groups);
    if (bound->n_groups > 0)
        add_line(&table, groups, bound->proven_us, best_us);
    add_line(&table, "the schedule", best_us, best_us);
    if (bound->cutting_us < HUGE_VAL)
        add_line(&table, "the best cutting, where the search began", bound->cutting_us, best_us);
    VBS_TRY(cli_table_print(about->cli, &table));
    printf("\n");
    if (schedule->bound.gap_percent > 0)
        printf("gap %.2f%%: a faster schedule is not ruled out within it\n",
               schedule->bound.gap_percent);
    else
        printf("gap 0%%: no schedule is faster\n");
    if (bound->n_states > 0)
        printf("%lld states of the lattice were expanded\n", (long long)bound->n_states);
    else
        printf("no state of the lattice was expanded: the bound meets the cutting\n");
    return VBS_OK;
}
