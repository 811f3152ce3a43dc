/*
 * The tree of decisions as a table, a row for each.
 *
 * A cut of a part into several pieces is, in the recursion, a cut into two of which the second is
 * cut again. These decisions stand at one level, marked "then". A part that is decided exactly as
 * the one before it is not shown twice.
 */
#include "base/fail.h"
#include "cli/explain/explain.h"
#include "cli/print/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE  36 /* rows that are shown where no depth is given */
#define WIDTH 80 /* columns of the list of layers */

static const struct vbs_candidate *chosen_of(const struct vbs_decision *decision)
{
    return decision->chosen < 0 ? NULL : &decision->candidates[decision->chosen];
}

/* Gives whether a decision is the rest of its parent's cut. */
static bool is_rest(const struct vbs_explanation *made, int index)
{
    const struct vbs_decision *decision = &made->decisions[index];
    const struct vbs_decision *parent = &made->decisions[decision->parent];
    const struct vbs_candidate *own = chosen_of(decision), *its = chosen_of(parent);

    if (!own || !its || own->choice != its->choice || decision->is_exact)
        return false;
    if (own->choice == VBS_CHOICE_CHUNK)
        return true;
    if (own->choice == VBS_CHOICE_SPLIT)
        return decision->n_layers == parent->n_layers &&
               decision->samples == parent->samples - its->at && index != decision->parent + 1;
    if (own->choice == VBS_CHOICE_BARRIER)
        return decision->first_layer != parent->first_layer && decision->samples == parent->samples;
    return own->choice == VBS_CHOICE_DIVISOR;
}

static bool is_same(const struct vbs_decision *a, const struct vbs_decision *b)
{
    return a->first_layer == b->first_layer && a->last_layer == b->last_layer &&
           a->n_layers == b->n_layers && a->samples == b->samples &&
           a->memory_bytes == b->memory_bytes && a->is_exact == b->is_exact;
}

void cli_find_places(const struct vbs_explanation *made, struct cli_tree_place *places)
{
    for (int d = 0; d < made->n_decisions; d++) {
        const struct vbs_decision *decision = &made->decisions[d];
        struct cli_tree_place *place = &places[d];
        const struct vbs_candidate *its;

        if (decision->parent < 0)
            continue;
        its = chosen_of(&made->decisions[decision->parent]);
        place->is_rest = is_rest(made, d);
        place->level = places[decision->parent].level + !place->is_rest;
        place->is_hidden = places[decision->parent].is_hidden ||
                           places[decision->parent].is_again ||
                           (its && its->choice == VBS_CHOICE_DIVISOR && decision->is_exact &&
                            decision->parent != d - 1);
        for (int s = decision->parent + 1; s < d && !place->is_again; s++)
            place->is_again = made->decisions[s].parent == decision->parent &&
                              is_same(decision, &made->decisions[s]);
    }
}

static int count_rows(const struct vbs_explanation *made, const struct cli_tree_place *places,
                      int level)
{
    int n = 0;

    for (int d = 0; d < made->n_decisions; d++)
        n += !places[d].is_hidden && places[d].level <= level;
    return n;
}

/* Chooses the deepest level with which the tree fits a page. */
static int choose_level(const struct vbs_explanation *made, const struct cli_tree_place *places)
{
    int level = 1, last = 0;

    for (int d = 0; d < made->n_decisions; d++)
        if (places[d].level > last)
            last = places[d].level;
    while (level < last && count_rows(made, places, level + 1) <= PAGE)
        level++;
    return level;
}

/* Finds the fastest of the other candidates, and counts those that are as fast as the chosen one;
 * where there is no other, the one that misses least memory. The fastest one is faster than the
 * chosen one where a planner takes the largest batch. */
static const struct vbs_candidate *runner_up(const struct vbs_decision *decision, int *n_equal)
{
    const struct vbs_candidate *best = NULL, *near = NULL;

    *n_equal = 0;
    for (int c = 0; c < decision->n_candidates; c++) {
        const struct vbs_candidate *candidate = &decision->candidates[c];

        if (c == decision->chosen)
            continue;
        if (!candidate->fits) {
            if (!near || candidate->least_bytes < near->least_bytes)
                near = candidate;
        } else if (cli_is_equal(candidate->time_us, decision->time_us))
            ++*n_equal;
        else if (!best || candidate->time_us < best->time_us)
            best = candidate;
    }
    return best ? best : near;
}

