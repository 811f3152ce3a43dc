/* Why fbs, fbs-best and greedy-vbs took their batches. */
#include "base/fail.h"
#include "cli/explain/explain.h"
#include "cli/print/print.h"

#include <math.h>
#include <stdio.h>

static const char *name_of(const struct cli_explanation *about, int layer)
{
    return about->problem->profile->layers[layer].name;
}

/* Gives the next larger batch than the chosen one; null: there is none. Candidates descend. */
static const struct vbs_candidate *next_larger(const struct vbs_decision *decision)
{
    return decision->chosen > 0 ? &decision->candidates[decision->chosen - 1] : NULL;
}

/* Prints the sentence that says why no larger batch was taken. */
static void print_reason(const struct cli_explanation *about, const struct vbs_decision *decision)
{
    const struct vbs_candidate *chosen = &decision->candidates[decision->chosen];
    const struct vbs_candidate *next = next_larger(decision);
    char bytes[24], more[24], layer[64];

    if (!next) {
        printf("\nBatch %d is the largest that the profile and the request have.\n", chosen->at);
        return;
    }
    if (next->fits) {
        printf("\nBatch %d fits, too, and takes %.2f%% longer than batch %d.\n", next->at,
               100 * (next->time_us / chosen->time_us - 1), chosen->at);
        return;
    }
    if (next->least_bytes == INT64_MAX) {
        printf("\nBatch %d keeps the latency in no memory.\n", next->at);
        return;
    }
    snprintf(layer, sizeof layer, "%d %.32s", next->binds, name_of(about, next->binds));
    vbs_format_bytes(next->least_bytes, bytes, sizeof bytes);
    vbs_format_bytes(next->least_bytes - decision->memory_bytes, more, sizeof more);
    printf("\nBatch %d would need %s, %s more than the budget, at layer ", next->at, bytes, more);
    cli_print_name(layer);
    printf(".\n");
}

static void add_batch(const struct cli_explanation *about, const struct vbs_decision *decision,
                      int c, struct cli_table *table)
{
    const struct vbs_candidate *candidate = &decision->candidates[c];
    double chosen_us = decision->candidates[decision->chosen].time_us;
    char time[32], bytes[24];

    cli_table_add(table, "%d", candidate->at);
    cli_table_add(table, "%s",
                  candidate->time_us < HUGE_VAL
                      ? cli_format_time(candidate->time_us, time, sizeof time)
                      : "-");
    if (c == decision->chosen)
        cli_table_add(table, "chosen");
    else if (!candidate->fits)
        cli_table_add(table, "does not fit");
    else
        cli_table_add(table, "%+.2f%%", 100 * (candidate->time_us / chosen_us - 1));
    cli_table_add(table, "%s",
                  candidate->needed_bytes < INT64_MAX
                      ? vbs_format_bytes(candidate->needed_bytes, bytes, sizeof bytes)
                      : "-");
    cli_table_add(table, "%d %.32s", candidate->binds, name_of(about, candidate->binds));
}

/* Prints the batches of the whole request. */
static enum vbs_status print_whole(const struct cli_explanation *about)
{
    static const struct cli_column COLUMNS[] = {
        {"batch", true}, {"time", true}, {"against", false}, {"needs", true}, {"at layer", false}};
    const struct vbs_decision *decision = &about->made->decisions[0];
    struct cli_table table = {.columns = COLUMNS, .n_columns = 5};

    for (int c = 0; c < decision->n_candidates; c++)
        add_batch(about, decision, c, &table);
    VBS_TRY(cli_table_print(about->cli, &table));
    print_reason(about, decision);
    return VBS_OK;
}

static void add_layer(const struct cli_explanation *about, const struct vbs_decision *decision,
                      struct cli_table *table)
{
    const struct vbs_candidate *chosen = &decision->candidates[decision->chosen];
    const struct vbs_candidate *next = next_larger(decision);
    char time[32], bytes[24];

    cli_table_add(table, "%d", decision->first_layer);
    cli_table_add(table, "%.24s", name_of(about, decision->first_layer));
    cli_table_add(table, "%d", chosen->at);
    cli_table_add(table, "%s", vbs_format_bytes(chosen->needed_bytes, bytes, sizeof bytes));
    cli_table_add(table, "%s", cli_format_time(chosen->time_us, time, sizeof time));
    if (!next) {
        for (int i = 0; i < 3; i++)
            cli_table_add(table, "-");
        return;
    }
    cli_table_add(table, "%d", next->at);
    cli_table_add(table, "%s", vbs_format_bytes(next->least_bytes, bytes, sizeof bytes));
    cli_table_add(table, "%+.2f%%", 100 * (next->time_us / chosen->time_us - 1));
}

/* Prints the batch of each layer, and the next larger one. */
static enum vbs_status print_layers(const struct cli_explanation *about)
{
    static const struct cli_column COLUMNS[] = {{"layer", true}, {"name", false}, {"batch", true},
                                                {"needs", true}, {"time", true},  {"next", true},
                                                {"needs", true}, {"time", true}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 8};

    for (int d = 1; d < about->made->n_decisions; d++)
        add_layer(about, &about->made->decisions[d], &table);
    VBS_TRY(cli_table_print(about->cli, &table));
    printf("\nEach layer takes its largest batch that fits beside the whole request. \"next\" is "
           "the\nnext larger batch, what it would need, and the layer's time with it.\n");
    return VBS_OK;
}

enum vbs_status cli_print_batches(const struct cli_explanation *about)
{
    return about->made->n_decisions > 1 ? print_layers(about) : print_whole(about);
}
