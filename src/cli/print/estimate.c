#include "cli/print/estimate.h"

#include "cli/print/flow.h"
#include "cli/print/provenance.h"
#include "cli/print/table.h"

#include <stdio.h>

static void print_head(struct cli *cli, const struct vbs_problem *problem,
                       const struct vbs_planner *planner, const struct vbs_estimate *estimate,
                       int64_t id)
{
    const char *model = problem->profile->provenance.model;
    double per_sample_us = estimate->time_us / (double)estimate->request;
    char text[48], number[32];

    cli_print_name(model);
    printf("%s%lld sample%s in %s, ", model[0] ? ": " : "", (long long)estimate->request,
           estimate->request == 1 ? "" : "s",
           vbs_format_exact(estimate->memory_bytes, text, sizeof text));
    printf("io %s, planner %s: an estimate, no schedule\n\n", vbs_io_word(problem->io),
           vbs_planner_name(planner));
    printf("  time     %s, ", cli_format_time(estimate->time_us, number, sizeof number));
    printf("%s per sample", cli_format_time(per_sample_us, number, sizeof number));
    if (per_sample_us > 0)
        printf(", %s samples/s", cli_format_number(1e6 / per_sample_us, number, sizeof number));
    printf("\n  peak     %s\n", vbs_format_exact(estimate->peak_bytes, text, sizeof text));
    cli_print_provenance(cli, problem->profile, id);
    printf("\n");
}

static void add_tiles(struct cli_table *table, const struct vbs_estimate_part *part)
{
    char columns[24] = "";

    if (part->tile_rows == 0) {
        cli_table_add(table, "whole samples");
        return;
    }
    if (part->is_square)
        snprintf(columns, sizeof columns, " x %d", part->n_tiles);
    cli_table_add(table, "%d%s of %d row%s%s", part->n_tiles, columns, part->tile_rows,
                  part->tile_rows == 1 ? "" : "s",
                  part->accumulates ? ", the last layer accumulates" : "");
}

enum vbs_status cli_print_estimate(struct cli *cli, const struct vbs_problem *problem,
                                   const struct vbs_planner *planner,
                                   const struct vbs_estimate *estimate, int64_t id)
{
    static const struct cli_column COLUMNS[] = {
        {"layers", true}, {"from", false}, {"to", false}, {"tiles", false}, {"time", true}};
    const struct vbs_profile_layer *layers = problem->profile->layers;
    struct cli_table table = {.columns = COLUMNS, .n_columns = 5};
    char time[32];

    cli_flow_begin_text(cli);
    print_head(cli, problem, planner, estimate, id);
    cli_flow_end(cli);
    for (int i = 0; i < estimate->n_parts; i++) {
        const struct vbs_estimate_part *part = &estimate->parts[i];

        if (part->first_layer == part->last_layer)
            cli_table_add(&table, "%d", part->first_layer);
        else
            cli_table_add(&table, "%d-%d", part->first_layer, part->last_layer);
        cli_table_add(&table, "%s", layers[part->first_layer].name);
        cli_table_add(&table, "%s", layers[part->last_layer].name);
        add_tiles(&table, part);
        cli_table_add(&table, "%s", cli_format_time(part->sample_us, time, sizeof time));
    }
    return cli_table_print(cli, &table);
}
