#include "base/fail.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/print/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Forms of the same result. */
enum form { FORM_TABLE, FORM_JSON, FORM_CSV };

/* The sums of a network, per sample. */
struct totals {
    int64_t parameters, weight_bytes, macs, out_bytes;
};

static struct totals add_up(const struct vbs_network *network)
{
    struct totals totals = {0};

    for (int k = 1; k <= network->n_layers; k++) {
        totals.parameters += network->layers[k].parameters;
        totals.weight_bytes += vbs_network_weight_bytes(network, k);
        totals.macs += network->layers[k].macs;
        totals.out_bytes += vbs_network_out_bytes(network, k);
    }
    return totals;
}

/* Writes a count in four digits: "724.4 M", "15.47 G". */
static char *format_count(int64_t count, char *buffer, size_t size)
{
    static const char *const PREFIXES[] = {"", " k", " M", " G", " T", " P", " E"};
    double value = (double)count;
    int prefix = 0;

    while (value >= 999.95 && prefix < 6) {
        value /= 1000;
        prefix++;
    }
    snprintf(buffer, size,
             prefix == 0      ? "%.0f%s"
             : value < 9.9995 ? "%.3f%s"
             : value < 99.995 ? "%.2f%s"
                              : "%.1f%s",
             value, PREFIXES[prefix]);
    return buffer;
}

static void add_count(struct cli_table *table, int64_t count)
{
    char buffer[24];

    cli_table_add(table, "%s", count ? format_count(count, buffer, sizeof buffer) : "-");
}

static void add_bytes(struct cli_table *table, int64_t bytes)
{
    char buffer[24];

    cli_table_add(table, "%s", bytes ? vbs_format_bytes(bytes, buffer, sizeof buffer) : "-");
}

static void add_shape(struct cli_table *table, const struct vbs_shape *shape)
{
    char buffer[64];

    cli_table_add(table, "%s", vbs_shape_format(shape, buffer, sizeof buffer));
}

/* Gives the number of the next layer in profiles of the analytic backend, 0: these have no such
 * layer; *last is the last number that was given. */
static int analytic_number(const struct vbs_network *network, int k, int *last)
{
    return vbs_analytic_omits(network, k) ? 0 : ++*last;
}

static json_t *shape_json(const struct vbs_shape *shape)
{
    json_t *dims = json_array();

    for (int i = 0; i < shape->n_dims; i++)
        if (json_array_append_new(dims, json_integer(shape->dim[i])) != 0) {
            json_decref(dims);
            return NULL;
        }
    return dims;
}

static json_t *inputs_json(const struct vbs_layer *layer, bool *failed)
{
    json_t *inputs = json_array();

    for (int i = 0; i < layer->n_inputs; i++)
        cli_json_append(inputs, json_integer(layer->inputs[i]), failed);
    return inputs;
}

static json_t *fused_json(const struct vbs_layer *layer, bool *failed)
{
    json_t *list = json_array();

    for (int i = 0; i < layer->n_fused; i++) {
        json_t *item = json_object();

        cli_json_put(item, "name", json_string(layer->fused[i].name), failed);
        cli_json_put(item, "kind", json_string(vbs_op_word(layer->fused[i].op)), failed);
        cli_json_append(list, item, failed);
    }
    return list;
}

/* Gives whether a layer of the network has coded weights. */
static bool is_coded(const struct vbs_network *network)
{
    for (int k = 1; k <= network->n_layers; k++)
        if (vbs_network_coded(network, k))
            return true;
    return false;
}

/* Gives what the coded weights of a layer are; false where it has none. */
static bool find_coded(const struct vbs_network *network, int k, struct vbs_coded_shape *shape,
                       double *density)
{
    const struct vbs_coded *coded = vbs_network_coded(network, k);

    if (!coded)
        return false;
    vbs_coded_describe(coded, shape);
    *density = (double)shape->n_nonzero / (double)vbs_weight_count(network, k);
    return true;
}

/* Gives whether other forms than the stored one may be used. */
static bool has_other_forms(const struct vbs_network *network, int k, enum vbs_coding coding)
{
    return vbs_network_may_code(network, k, (enum vbs_coding)((coding + 1) % VBS_N_CODINGS)) ||
           vbs_network_may_code(network, k, (enum vbs_coding)((coding + 2) % VBS_N_CODINGS));
}

