/*
 * The decisions of a plan one after another, for a class. Each kind of candidate is explained where
 * it occurs first.
 */
#include "base/fail.h"
#include "cli/explain/explain.h"
#include "cli/print/print.h"

#include <stdio.h>
#include <stdlib.h>

static const char *meaning_of(enum vbs_choice choice)
{
    switch (choice) {
    case VBS_CHOICE_CHUNK:
        return "A chunk is samples that pass the whole network before the next ones begin.";
    case VBS_CHOICE_SPLIT:
        return "A split: some samples pass all these layers, then the others do.";
    case VBS_CHOICE_BARRIER:
        return "A barrier: all samples pass the layers up to it, then all of them pass the\n"
               "layers behind it.";
    case VBS_CHOICE_PIVOT:
        return "A pivot runs all samples at once: one layer, or one branched block. The layers\n"
               "before and behind it are decided apart.";
    case VBS_CHOICE_BLOCK:
        return "Branches in turn: one after the other, while input and output of their block\n"
               "are reserved.";
    case VBS_CHOICE_STEP:
        return "A name alone is an algorithm: the layer runs all these samples at once by it.";
    case VBS_CHOICE_DIVISOR:
        return "\"2 x 3 before 4\": the layers before layer 4 run 2 times, each time on 3 samples.";
    case VBS_CHOICE_BATCH:
        return "A batch is the samples of one step. Steps follow until all samples have passed.";
    case VBS_CHOICE_ROWS:
        return "By rows: the sample passes all these layers some rows at a time; what only they\n"
               "read is never in memory as a whole.";
    }
    return "";
}

/* Explains the kinds of candidates that no decision before had. explained: a bit for each that
 * was. */
static void print_meanings(const struct vbs_decision *decision, unsigned *explained)
{
    unsigned before = *explained;

    for (int c = 0; c < decision->n_candidates; c++) {
        enum vbs_choice choice = decision->candidates[c].choice;

        if (*explained >> choice & 1)
            continue;
        printf("%s%s\n", *explained == before ? "\n" : "", meaning_of(choice));
        *explained |= 1U << choice;
    }
}

static void add_batch(struct cli_table *table, const struct vbs_candidate *candidate)
{
    char bytes[24];

    cli_table_add(table, "%d", candidate->at);
    cli_table_add(table, "%s",
                  candidate->needed_bytes < INT64_MAX
                      ? vbs_format_bytes(candidate->needed_bytes, bytes, sizeof bytes)
                      : "-");
}

/* Prints what is known before a planner decides layer by layer: what each layer could take. */
static enum vbs_status print_layers(const struct cli_explanation *about)
{
    static const struct cli_column COLUMNS[] = {{"layer", true},    {"name", false},
                                                {"smallest", true}, {"needs", true},
                                                {"largest", true},  {"needs", true}};
    const struct vbs_explanation *made = about->made;
    struct cli_table table = {.columns = COLUMNS, .n_columns = 6};

    printf("The layers are decided one by one, in the order of the network: all samples\n"
           "pass a layer before the next one begins, and wait in between. A layer takes its\n"
           "largest batch that fits beside what waits. Known so far: the smallest and the\n"
           "largest batch of each layer, and what they need with all that waits then.\n\n");
    for (int d = 1; d < made->n_decisions; d++) {
        const struct vbs_decision *decision = &made->decisions[d];

        cli_table_add(&table, "%d", decision->first_layer);
        cli_table_add(&table, "%.24s", about->problem->profile->layers[decision->first_layer].name);
        add_batch(&table, &decision->candidates[decision->n_candidates - 1]);
        add_batch(&table, &decision->candidates[0]);
    }
    return cli_table_print(about->cli, &table);
}

/* Waits for a line; false: "q" or the end of input. */
static bool wait_for_key(void)
{
    int c, first;

    fprintf(stderr, "-- return: the next decision, q: end -- ");
    first = c = getchar();
    while (c != '\n' && c != EOF)
        c = getchar();
    return first != 'q' && first != EOF;
}

static enum vbs_status print_step(const struct cli_explanation *about, int index,
                                  unsigned *explained)
{
    const struct vbs_decision *decision = &about->made->decisions[index];

    if (decision->n_candidates == 0 && about->made->n_decisions > 1)
        return print_layers(about);
    VBS_TRY(cli_print_decision(about, index, 0));
    print_meanings(decision, explained);
    return VBS_OK;
}

enum vbs_status cli_step_through(const struct cli_explanation *about, int depth)
{
    const struct vbs_explanation *made = about->made;
    struct cli_tree_place *places = calloc((size_t)made->n_decisions + 1, sizeof *places);
    bool waits = cli_columns_of(0) > 0;
    unsigned explained = 0;
    enum vbs_status status = places ? VBS_OK : vbs_no_memory(&about->cli->ctx);

    if (places)
        cli_find_places(made, places);
    for (int d = 0; status == VBS_OK && d < made->n_decisions; d++) {
        if (places[d].is_hidden || places[d].is_again || (depth > 0 && places[d].level > depth))
            continue;
        if (d > 0) {
            fflush(stdout);
            if (waits && !wait_for_key())
                break;
            printf("\n");
        }
        status = print_step(about, d, &explained);
    }
    free(places);
    return status;
}
