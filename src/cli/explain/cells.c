/* The cells of the tables of dp-vbs --table. */
#include "base/fail.h"
#include "base/text.h"
#include "cli/explain/explain.h"
#include "cli/print/print.h"

#include <math.h>
#include <stdio.h>

static void add_time(struct vbs_text *text, double time_us)
{
    if (time_us < HUGE_VAL)
        vbs_text_add_double(text, time_us);
}

enum vbs_status cli_write_cells(const struct cli_explanation *about, const char *path)
{
    struct vbs_text text = {0};
    enum vbs_status status;

    vbs_text_add(&text, "first_layer,last_layer,samples,memory_bytes,opt_us,first_samples,"
                        "exact_us,pivot\n");
    for (int64_t c = 0; c < about->made->n_cells; c++) {
        const struct vbs_cell *cell = &about->made->cells[c];

        vbs_text_addf(&text, "%d,%d,%d,%lld,", cell->first_layer, cell->last_layer, cell->samples,
                      (long long)cell->memory_bytes);
        add_time(&text, cell->opt_us);
        vbs_text_addf(&text, ",%d,", cell->first_samples);
        add_time(&text, cell->exact_us);
        vbs_text_addf(&text, ",%d\n", cell->pivot);
    }
    status = text.failed ? vbs_no_memory(&about->cli->ctx)
                         : vbs_write_file(&about->cli->ctx, path, text.data, text.length);
    vbs_text_clear(&text);
    return status;
}

static void add_cell(const struct vbs_cell *cell, struct cli_table *table)
{
    char bytes[24], time[32];

    cli_table_add(table, "%d..%d", cell->first_layer, cell->last_layer);
    cli_table_add(table, "%d", cell->samples);
    cli_table_add(table, "%s", vbs_format_bytes(cell->memory_bytes, bytes, sizeof bytes));
    cli_table_add(table, "%s",
                  cell->opt_us < HUGE_VAL ? cli_format_time(cell->opt_us, time, sizeof time) : "-");
    if (cell->first_samples)
        cli_table_add(table, "%d", cell->first_samples);
    else
        cli_table_add(table, "-");
    cli_table_add(table, "%s",
                  cell->exact_us < HUGE_VAL ? cli_format_time(cell->exact_us, time, sizeof time)
                                            : "-");
    if (cell->pivot)
        cli_table_add(table, "%d", cell->pivot);
    else
        cli_table_add(table, "-");
}

/* Gives whether a cell differs from the one before it, which has less memory or belongs to another
 * row. */
static bool changes(const struct vbs_cell *before, const struct vbs_cell *cell)
{
    if (cell->memory_bytes == 0)
        return cell->first_samples > 0;
    return cell->opt_us != before->opt_us || cell->exact_us != before->exact_us;
}

enum vbs_status cli_print_cells(const struct cli_explanation *about)
{
    static const struct cli_column COLUMNS[] = {
        {"layers", false}, {"samples", true}, {"from", true}, {"OPT", true},
        {"b1", true},      {"EXACT", true},   {"pivot", true}};
    const struct vbs_explanation *made = about->made;
    struct cli_table table = {.columns = COLUMNS, .n_columns = 7};

    if (!made->cells) {
        printf("the tables have %lld cells; --csv FILE writes them all, and --from, --to and "
               "--samples\nprint those of one part\n",
               (long long)made->n_cells);
        return VBS_OK;
    }
    for (int64_t c = 0; c < made->n_cells; c++)
        if (c == 0 ? made->cells[c].first_samples > 0
                   : changes(&made->cells[c - 1], &made->cells[c]))
            add_cell(&made->cells[c], &table);
    printf("the cells at which OPT or EXACT falls, with b1 of OPT and the pivot of EXACT; "
           "--csv has\nthose between them, too\n\n");
    return cli_table_print(about->cli, &table);
}