static json_t *coded_json(const struct vbs_network *network, int k, bool *failed)
{
    struct vbs_coded_shape shape;
    json_t *object;
    double density;

    if (!find_coded(network, k, &shape, &density))
        return json_null();
    object = json_object();
    cli_json_put(object, "form", json_string(vbs_coding_name(shape.coding)), failed);
    cli_json_put(object, "any_form", json_boolean(has_other_forms(network, k, shape.coding)),
                 failed);
    cli_json_put(object, "density", json_real(density), failed);
    cli_json_put(object, "bits", json_integer(shape.bits), failed);
    cli_json_put(object, "index_bits", json_integer(shape.index_bits), failed);
    cli_json_put(object, "coded_bytes", json_integer((int64_t)shape.n_bytes), failed);
    return object;
}

/* Puts how a tensor is stored: float32, uint8, int8 or bfloat16, with scale and zero point. */
static void put_encoding(json_t *object, const struct vbs_encoding *encoding, bool *failed)
{
    bool whole = encoding->scale > 0;

    cli_json_put(object, "stored", json_string(vbs_storage_word(encoding->storage)), failed);
    cli_json_put(object, "scale", whole ? json_real((double)encoding->scale) : json_null(), failed);
    cli_json_put(object, "zero", whole ? json_integer(encoding->zero) : json_null(), failed);
}

static json_t *layer_json(const struct vbs_network *network, int k, int analytic, bool *failed)
{
    const struct vbs_layer *layer = &network->layers[k];
    json_t *object = json_object();

    cli_json_put(object, "layer", json_integer(k), failed);
    cli_json_put(object, "name", json_string(layer->name), failed);
    cli_json_put(object, "kind", json_string(vbs_op_word(layer->op)), failed);
    cli_json_put(object, "inputs", inputs_json(layer, failed), failed);
    cli_json_put(object, "shape", shape_json(&layer->shape), failed);
    cli_json_put(object, "in_bytes", json_integer(vbs_network_in_bytes(network, k)), failed);
    cli_json_put(object, "out_bytes", json_integer(vbs_network_out_bytes(network, k)), failed);
    cli_json_put(object, "weight_bytes", json_integer(vbs_network_weight_bytes(network, k)),
                 failed);
    cli_json_put(object, "macs", json_integer(layer->macs), failed);
    cli_json_put(object, "fused", fused_json(layer, failed), failed);
    cli_json_put(object, "analytic_layer", analytic ? json_integer(analytic) : json_null(), failed);
    if (is_coded(network))
        cli_json_put(object, "coded", coded_json(network, k, failed), failed);
    if (vbs_network_precision(network) == VBS_PRECISION_FP32)
        return object;
    put_encoding(object, &layer->encoding, failed);
    cli_json_put(object, "weights_stored", json_string(vbs_storage_word(layer->weights)), failed);
    return object;
}

/* Makes the object of a network in `models`, with which that of `models show` begins. */
static json_t *network_json(const struct vbs_network *network, bool *failed)
{
    struct totals totals = add_up(network);
    json_t *object = json_object();

    cli_json_put(object, "name", json_string(network->name), failed);
    cli_json_put(object, "about", json_string(network->about), failed);
    cli_json_put(object, "input", shape_json(&network->input), failed);
    cli_json_put(object, "n_layers", json_integer(network->n_layers), failed);
    cli_json_put(object, "parameters", json_integer(totals.parameters), failed);
    cli_json_put(object, "weight_bytes", json_integer(totals.weight_bytes), failed);
    cli_json_put(object, "macs", json_integer(totals.macs), failed);
    if (vbs_network_precision(network) != VBS_PRECISION_FP32)
        put_encoding(object, &network->layers[0].encoding, failed);
    return object;
}

/* Gives whether the network is from a file that may have values of parameters. */
static bool may_store(const char *model)
{
    return cli_is_file_of(model, ".onnx") || cli_is_file_of(model, ".vbz");
}

/* Gives the word of the JSON for the source of the weights of a network from an ONNX or .vbz
 * file. */
static const char *weights_word(const struct vbs_network *network)
{
    if (vbs_network_parameters(network) == 0)
        return "none";
    return vbs_network_stored(network) > 0 ? "stored" : "seeded";
}

