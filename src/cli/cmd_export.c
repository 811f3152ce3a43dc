#include "base/fail.h"
#include "cli/common/common.h"
#include "cli/print/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

static enum vbs_status export_network(struct cli *cli, const char *const *values, const char *model,
                                      const char *path)
{
    struct vbs_network *network = NULL;
    struct stat about = {0};
    char bytes[32];
    enum vbs_status status = cli_check_output(cli, model, path, ".onnx", "an ONNX file");

    if (status == VBS_OK)
        status = cli_load_network(cli, values, model, &network);
    if (status == VBS_OK)
        status = vbs_network_export(&cli->ctx, network, path);
    if (status == VBS_OK && stat(path, &about) == 0) {
        printf("'");
        cli_print_name(path);
        printf("' has %d layers, %" PRId64 " parameters, %s\n", network->n_layers,
               vbs_network_parameters(network),
               vbs_format_bytes((int64_t)about.st_size, bytes, sizeof bytes));
    }
    vbs_network_free(network);
    return status;
}

static int run_export(struct cli *cli, const char *const *values, int n_arguments,
                      const char *const *arguments)
{
    const char *path = cli_value(cli, values, "output");
    int code = cli_check_model(cli, values, n_arguments);

    if (code != 0)
        return code;
    if (!path)
        return cli_usage(cli, "needs -o FILE.onnx");
    return cli_end(cli, export_network(cli, values, arguments[0], path));
}

static const struct cli_option OPTIONS[] = {
    {"output", "FILE.onnx",
     "the file to write; an older one is replaced when the new one is complete"},
    {"input", "CxHxW", "another input shape, as 3x16x224x224"},
    {0},
};

const struct cli_command cli_export = {
    .name = "export",
    .summary = "a network as an ONNX file, with all parameters",
    .usage = "MODEL -o FILE.onnx [--input CxHxW]",
    .options = OPTIONS,
    .letters = (const struct cli_letter[]){{'o', "output"}, {0}},
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_MODEL}, {0}},
    .example = "vbslab export resnet-50 -o resnet-50.onnx\n"
               "vbslab export small.vbz -o dense.onnx",
    .run = run_export,
};