static void add_runner_up(const struct cli_explanation *about, const struct vbs_decision *decision,
                          struct cli_table *table)
{
    int n_equal;
    const struct vbs_candidate *next = runner_up(decision, &n_equal);
    char label[64], bytes[24], equal[24] = "";

    if (n_equal > 0)
        snprintf(equal, sizeof equal, "%d equal%s", n_equal, next ? "; " : "");
    if (!next)
        cli_table_add(table, "%s", n_equal > 0 ? equal : "-");
    else if (next->fits)
        cli_table_add(table, "%s%s %+.2f%%", equal,
                      cli_choice_label(about, decision, next, label, sizeof label),
                      100 * (next->time_us / decision->time_us - 1));
    else if (next->least_bytes == INT64_MAX)
        cli_table_add(table, "%sno other fits", equal);
    else
        cli_table_add(table, "%s%s needs %s", equal,
                      cli_choice_label(about, decision, next, label, sizeof label),
                      vbs_format_bytes(next->least_bytes, bytes, sizeof bytes));
}

static void add_row(const struct cli_explanation *about, int index,
                    const struct cli_tree_place *place, struct cli_table *table)
{
    const struct vbs_decision *decision = &about->made->decisions[index];
    const struct vbs_candidate *chosen = chosen_of(decision);
    char label[64], bytes[24], time[32];

    cli_table_add(table, "%*s%s%s", 2 * place->level, "", place->is_rest ? "then " : "",
                  cli_layers_label(about, decision, label, sizeof label));
    cli_table_add(table, "%d", decision->samples);
    cli_table_add(table, "%s", vbs_format_bytes(decision->memory_bytes, bytes, sizeof bytes));
    cli_table_add(
        table, "%s",
        decision->time_us < HUGE_VAL ? cli_format_time(decision->time_us, time, sizeof time) : "-");
    if (place->is_again) {
        cli_table_add(table, "as above");
        cli_table_add(table, " ");
        return;
    }
    cli_table_add(table, "%s",
                  chosen ? cli_choice_label(about, decision, chosen, label, sizeof label)
                  : decision->n_candidates ? "nothing fits"
                                           : "layer by layer");
    add_runner_up(about, decision, table);
}

void cli_print_order(const struct vbs_explanation *made)
{
    char text[32];
    int column;

    if (!made->order)
        return;
    column = printf("branches run one after the other, so that the order of the layers is:");
    for (int first = 0, last; first < made->n_layers; first = last + 1) {
        last = first;
        while (last + 1 < made->n_layers && made->order[last + 1] == made->order[last] + 1)
            last++;
        if (last > first)
            snprintf(text, sizeof text, "%d..%d", made->order[first], made->order[last]);
        else
            snprintf(text, sizeof text, "%d", made->order[first]);
        if (column + (int)strlen(text) + 1 > WIDTH)
            column = printf("\n ") - 1;
        column += printf(" %s", text);
    }
    printf("\n\n");
}

enum vbs_status cli_print_tree(const struct cli_explanation *about, int depth)
{
    static const struct cli_column COLUMNS[] = {{"layers", false}, {"b", true},
                                                {"memory", true},  {"time", true},
                                                {"chosen", false}, {"next best", false}};
    const struct vbs_explanation *made = about->made;
    struct cli_table table = {.columns = COLUMNS, .n_columns = 6};
    struct cli_tree_place *places = calloc((size_t)made->n_decisions + 1, sizeof *places);
    int level, n_left = 0;

    if (!places)
        return vbs_no_memory(&about->cli->ctx);
    cli_find_places(made, places);
    level = depth > 0 ? depth : choose_level(made, places);
    for (int d = 0; d < made->n_decisions; d++) {
        if (places[d].is_hidden)
            continue;
        if (places[d].level <= level)
            add_row(about, d, &places[d], &table);
        else
            n_left++;
    }
    free(places);
    VBS_TRY(cli_table_print(about->cli, &table));
    if (n_left > 0)
        printf("\n%d more decision%s below these: --depth %d or more shows them\n", n_left,
               n_left == 1 ? " lies" : "s lie", level + 1);
    return VBS_OK;
}