static const char *number_word(enum vbs_number number)
{
    static const char *const WORDS[] = {
        [VBS_NUMBER_REAL] = "real", [VBS_NUMBER_WHOLE] = "whole", [VBS_NUMBER_BOOL] = "bool"};

    return WORDS[number];
}

static json_t *network_inputs_json(const struct vbs_network *network, bool *failed)
{
    json_t *array = json_array();

    for (int i = 0; i < network->n_inputs; i++) {
        const struct vbs_input *input = &network->inputs[i];
        json_t *object = json_object();

        cli_json_put(object, "name", json_string(input->name), failed);
        cli_json_put(object, "shape", shape_json(&input->shape), failed);
        cli_json_put(object, "numbers", json_string(number_word(input->number)), failed);
        cli_json_put(object, "shared", json_boolean(input->shared), failed);
        cli_json_append(array, object, failed);
    }
    return array;
}

static json_t *network_outputs_json(const struct vbs_network *network, bool *failed)
{
    json_t *array = json_array();

    for (int i = 0; i < network->n_outputs; i++) {
        const struct vbs_output *output = &network->outputs[i];
        json_t *object = json_object();

        cli_json_put(object, "name", json_string(output->name), failed);
        cli_json_put(object, "shape", shape_json(&output->shape), failed);
        cli_json_put(object, "layer", json_integer(output->layer), failed);
        cli_json_append(array, object, failed);
    }
    return array;
}

static enum vbs_status show_json(struct cli *cli, const char *model,
                                 const struct vbs_network *network)
{
    bool failed = false;
    json_t *root = network_json(network, &failed), *layers = json_array();
    int last = 0;

    if (may_store(model)) {
        cli_json_put(root, "weights", json_string(weights_word(network)), &failed);
        cli_json_put(root, "whole", json_boolean(network->whole), &failed);
        if (network->whole_why)
            cli_json_put(root, "whole_why", json_string(network->whole_why), &failed);
        if (network->whole)
            cli_json_put(root, "whole_open", json_boolean(network->whole_open), &failed);
    }
    for (int k = 1; k <= network->n_layers; k++)
        cli_json_append(layers, layer_json(network, k, analytic_number(network, k, &last), &failed),
                        &failed);
    cli_json_put(root, "layers", layers, &failed);
    if (may_store(model)) {
        cli_json_put(root, "inputs", network_inputs_json(network, &failed), &failed);
        cli_json_put(root, "outputs", network_outputs_json(network, &failed), &failed);
    }
    return cli_json_print(cli, root, failed);
}

/* Appends the words of fused operators, or the ids of inputs, with a separator between. */
static void add_fused(struct vbs_text *text, const struct vbs_layer *layer, const char *separator)
{
    for (int i = 0; i < layer->n_fused; i++)
        vbs_text_addf(text, "%s%s", i ? separator : "", vbs_op_word(layer->fused[i].op));
}

static void add_inputs(struct vbs_text *text, const struct vbs_layer *layer, const char *separator)
{
    for (int i = 0; i < layer->n_inputs; i++)
        vbs_text_addf(text, "%s%d", i ? separator : "", layer->inputs[i]);
}

static void add_coded_csv(struct vbs_text *text, const struct vbs_network *network, int k)
{
    struct vbs_coded_shape shape;
    double density;

    if (!find_coded(network, k, &shape, &density)) {
        vbs_text_add(text, ",,,,,");
        return;
    }
    vbs_text_addf(text, ",%s,", vbs_coding_name(shape.coding));
    vbs_text_add_double(text, density);
    vbs_text_addf(text, ",%d,%d,%zu", shape.bits, shape.index_bits, shape.n_bytes);
}

static void add_encoding_csv(struct vbs_text *text, const struct vbs_layer *layer)
{
    const struct vbs_encoding *encoding = &layer->encoding;

    vbs_text_addf(text, ",%s,", vbs_storage_word(encoding->storage));
    if (encoding->scale > 0) {
        vbs_text_add_double(text, (double)encoding->scale);
        vbs_text_addf(text, ",%d", encoding->zero);
    } else {
        vbs_text_add(text, ",");
    }
    vbs_text_addf(text, ",%s", vbs_storage_word(layer->weights));
}

