/* The result as JSON and as CSV (docs/formats.md). */
#include "cli/compress/compress.h"

#include "base/fail.h"
#include "base/text.h"
#include "cli/print/print.h"

#include <stdio.h>

/* ---- the values of a row ---- */

enum cell_kind { WHOLE, REAL, NONE };

struct cell {
    const char *name;
    enum cell_kind kind;
    int64_t whole;
    double real;
};

#define MAX_CELLS 32

struct cells {
    struct cell cells[MAX_CELLS];
    int n;
};

static void add_whole(struct cells *cells, const char *name, int64_t value, bool is_known)
{
    cells->cells[cells->n++] =
        (struct cell){.name = name, .kind = is_known ? WHOLE : NONE, .whole = value};
}

static void add_real(struct cells *cells, const char *name, double value, bool is_known)
{
    cells->cells[cells->n++] =
        (struct cell){.name = name, .kind = is_known ? REAL : NONE, .real = value};
}

/* Adds what several layers have together, too. coded: they are coded. */
static void add_sizes(struct cells *cells, const struct compress_sizes *sizes, bool coded)
{
    const struct compress_bytes *bytes = &sizes->bytes;
    double n = (double)sizes->n_weights, entries = (double)sizes->n_entries;

    add_whole(cells, "weights", sizes->n_weights, true);
    add_whole(cells, "nonzero", sizes->n_nonzero, coded);
    add_real(cells, "density", (double)sizes->n_nonzero / n, coded);
    add_whole(cells, "entries", sizes->n_entries, coded);
    add_whole(cells, "dense_bytes", bytes->dense, true);
    add_whole(cells, "csr_bytes", bytes->pruned, coded);
    add_whole(cells, "codebook_bytes", bytes->codebook, coded);
    add_whole(cells, "index_bytes", bytes->index, coded);
    for (int c = 0; c < VBS_N_CODINGS; c++) {
        static const char *const NAMES[] = {"comp_bytes", "joint_bytes", "bytes_bytes"};

        add_whole(cells, NAMES[c], bytes->forms[c], coded && bytes->forms[c] > 0);
    }
    add_whole(cells, "stored_bytes", bytes->stored, true);
    add_real(cells, "ratio", (double)bytes->dense / (double)bytes->stored, true);
    add_real(cells, "value_bits", sizes->bounds.values / entries, coded && entries > 0);
    add_real(cells, "distance_bits", sizes->bounds.distances / entries, coded && entries > 0);
    add_real(cells, "pair_bits", sizes->bounds.pairs / entries, coded && entries > 0);
    add_real(cells, "least_bytes", sizes->bounds.information / 8, coded);
}

/* Adds what only a layer has; layer null: its weights stay dense. */
static void add_settings(struct cells *cells, const struct compress_layer *layer)
{
    const struct vbs_coded_shape none = {0}, *shape = layer ? &layer->shape : &none;
    bool coded = layer != NULL;

    add_whole(cells, "rows", shape->n_rows, coded);
    add_whole(cells, "columns", shape->n_columns, coded);
    add_whole(cells, "block_rows", shape->block_rows, coded);
    add_whole(cells, "block_columns", shape->block_columns, coded);
    add_whole(cells, "bits", shape->bits, coded);
    add_whole(cells, "index_bits", shape->index_bits, coded);
    add_whole(cells, "values", shape->n_values, coded);
    add_real(cells, "error", coded ? layer->error : 0, coded);
}

/* Gives all numbers of a layer; index: of the next layer that is coded. */
static struct cells cells_of(const struct compress_report *report, int layer, int *index)
{
    int64_t n = vbs_weight_count(report->network, layer);
    struct compress_sizes dense = {.n_weights = n, .bytes = {.dense = 4 * n, .stored = 4 * n}};
    struct cells cells = {.n = 0};
    const struct compress_layer *coded = NULL;

    if (report->recipe->choices[layer].coded)
        coded = &report->result->layers[(*index)++];
    add_settings(&cells, coded);
    add_sizes(&cells, coded ? &coded->sizes : &dense, coded != NULL);
    return cells;
}

static bool has_row(const struct compress_report *report, int layer)
{
    return report->recipe->choices[layer].coded || report->recipe->choices[layer].why;
}

static const char *form_of(const struct compress_report *report, int layer, int index)
{
    return report->recipe->choices[layer].coded
               ? vbs_coding_name(report->result->layers[index].shape.coding)
               : "dense";
}

