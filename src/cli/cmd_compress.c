#include "base/fail.h"
#include "cli/common/common.h"
#include "cli/compress/compress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the work ---- */

static enum vbs_status write_network(struct cli *cli, struct compress_report *report)
{
    const struct compress_result *result = report->result;
    struct vbs_layer_weights *weights = calloc((size_t)result->n_layers + 1, sizeof *weights);
    struct stat about = {0};
    enum vbs_status status;

    if (!weights)
        return vbs_no_memory(&cli->ctx);
    for (int i = 0; i < result->n_layers; i++) {
        const struct compress_layer *layer = &result->layers[i];

        weights[i] =
            (struct vbs_layer_weights){.layer = layer->layer,
                                       .coded = layer->coded,
                                       .any_form = report->recipe->choices[layer->layer].automatic};
    }
    status = vbs_network_write(&cli->ctx, report->network, weights, result->n_layers, report->path);
    free(weights);
    if (status == VBS_OK && stat(report->path, &about) == 0)
        report->file_bytes = about.st_size;
    return status;
}

static enum vbs_status print(struct cli *cli, const char *const *values,
                             const struct compress_report *report)
{
    if (cli_value(cli, values, "json"))
        return compress_print_json(cli, report);
    if (cli_value(cli, values, "csv"))
        return compress_print_csv(cli, report);
    return compress_print_table(cli, report);
}

static enum vbs_status compress(struct cli *cli, const char *const *values, const char *model,
                                const char *path)
{
    struct compress_recipe recipe = {0};
    struct compress_result result = {0};
    struct vbs_network *network = NULL;
    struct compress_report report = {.model = model, .path = path, .result = &result};
    enum vbs_status status =
        cli_check_output(cli, model, path, ".vbz", "a network with coded weights");

    if (status == VBS_OK)
        status = cli_load_floats(cli, model, &network);
    if (status == VBS_OK)
        status = compress_recipe_read(cli, values, network, &recipe);
    if (status == VBS_OK)
        status = compress_layers(cli, network, &recipe, &result);
    report.network = network;
    report.recipe = &recipe;
    if (status == VBS_OK)
        status = write_network(cli, &report);
    if (status == VBS_OK)
        status = print(cli, values, &report);
    compress_result_clear(&result);
    compress_recipe_clear(&recipe);
    vbs_network_free(network);
    return status;
}

static int run_compress(struct cli *cli, const char *const *values, int n_arguments,
                        const char *const *arguments)
{
    const char *path = cli_value(cli, values, "output");
    int code = cli_check_model(cli, values, n_arguments);

    if (code != 0)
        return code;
    if (!path)
        return cli_usage(cli, "needs -o NAME.vbz");
    return cli_end(cli, compress(cli, values, arguments[0], path));
}

static const struct cli_option OPTIONS[] = {
    {"output", "NAME.vbz",
     "the file to write; an older one is replaced when the new one is complete"},
    {"density", "LIST",
     "the part of the weights that remains, the largest in magnitude: 0.3, or for layers "
     "conv=0.4,fc6=0.09; or a preset, which stands alone: 70%, 80% or 90% of all layers pruned, or "
     "comp-alexnet, comp-vgg-16, the layers' own as COMP's Table I has them (default 1: only zeros "
     "are left out)"},
    {"bits", "LIST",
     "of an index into the layer's shared values, 1 to 16, as 6 or conv=8,fc=5,fc8=6; all values "
     "stay exact where a layer has at most 2^BITS - 1 besides 0 (default conv=8,fc=5; of a .vbz "
     "its own)"},
    {"index-bits", "LIST",
     "of a distance between weights that remain, 1 to 8, or auto: in each form as many as make it "
     "smallest (default auto; 4 with comp-alexnet, 5 with comp-vgg-16)"},
    {"excess", "LIST",
     "how much larger than the least the squared error of the shared values may be, as 0.1 or "
     "10%, for values whose codes are shorter (default 0)"},
    {"format", "LIST",
     "auto: the smallest form is stored, and plans choose among all forms; comp, joint or bytes: "
     "this form only; joint takes at most 13 bits of index and distance together (default auto)"},
    {"block", "RxC",
     "rows and columns that are decoded at once (default blocks with which the layer is computed "
     "fastest)"},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {"json", NULL, "print JSON"},
    {"csv", NULL, "print CSV"},
    {0},
};

const struct cli_command cli_compress = {
    .name = "compress",
    .summary = "a network with pruned, shared and coded weights, as a .vbz file",
    .usage = "MODEL -o NAME.vbz [options]",
    .options = OPTIONS,
    .letters = (const struct cli_letter[]){{'o', "output"}, {0}},
    .arguments =
        (const struct cli_argument[]){{CLI_ARGUMENT_MODEL},
                                      {"LIST", "values with commas between: a value for all "
                                               "layers, and KIND=value or LAYER=value, where KIND "
                                               "is conv or fc and LAYER a name or number of "
                                               "'vbslab models show'; the narrowest counts. "
                                               "Layers of fewer than 1024 weights, and "
                                               "convolutions of each channel on its own, are "
                                               "coded where LAYER names them"},
                                      {0}},
    .example = "vbslab compress alexnet -o small.vbz --density comp-alexnet\n"
               "vbslab compress net.onnx -o net.vbz --density 80% --bits conv=8,fc=5",
    .run = run_compress,
};