static void add_layer_csv(struct vbs_text *text, const struct vbs_network *network, int k,
                          int analytic)
{
    const struct vbs_layer *layer = &network->layers[k];
    char shape[64];

    vbs_text_addf(text, "%d,", k);
    vbs_text_add_csv(text, layer->name);
    vbs_text_addf(text, ",%s,", vbs_op_word(layer->op));
    add_inputs(text, layer, ";");
    vbs_text_addf(
        text, ",%s,%lld,%lld,%lld,%lld,", vbs_shape_format(&layer->shape, shape, sizeof shape),
        (long long)vbs_network_in_bytes(network, k), (long long)vbs_network_out_bytes(network, k),
        (long long)vbs_network_weight_bytes(network, k), (long long)layer->macs);
    add_fused(text, layer, ";");
    if (analytic)
        vbs_text_addf(text, ",%d", analytic);
    else
        vbs_text_add(text, ",");
    add_coded_csv(text, network, k);
    add_encoding_csv(text, layer);
    vbs_text_add(text, "\n");
}

static enum vbs_status show_csv(struct cli *cli, const struct vbs_network *network)
{
    struct vbs_text text = {0};
    int last = 0;

    vbs_text_add(&text, "layer,name,kind,inputs,shape,in_bytes,out_bytes,weight_bytes,macs,"
                        "fused,analytic_layer,coding,density,bits,index_bits,coded_bytes,stored,"
                        "scale,zero,weights_stored\n");
    for (int k = 1; k <= network->n_layers; k++)
        add_layer_csv(&text, network, k, analytic_number(network, k, &last));
    return cli_text_print(cli, &text);
}

/* Adds cells that need more than one number or word. */
static void add_list(struct cli_table *table, const struct vbs_layer *layer, const char *separator,
                     void (*add)(struct vbs_text *, const struct vbs_layer *, const char *))
{
    struct vbs_text text = {0};

    add(&text, layer, separator);
    if (text.failed)
        table->failed = true;
    else
        cli_table_add(table, "%s", text.data ? text.data : "");
    vbs_text_clear(&text);
}

/* Adds the columns of coded weights. */
static void add_coded(struct cli_table *table, const struct vbs_network *network, int k)
{
    struct vbs_coded_shape shape;
    double density;

    if (!find_coded(network, k, &shape, &density)) {
        for (int i = 0; i < 4; i++)
            cli_table_add(table, "-");
        return;
    }
    cli_table_add(table, "%s%s", vbs_coding_name(shape.coding),
                  has_other_forms(network, k, shape.coding) ? "" : " only");
    cli_table_add(table, "%.1f%%", 100 * density);
    cli_table_add(table, "%d+%d", shape.bits, shape.index_bits);
    add_bytes(table, (int64_t)shape.n_bytes);
}

/* Adds the sum of the columns of coded weights. */
static void add_coded_total(struct cli_table *table, const struct vbs_network *network)
{
    struct vbs_coded_shape shape;
    int64_t bytes = 0, n = 0, n_nonzero = 0;
    double density;

    for (int k = 1; k <= network->n_layers; k++)
        if (find_coded(network, k, &shape, &density)) {
            bytes += (int64_t)shape.n_bytes;
            n += vbs_weight_count(network, k);
            n_nonzero += shape.n_nonzero;
        }
    cli_table_add(table, "%s", "");
    cli_table_add(table, "%.1f%%", n ? 100 * (double)n_nonzero / (double)n : 0.0);
    cli_table_add(table, "%s", "");
    add_bytes(table, bytes);
}

/* Adds how the output and, where they are not floats, the weights are stored. */
static void add_stored(struct cli_table *table, const struct vbs_layer *layer)
{
    const char *weights = layer->weights == VBS_FLOAT32 ? "" : vbs_storage_word(layer->weights);

    cli_table_add(table, "%s%s%s", vbs_storage_word(layer->encoding.storage),
                  weights[0] ? ", weights " : "", weights);
}