static const char *reason_of(const struct compress_report *report, int layer)
{
    return report->recipe->choices[layer].coded ? "" : report->recipe->choices[layer].why;
}

/* ---- JSON ---- */

static void put_cells(json_t *object, const struct cells *cells, bool *failed)
{
    for (int i = 0; i < cells->n; i++) {
        const struct cell *cell = &cells->cells[i];

        cli_json_put(object, cell->name,
                     cell->kind == WHOLE  ? json_integer(cell->whole)
                     : cell->kind == REAL ? json_real(cell->real)
                                          : json_null(),
                     failed);
    }
}

static json_t *layers_json(const struct compress_report *report, bool *failed)
{
    json_t *layers = json_array();

    for (int k = 1, index = 0; k <= report->network->n_layers; k++) {
        const struct vbs_layer *layer = &report->network->layers[k];
        const char *form;
        struct cells cells;
        json_t *object;

        if (!has_row(report, k))
            continue;
        form = form_of(report, k, index);
        cells = cells_of(report, k, &index);
        object = json_object();
        cli_json_put(object, "layer", json_integer(k), failed);
        cli_json_put(object, "name", json_string(layer->name), failed);
        cli_json_put(object, "kind", json_string(vbs_op_word(layer->op)), failed);
        cli_json_put(object, "form", json_string(form), failed);
        cli_json_put(object, "reason", json_string(reason_of(report, k)), failed);
        put_cells(object, &cells, failed);
        cli_json_append(layers, object, failed);
    }
    return layers;
}

enum vbs_status compress_print_json(struct cli *cli, const struct compress_report *report)
{
    bool failed = false;
    json_t *root = json_object(), *total = json_object();
    struct cells cells = {.n = 0};

    add_sizes(&cells, &report->result->total, true);
    put_cells(total, &cells, &failed);
    cli_json_put(root, "format", json_string("vbslab-compress-1"), &failed);
    cli_json_put(root, "vbslab", json_string(vbs_version()), &failed);
    cli_json_put(root, "model", json_string(report->network->name), &failed);
    cli_json_put(root, "file", json_string(report->path), &failed);
    cli_json_put(root, "file_bytes", json_integer(report->file_bytes), &failed);
    cli_json_put(root, "preset", json_string(report->recipe->preset), &failed);
    cli_json_put(root, "any_form", json_boolean(report->recipe->automatic), &failed);
    cli_json_put(root, "parameter_bytes", json_integer(report->result->parameter_bytes), &failed);
    cli_json_put(root, "network_bytes", json_integer(report->result->network_bytes), &failed);
    cli_json_put(root, "total", total, &failed);
    cli_json_put(root, "layers", layers_json(report, &failed), &failed);
    return cli_json_print(cli, root, failed);
}

/* ---- CSV ---- */

static void add_row(struct vbs_text *text, const struct compress_report *report, int k,
                    const char *form, const struct cells *cells)
{
    vbs_text_addf(text, "%d,", k);
    vbs_text_add_csv(text, report->network->layers[k].name);
    vbs_text_addf(text, ",%s,%s,%s", vbs_op_word(report->network->layers[k].op), form,
                  reason_of(report, k));
    for (int i = 0; i < cells->n; i++) {
        vbs_text_add(text, ",");
        if (cells->cells[i].kind == WHOLE)
            vbs_text_addf(text, "%lld", (long long)cells->cells[i].whole);
        else if (cells->cells[i].kind == REAL)
            vbs_text_add_double(text, cells->cells[i].real);
    }
    vbs_text_add(text, "\n");
}

enum vbs_status compress_print_csv(struct cli *cli, const struct compress_report *report)
{
    struct vbs_text text = {0};
    enum vbs_status status = VBS_OK;

    for (int k = 1, index = 0; k <= report->network->n_layers; k++) {
        const char *form;
        struct cells cells;

        if (!has_row(report, k))
            continue;
        form = form_of(report, k, index);
        cells = cells_of(report, k, &index);
        if (text.length == 0) {
            vbs_text_add(&text, "layer,name,kind,form,reason");
            for (int i = 0; i < cells.n; i++)
                vbs_text_addf(&text, ",%s", cells.cells[i].name);
            vbs_text_add(&text, "\n");
        }
        add_row(&text, report, k, form, &cells);
    }
    if (text.failed)
        status = vbs_no_memory(&cli->ctx);
    else
        fputs(text.data ? text.data : "", stdout);
    vbs_text_clear(&text);
    return status;
}
