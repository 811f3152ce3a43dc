#include "base/fail.h"
#include "cli/common/common.h"
#include "cli/notebook/notebook.h"
#include "cli/print/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum vbs_status export_network(struct cli *cli, const char *model, const char *path)
{
    struct vbs_network *network = NULL;
    struct stat about = {0};
    char bytes[32];
    enum vbs_status status = cli_check_output(cli, model, path, ".onnx", "an ONNX file");

    if (status == VBS_OK)
        status = cli_load_floats(cli, model, &network);
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

static enum vbs_status export_notebook(struct cli *cli, const char *question, const char *word,
                                       const char *path)
{
    struct notebook notebook = {.cli = cli, .path = path};
    enum vbs_status status = VBS_OK;

    if (strcmp(path, "-") != 0)
        status = cli_check_output(cli, "", path, ".ipynb", "a notebook");
    if (status == VBS_OK)
        status = word ? notebook_add_network(&notebook, word)
                      : notebook_add_experiment(&notebook, question);
    if (status == VBS_OK)
        status = notebook_write(&notebook);
    if (status == VBS_OK && strcmp(path, "-") != 0) {
        printf("'");
        cli_print_name(path);
        printf("' has %d cells; open it with Jupyter\n", notebook.n_cells);
    }
    notebook_clear(&notebook);
    return status;
}

/* Writes the name QUESTION.ipynb, without the folder of a question that is one. */
static void name_notebook(const char *question, char *name, size_t size)
{
    size_t length = strlen(question), begin;

    while (length > 1 && question[length - 1] == '/')
        length--;
    for (begin = length; begin > 0 && question[begin - 1] != '/';)
        begin--;
    snprintf(name, size, "%.*s.ipynb", (int)(length - begin), question + begin);
}

static int run_notebook(struct cli *cli, const char *const *values, int n_arguments,
                        const char *const *arguments, const char *question)
{
    const char *path = cli_value(cli, values, "output");
    bool of_network = strcmp(question, NOTEBOOK_NETWORK) == 0;
    char name[300];

    if (cli_value(cli, values, "input"))
        return cli_usage(cli, "--notebook and --input exclude each other");
    if (n_arguments != (of_network ? 1 : 0))
        return cli_usage(cli,
                         of_network ? "--notebook %s needs one MODEL or PROFILE"
                                    : "--notebook %s takes no further argument",
                         question);
    if (strcmp(question, "list") == 0)
        return cli_end(cli, notebook_list(cli));
    if (!path) {
        name_notebook(question, name, sizeof name);
        path = name;
        if (access(path, F_OK) == 0)
            return cli_usage(
                cli, "'%s' is there already; -o FILE.ipynb replaces it or names another", path);
    }
    return cli_end(cli, export_notebook(cli, question, of_network ? arguments[0] : NULL, path));
}

static int run_export(struct cli *cli, const char *const *values, int n_arguments,
                      const char *const *arguments)
{
    const char *path = cli_value(cli, values, "output");
    const char *question = cli_value(cli, values, "notebook");
    int code;

    if (question)
        return run_notebook(cli, values, n_arguments, arguments, question);
    code = cli_check_model(cli, values, n_arguments);
    if (code != 0)
        return code;
    if (!path)
        return cli_usage(cli, "needs -o FILE.onnx");
    return cli_end(cli, export_network(cli, arguments[0], path));
}

static const struct cli_option OPTIONS[] = {
    {"output", "FILE",
     "the file to write, .onnx or .ipynb; an older one is replaced when the new one is complete "
     "(default of a notebook: QUESTION.ipynb, which must not be there yet; -: standard output)"},
    {"notebook", "QUESTION",
     "a Jupyter notebook: that of an experiment, '" NOTEBOOK_NETWORK
     "' about a MODEL or PROFILE, or "
     "'list', which lists them"},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {0},
};

const struct cli_command cli_export = {
    .name = "export",
    .summary = "a network as an ONNX file, with all parameters; an experiment as a notebook",
    .usage =
        "MODEL -o FILE.onnx [--input CxHxW] | --notebook QUESTION [MODEL|PROFILE] [-o FILE.ipynb]",
    .options = OPTIONS,
    .letters = (const struct cli_letter[]){{'o', "output"}, {0}},
    .arguments =
        (const struct cli_argument[]){
            {CLI_ARGUMENT_MODEL},
            {"QUESTION",
             "an experiment (--notebook list), or a folder with README.md and answer.md"},
            {CLI_ARGUMENT_PROFILE},
            {0}},
    .example = "vbslab export resnet-50 -o resnet-50.onnx\n"
               "vbslab export small.vbz -o dense.onnx\n"
               "vbslab export --notebook vbs-fig-8\n"
               "vbslab export --notebook " NOTEBOOK_NETWORK " googlenet -o mine.ipynb",
    .run = run_export,
};