/* Adds the row of a layer; analytic is null where the table has no such column. */
static void add_layer_row(struct cli_table *table, const struct vbs_network *network, int k,
                          const int *analytic)
{
    const struct vbs_layer *layer = &network->layers[k];

    cli_table_add(table, "%d", k);
    cli_table_add(table, "%s", layer->name);
    cli_table_add(table, "%s", vbs_op_word(layer->op));
    add_list(table, layer, ",", add_inputs);
    add_shape(table, &layer->shape);
    add_bytes(table, vbs_network_in_bytes(network, k));
    add_bytes(table, vbs_network_out_bytes(network, k));
    add_bytes(table, vbs_network_weight_bytes(network, k));
    add_count(table, layer->macs);
    add_list(table, layer, "+", add_fused);
    if (vbs_network_precision(network) != VBS_PRECISION_FP32)
        add_stored(table, layer);
    if (is_coded(network))
        add_coded(table, network, k);
    if (analytic && *analytic)
        cli_table_add(table, "%d", *analytic);
    else if (analytic)
        cli_table_add(table, "-");
}

/* Adds the row of sums; n_analytic is null where the table has no such column. */
static void add_total_row(struct cli_table *table, const struct vbs_network *network,
                          const int *n_analytic)
{
    struct totals totals = add_up(network);

    cli_table_add(table, "%d", network->n_layers);
    cli_table_add(table, "in all");
    cli_table_add(table, "%s", "");
    cli_table_add(table, "%s", "");
    cli_table_add(table, "%s", "");
    cli_table_add(table, "%s", "");
    add_bytes(table, totals.out_bytes);
    add_bytes(table, totals.weight_bytes);
    add_count(table, totals.macs);
    cli_table_add(table, "%s", "");
    if (vbs_network_precision(network) != VBS_PRECISION_FP32)
        cli_table_add(table, "%s", "");
    if (is_coded(network))
        add_coded_total(table, network);
    if (n_analytic)
        cli_table_add(table, "%d", *n_analytic);
}

/* Gives whether profiles of the analytic backend have other numbers than the network. */
static bool is_renumbered(const struct vbs_network *network)
{
    for (int k = 1; k <= network->n_layers; k++)
        if (vbs_analytic_omits(network, k))
            return true;
    return false;
}

static const char *shape_text(const struct vbs_shape *shape, char *buffer, size_t size)
{
    return shape->n_dims > 0 ? vbs_shape_format(shape, buffer, size) : "a number";
}

/* Prints the inputs, where there is more to say of them than the shape of tensor 0. */
static void print_inputs(const struct vbs_network *network)
{
    bool plain = network->n_inputs == 1 && network->inputs[0].number == VBS_NUMBER_REAL &&
                 network->n_unread_inputs == 0;
    char shape[64];

    for (int i = 0; i < network->n_inputs && !plain; i++) {
        const struct vbs_input *input = &network->inputs[i];

        printf("input '");
        cli_print_name(input->name);
        printf("': %s%s%s\n", shape_text(&input->shape, shape, sizeof shape),
               input->number == VBS_NUMBER_BOOL    ? ", 0 or 1"
               : input->number == VBS_NUMBER_WHOLE ? ", whole numbers"
                                                   : "",
               input->shared ? ", the same for all samples" : "");
    }
    for (int i = 0; i < network->n_fixed_inputs; i++) {
        printf("input '");
        cli_print_name(network->fixed_inputs[i].name);
        printf("': the constant %g\n", network->fixed_inputs[i].value);
    }
    for (int i = 0; i < network->n_until; i++) {
        printf("ends with '");
        cli_print_name(network->until[i]);
        printf("'\n");
    }
    for (int i = 0; i < network->n_unread_inputs; i++) {
        printf("input '");
        cli_print_name(network->unread_inputs[i]);
        printf("': no node reads it\n");
    }
}

/* Prints the outputs, where there are several. */
static void print_outputs(const struct vbs_network *network)
{
    char shape[64];

    for (int i = 0; i < network->n_outputs && network->n_outputs > 1; i++) {
        printf("output '");
        cli_print_name(network->outputs[i].name);
        printf("': %s, of layer %d\n", shape_text(&network->outputs[i].shape, shape, sizeof shape),
               network->outputs[i].layer);
    }
}

