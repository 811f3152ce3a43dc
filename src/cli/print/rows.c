#include "cli/print/rows.h"

#include "base/fail.h"

#include <stdio.h>
#include <string.h>

/* Gives whether an option can be combined with rows; weights are always included. */
static bool goes_with_rows(const char *name, const char *value)
{
    return strcmp(name, "rows") == 0 || strcmp(name, "planner") == 0 ||
           strcmp(name, "memory") == 0 ||
           (strcmp(name, "weights") == 0 && strcmp(value, "included") == 0);
}

static bool is_profile(const char *word)
{
    size_t length = strlen(word), digits = strspn(word, "0123456789");

    return (length > 0 && digits == length) || strcmp(word, "-") == 0 ||
           (length > 4 && strcmp(word + length - 4, ".csv") == 0);
}

static enum vbs_status check(struct cli *cli, const char *const *values, const char *model)
{
    const char *planner = cli_value(cli, values, "planner");
    const struct cli_option *options = cli->command->options;

    if (planner && strcmp(planner, "mmcnn") != 0)
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--rows is the accounting of planner mmcnn; '%.40s' has none", planner);
    for (int i = 0; options[i].name; i++)
        if (values[i] && !goes_with_rows(options[i].name, values[i]))
            return vbs_fail(&cli->ctx, VBS_USAGE,
                            "--rows takes --planner and --memory only, not --%s '%.40s'",
                            options[i].name, values[i]);
    if (is_profile(model))
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--rows is computed from a network; '%.100s' is a profile, which has no "
                        "shapes; give a name of 'vbslab models' or a .net file",
                        model);
    return VBS_OK;
}

static void print_row(int number, const struct vbs_mmcnn_row *row)
{
    int64_t hundredths = vbs_mmcnn_hundredths(row);

    printf("%d\t", number);
    cli_print_name(row->name);
    printf("\t%lld\t%lld\t%lld.%02lld\n", (long long)row->self_number, (long long)row->conv_number,
           (long long)(hundredths / 100), (long long)(hundredths % 100));
}

enum vbs_status cli_print_rows(struct cli *cli, const char *const *values, const char *model,
                               int64_t memory_bytes)
{
    struct vbs_network *network = NULL;
    struct vbs_mmcnn_table *table = NULL;
    enum vbs_status status = check(cli, values, model);

    if (status == VBS_OK)
        status = vbs_network_load(&cli->ctx, model, NULL, &network);
    if (status == VBS_OK)
        status = vbs_mmcnn_table_new(&cli->ctx, network, memory_bytes, &table);
    for (int i = 0; status == VBS_OK && i < table->n_rows; i++)
        print_row(i + 1, &table->rows[i]);
    vbs_mmcnn_table_free(table);
    vbs_network_free(network);
    return status;
}
