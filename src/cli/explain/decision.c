/* One decision with its candidates, and time against memory of a part. */
#include "base/fail.h"
#include "base/text.h"
#include "cli/explain/explain.h"
#include "cli/print/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 10 /* points of a curve on each side of the memory */

/* Orders candidates: those that fit, by time; then the others, by memory; the chosen one first of
 * equal ones. */
struct ranked {
    const struct vbs_candidate *candidate;
    bool is_chosen;
    int place;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    const struct vbs_candidate *p = x->candidate, *q = y->candidate;

    if (p->fits != q->fits)
        return p->fits ? -1 : 1;
    if (!p->fits && p->least_bytes != q->least_bytes)
        return p->least_bytes < q->least_bytes ? -1 : 1;
    if (p->fits && cli_is_faster(p->time_us, q->time_us))
        return -1;
    if (p->fits && cli_is_faster(q->time_us, p->time_us))
        return 1;
    if (x->is_chosen != y->is_chosen)
        return x->is_chosen ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

/* Adds "6.000 us + 14.00 us", the times of the parts in the order in which they run. */
static void add_parts(const struct vbs_candidate *candidate, struct cli_table *table)
{
    struct vbs_text text = {0};
    char time[32];

    for (int p = 0; p < candidate->n_parts; p++) {
        const struct vbs_part *part = &candidate->parts[p];

        if (p > 0)
            vbs_text_add(&text, " + ");
        if (part->times > 1)
            vbs_text_addf(&text, "%d x ", part->times);
        vbs_text_add(&text, part->time_us < HUGE_VAL
                                ? cli_format_time(part->time_us, time, sizeof time)
                                : "?");
    }
    cli_table_add(table, "%s", text.data ? text.data : "-");
    table->failed = table->failed || text.failed;
    vbs_text_clear(&text);
}

static void add_candidate(const struct cli_explanation *about, const struct vbs_decision *decision,
                          const struct ranked *ranked, bool has_parts, struct cli_table *table)
{
    const struct vbs_candidate *candidate = ranked->candidate;
    char label[64], time[32], bytes[24];

    cli_table_add(table, "%s", cli_choice_label(about, decision, candidate, label, sizeof label));
    if (has_parts)
        add_parts(candidate, table);
    cli_table_add(table, "%s",
                  candidate->time_us < HUGE_VAL
                      ? cli_format_time(candidate->time_us, time, sizeof time)
                      : "-");
    if (ranked->is_chosen)
        cli_table_add(table, "chosen");
    else if (!candidate->fits)
        cli_table_add(table, "does not fit");
    else if (cli_is_equal(candidate->time_us, decision->time_us))
        cli_table_add(table, "equal");
    else
        cli_table_add(table, "%+.2f%%", 100 * (candidate->time_us / decision->time_us - 1));
    if (candidate->least_bytes == INT64_MAX)
        cli_table_add(table, "none found");
    else
        cli_table_add(table, "%s", vbs_format_bytes(candidate->needed_bytes, bytes, sizeof bytes));
}

static void print_head(const struct cli_explanation *about, const struct vbs_decision *decision)
{
    char label[64], bytes[48];

    printf("layer%s %s, %d sample%s, in %s\n\n", decision->n_layers == 1 ? "" : "s",
           cli_layers_label(about, decision, label, sizeof label), decision->samples,
           decision->samples == 1 ? "" : "s",
           vbs_format_exact(decision->memory_bytes, bytes, sizeof bytes));
}

enum vbs_status cli_print_decision(const struct cli_explanation *about, int index, int most)
{
    static const struct cli_column WITH_PARTS[] = {{"candidate", false},
                                                   {"parts", false},
                                                   {"time", true},
                                                   {"against", false},
                                                   {"needs", true}};
    static const struct cli_column PLAIN[] = {
        {"candidate", false}, {"time", true}, {"against", false}, {"needs", true}};
    const struct vbs_decision *decision = &about->made->decisions[index];
    struct cli_table table = {.columns = PLAIN, .n_columns = 4};
    int n = decision->n_candidates, n_shown;
    struct ranked *ranked = calloc((size_t)n + 1, sizeof *ranked);

    if (!ranked)
        return vbs_no_memory(&about->cli->ctx);
    for (int c = 0; c < n; c++) {
        ranked[c] = (struct ranked){&decision->candidates[c], c == decision->chosen, c};
        if (decision->candidates[c].n_parts > 1) {
            table.columns = WITH_PARTS;
            table.n_columns = 5;
        }
    }
    qsort(ranked, (size_t)n, sizeof *ranked, by_rank);
    n_shown = most > 0 && most < n ? most : n;
    for (int c = 0; c < n_shown; c++)
        add_candidate(about, decision, &ranked[c], table.n_columns == 5, &table);
    free(ranked);
    print_head(about, decision);
    VBS_TRY(cli_table_print(about->cli, &table));
    if (n_shown < n)
        printf("\nand %d more candidate%s\n", n - n_shown, n - n_shown == 1 ? "" : "s");
    return VBS_OK;
}

enum vbs_status cli_print_points(const struct cli_explanation *about)
{
    static const struct cli_column COLUMNS[] = {
        {"bytes", true}, {"memory", true}, {"time", true}, {"", false}};
    const struct vbs_explanation *made = about->made;
    struct cli_table table = {.columns = COLUMNS, .n_columns = 4};
    int here = -1, from, to;
    char bytes[24], time[32];

    while (here + 1 < made->n_points &&
           made->points[here + 1].memory_bytes <= made->decisions[0].memory_bytes)
        here++;
    from = here > WINDOW ? here - WINDOW : 0;
    to = here + WINDOW + 1 < made->n_points ? here + WINDOW + 1 : made->n_points;
    for (int p = from; p < to; p++) {
        cli_table_add(&table, "%lld", (long long)made->points[p].memory_bytes);
        cli_table_add(&table, "%s",
                      vbs_format_bytes(made->points[p].memory_bytes, bytes, sizeof bytes));
        cli_table_add(&table, "%s",
                      cli_format_exact_time(made->points[p].time_us, time, sizeof time));
        cli_table_add(&table, "%s", p == here ? "in this memory" : " ");
    }
    printf("time against memory of this part, %d of %d point%s\n\n", to - from, made->n_points,
           made->n_points == 1 ? "" : "s");
    return cli_table_print(about->cli, &table);
}