/* Prints in what a network computes where that is not what it is stored in. */
static void print_computing(const struct vbs_network *network)
{
    static const char *const WORDS[] = {
        [VBS_PRECISION_INT8] =
            "in whole numbers where there are kernels of 8 bits, else in 32-bit floats: "
            "algorithms with '+f32'",
        [VBS_PRECISION_BF16] = "in bfloat16 where there are kernels of it, else in 32-bit floats: "
                               "algorithms with '+f32'",
        [VBS_PRECISION_FP32] = "in 32-bit floats",
    };
    enum vbs_precision precision = vbs_network_precision(network);
    const char *about = network->about;

    if (precision == VBS_PRECISION_FP32 && !strstr(about, "; quantised") &&
        !strstr(about, "; 16-bit floats"))
        return;
    printf("computed: %s\n", WORDS[precision]);
}

/* Prints why samples of a network are whole inputs of its file, and what that makes of a dimension
 * that the file leaves open. */
static void print_whole(const struct vbs_network *network)
{
    printf("samples: whole inputs of the file; ");
    if (network->whole_why)
        cli_print_name(network->whole_why);
    else
        printf("it computes along dimension 0");
    if (network->whole_open)
        printf(
            "; dimension 0, which the file leaves open, is 1 unless --input gives a whole shape");
    printf("\n");
}

/* Prints the properties of a network from an ONNX or .vbz file that the table does not show. */
static void print_notes(const struct vbs_network *network)
{
    printf("\nfile: ");
    cli_print_name(network->about);
    printf("\n");
    print_computing(network);
    printf("weights: %s\n", vbs_network_parameters(network) == 0 ? "none"
                            : vbs_network_stored(network) > 0    ? "from the file"
                                                                 : "seeded, the file has none");
    if (is_coded(network))
        printf("coded: bytes in the file, in this form ('only': plans use no other); bits: of an "
               "index "
               "+ a distance\n");
    if (network->whole)
        print_whole(network);
    print_inputs(network);
    print_outputs(network);
}

#define MOST_COLUMNS 16

/* Makes the columns of the table of layers; returns their number. */
static int fill_columns(const struct vbs_network *network, struct cli_column *columns)
{
    static const struct cli_column PLAIN[] = {
        {"layer", true}, {"name", false}, {"kind", false},   {"inputs", false}, {"output", true},
        {"in", true},    {"out", true},   {"weights", true}, {"MACs", true},    {"fused", false},
    };
    static const struct cli_column CODED[] = {
        {"form", false}, {"density", true}, {"bits", true}, {"coded", true}};
    int n = sizeof PLAIN / sizeof *PLAIN;

    memcpy(columns, PLAIN, sizeof PLAIN);
    if (vbs_network_precision(network) != VBS_PRECISION_FP32)
        columns[n++] = (struct cli_column){"stored", false};
    if (is_coded(network)) {
        memcpy(columns + n, CODED, sizeof CODED);
        n += sizeof CODED / sizeof *CODED;
    }
    if (is_renumbered(network))
        columns[n++] = (struct cli_column){"analytic", true};
    return n;
}

static enum vbs_status show_table(struct cli *cli, const char *model,
                                  const struct vbs_network *network)
{
    struct cli_column columns[MOST_COLUMNS];
    bool renumbered = is_renumbered(network);
    struct cli_table table = {.columns = columns, .n_columns = fill_columns(network, columns)};
    enum vbs_status status;
    int last = 0;

    for (int k = 1; k <= network->n_layers; k++) {
        int number = analytic_number(network, k, &last);

        add_layer_row(&table, network, k, renumbered ? &number : NULL);
    }
    add_total_row(&table, network, renumbered ? &last : NULL);
    status = cli_table_print(cli, &table);
    cli_flow_begin(cli);
    if (status == VBS_OK && renumbered)
        printf(
            "\nanalytic: the number of the layer in profiles of the analytic backend, which have "
            "no concats, because they are free there. In all other profiles a layer has its "
            "number of the network.\n");
    if (status == VBS_OK && may_store(model))
        print_notes(network);
    cli_flow_end(cli);
    return status;
}

static enum vbs_status show(struct cli *cli, enum form form, const char *model)
{
    struct vbs_network *network;
    enum vbs_status status = cli_load_network(cli, model, &network);

    if (status != VBS_OK)
        return status;
    if (form == FORM_JSON)
        status = show_json(cli, model, network);
    else if (form == FORM_CSV)
        status = show_csv(cli, network);
    else
        status = show_table(cli, model, network);
    vbs_network_free(network);
    return status;
}

static enum vbs_status list_json(struct cli *cli, struct vbs_network *const *networks, int n)
{
    bool failed = false;
    json_t *root = json_object(), *models = json_array();

