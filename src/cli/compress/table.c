/* The result as a table for people. */
#include "cli/compress/compress.h"

#include "cli/print/print.h"

#include <stdio.h>
#include <string.h>

static const struct cli_column COLUMNS[] = {
    {"layer", true}, {"name", false},   {"matrix", true}, {"density", true},  {"bits", true},
    {"error", true}, {"padding", true}, {"CSR", true},    {"codebook", true}, {"index", true},
    {"comp", true},  {"joint", true},   {"bytes", true},  {"least", true},    {"stored", true},
    {"ratio", true}, {"form", false},
};

#define N_COLUMNS ((int)(sizeof COLUMNS / sizeof COLUMNS[0]))
/* The columns that a narrow terminal does without: matrix, error, padding, CSR, codebook, index and
 * bytes. */
#define SPARE (1U << 2 | 1U << 5 | 1U << 6 | 1U << 7 | 1U << 8 | 1U << 9 | 1U << 12)

static void add_percent(struct cli_table *table, double part)
{
    if (part > 0 && part < 0.00005)
        cli_table_add(table, "<0.01%%");
    else
        cli_table_add(table, part > 0 && part < 0.01 ? "%.2f%%" : "%.1f%%", 100 * part);
}

/* Adds bytes as bits a weight; 0: there is no such form. */
static void add_bits(struct cli_table *table, int64_t bytes, int64_t n_weights)
{
    if (bytes > 0)
        cli_table_add(table, "%.3f", 8 * (double)bytes / (double)n_weights);
    else
        cli_table_add(table, "-");
}

static void add_padding(struct cli_table *table, const struct compress_sizes *sizes)
{
    if (sizes->n_nonzero > 0)
        add_percent(table,
                    (double)(sizes->n_entries - sizes->n_nonzero) / (double)sizes->n_nonzero);
    else
        cli_table_add(table, "-");
}

/* Adds the columns from CSR to ratio. */
static void add_stages(struct cli_table *table, const struct compress_sizes *sizes)
{
    const struct compress_bytes *bytes = &sizes->bytes;
    char text[24];

    add_bits(table, bytes->pruned, sizes->n_weights);
    add_bits(table, bytes->codebook, sizes->n_weights);
    add_bits(table, bytes->index, sizes->n_weights);
    for (int c = 0; c < VBS_N_CODINGS; c++)
        add_bits(table, bytes->forms[c], sizes->n_weights);
    cli_table_add(table, "%.3f", sizes->bounds.information / (double)sizes->n_weights);
    cli_table_add(table, "%s", vbs_format_bytes(bytes->stored, text, sizeof text));
    cli_table_add(table, bytes->dense < bytes->stored ? "%.2f" : "%.1f",
                  (double)bytes->dense / (double)bytes->stored);
}

static void add_layer(struct cli_table *table, const struct compress_report *report,
                      const struct compress_layer *layer)
{
    const struct vbs_coded_shape *shape = &layer->shape;

    cli_table_add(table, "%d", layer->layer);
    cli_table_add(table, "%s", report->network->layers[layer->layer].name);
    cli_table_add(table, "%lldx%lld", (long long)shape->n_rows, (long long)shape->n_columns);
    add_percent(table, (double)shape->n_nonzero / (double)layer->sizes.n_weights);
    cli_table_add(table, "%d+%d", shape->bits, shape->index_bits);
    add_percent(table, layer->error);
    add_padding(table, &layer->sizes);
    add_stages(table, &layer->sizes);
    cli_table_add(table, "%s", vbs_coding_name(shape->coding));
}

/* Adds a layer whose weights stay dense. */
static void add_dense(struct cli_table *table, const struct compress_report *report, int layer)
{
    int64_t n = vbs_weight_count(report->network, layer);
    char text[24];

    cli_table_add(table, "%d", layer);
    cli_table_add(table, "%s", report->network->layers[layer].name);
    for (int i = 2; i < N_COLUMNS - 3; i++)
        cli_table_add(table, "-");
    cli_table_add(table, "%s", vbs_format_bytes(4 * n, text, sizeof text));
    cli_table_add(table, "1.0");
    cli_table_add(table, "dense");
}

static void add_total(struct cli_table *table, const struct compress_sizes *total)
{
    cli_table_add(table, "%s", "");
    cli_table_add(table, "coded");
    cli_table_add(table, "%s", "");
    add_percent(table, (double)total->n_nonzero / (double)total->n_weights);
    cli_table_add(table, "%s", "");
    cli_table_add(table, "%s", "");
    add_padding(table, total);
    add_stages(table, total);
    cli_table_add(table, "%s", "");
}

/* Gives whether a layer with weights stays dense. */
static bool has_dense(const struct compress_report *report)
{
    for (int k = 1; k <= report->network->n_layers; k++)
        if (!report->recipe->choices[k].coded && report->recipe->choices[k].why)
            return true;
    return false;
}

static void print_sizes(const struct compress_report *report)
{
    double before_bytes = (double)report->result->parameter_bytes;
    double now_bytes = (double)report->result->network_bytes;
    char before[24], now[24], file[24];

    printf("network: %s of parameters before, %s now, %.1f times %s; '",
           vbs_format_bytes(report->result->parameter_bytes, before, sizeof before),
           vbs_format_bytes(report->result->network_bytes, now, sizeof now),
           now_bytes > before_bytes ? now_bytes / before_bytes : before_bytes / now_bytes,
           now_bytes > before_bytes ? "larger" : "smaller");
    cli_print_name(report->path);
    printf("' has %s\n", vbs_format_bytes(report->file_bytes, file, sizeof file));
}

static void print_notes(struct cli *cli, const struct compress_report *report)
{
    cli_flow_begin_text(cli);
    printf("\nbits: of an index into the shared values, and of a distance; error: of quantising, "
           "relative to the weights that remain; padding: zeros that fill distances, relative to "
           "these weights; CSR, codebook, index, comp, joint, bytes: bits a weight after pruning, "
           "with shared values, with distances, and in each of the three forms, with all tables; "
           "least: what places and values of the weights need at least; ratio: of dense bytes to "
           "stored ones.\n");
    if (has_dense(report))
        printf(
            "dense: layers of fewer than %d weights and convolutions of each channel on its own, "
            "which are coded where an option names them; transposed convolutions.\n",
            COMPRESS_LEAST_WEIGHTS);
    print_sizes(report);
    if (vbs_network_stored(report->network) == 0)
        printf("weights: seeded, not trained: they show sizes and times, not accuracies. Seeded "
               "parameters that are not coded are not in the file.\n");
    cli_flow_end(cli);
}

enum vbs_status compress_print_table(struct cli *cli, const struct compress_report *report)
{
    struct cli_table table = {.columns = COLUMNS, .n_columns = N_COLUMNS, .spare = SPARE};
    enum vbs_status status;

    for (int k = 1, next = 0; k <= report->network->n_layers; k++)
        if (report->recipe->choices[k].coded)
            add_layer(&table, report, &report->result->layers[next++]);
        else if (report->recipe->choices[k].why)
            add_dense(&table, report, k);
    add_total(&table, &report->result->total);
    status = cli_table_print(cli, &table);
    if (status == VBS_OK)
        print_notes(cli, report);
    return status;
}