    for (int i = 0; i < n; i++)
        cli_json_append(models, network_json(networks[i], &failed), &failed);
    cli_json_put(root, "models", models, &failed);
    return cli_json_print(cli, root, failed);
}

static enum vbs_status list_csv(struct cli *cli, struct vbs_network *const *networks, int n)
{
    struct vbs_text text = {0};
    char shape[64];

    vbs_text_add(&text, "name,input,layers,parameters,weight_bytes,macs,about\n");
    for (int i = 0; i < n; i++) {
        struct totals totals = add_up(networks[i]);

        vbs_text_addf(&text, "%s,%s,%d,%lld,%lld,%lld,", networks[i]->name,
                      vbs_shape_format(&networks[i]->input, shape, sizeof shape),
                      networks[i]->n_layers, (long long)totals.parameters,
                      (long long)totals.weight_bytes, (long long)totals.macs);
        vbs_text_add_csv(&text, networks[i]->about);
        vbs_text_add(&text, "\n");
    }
    return cli_text_print(cli, &text);
}

static enum vbs_status list_table(struct cli *cli, struct vbs_network *const *networks, int n)
{
    static const struct cli_column COLUMNS[] = {
        {"name", false},   {"input", true}, {"layers", true},
        {"weights", true}, {"MACs", true},  {"", false},
    };
    struct cli_table table = {.columns = COLUMNS, .n_columns = sizeof COLUMNS / sizeof COLUMNS[0]};

    for (int i = 0; i < n; i++) {
        struct totals totals = add_up(networks[i]);

        cli_table_add(&table, "%s", networks[i]->name);
        add_shape(&table, &networks[i]->input);
        cli_table_add(&table, "%d", networks[i]->n_layers);
        add_bytes(&table, totals.weight_bytes);
        add_count(&table, totals.macs);
        cli_table_add(&table, "%s", networks[i]->about);
    }
    return cli_table_print(cli, &table);
}

static enum vbs_status list(struct cli *cli, enum form form)
{
    int n = vbs_model_count();
    struct vbs_network **networks = calloc((size_t)n, sizeof(struct vbs_network *));
    enum vbs_status status = networks ? VBS_OK : vbs_no_memory(&cli->ctx);

    for (int i = 0; i < n && status == VBS_OK; i++)
        status = vbs_network_load(&cli->ctx, vbs_model_name(i), NULL, &networks[i]);
    if (status != VBS_OK)
        goto done;
    if (form == FORM_JSON)
        status = list_json(cli, networks, n);
    else if (form == FORM_CSV)
        status = list_csv(cli, networks, n);
    else
        status = list_table(cli, networks, n);
done:
    for (int i = 0; i < n && networks; i++)
        vbs_network_free(networks[i]);
    free(networks);
    return status;
}

static int run_models(struct cli *cli, const char *const *values, int n_arguments,
                      const char *const *arguments)
{
    bool json = cli_value(cli, values, "json") != NULL, csv = cli_value(cli, values, "csv") != NULL;
    enum form form = json ? FORM_JSON : csv ? FORM_CSV : FORM_TABLE;
    enum vbs_status status;

    if (json && csv)
        return cli_usage(cli, "--json and --csv exclude each other");
    if (n_arguments == 0) {
        if (cli_value(cli, values, "input"))
            return cli_usage(cli, "--input goes with 'models show MODEL'");
        status = list(cli, form);
    } else {
        if (strcmp(arguments[0], "show") != 0)
            return cli_usage(cli, "'%s': write 'models' or 'models show MODEL'", arguments[0]);
        if (n_arguments != 2)
            return cli_usage(cli, "'show' takes one MODEL");
        status = show(cli, form, arguments[1]);
    }
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"json", NULL, "print JSON"}, {"csv", NULL, "print CSV"},
    {CLI_OPTION_INPUT_SHAPE},     {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},           {CLI_OPTION_PRECISION},
    {NULL, NULL, NULL},
};

const struct cli_command cli_models = {
    .name = "models",
    .summary = "the built-in networks, or the layers of one",
    .usage = "[--json|--csv] | show MODEL [--json|--csv] [--input CxHxW]",
    .options = OPTIONS,
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_MODEL}, {0}},
    .run = run_models,
};
