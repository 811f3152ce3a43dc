#include "cli/common/common.h"
#include "cli/print/print.h"

#include <stdio.h>

static json_t *backend_json(const struct vbs_backend *backend, bool *failed)
{
    struct vbs_backend_info info;
    json_t *object = json_object();

    backend->probe(&info);
    cli_json_put(object, "name", json_string(backend->name), failed);
    cli_json_put(object, "summary", json_string(backend->summary), failed);
    cli_json_put(object, "built", json_boolean(info.built), failed);
    cli_json_put(object, "usable", json_boolean(info.usable), failed);
    cli_json_put(object, "why", json_string(info.why), failed);
    cli_json_put(object, "library", json_string(info.library), failed);
    cli_json_put(object, "device", json_string(info.device), failed);
    return object;
}

static enum vbs_status print_json(struct cli *cli)
{
    bool failed = false;
    json_t *root = json_object(), *list = json_array();

    for (int i = 0; vbs_backend_at(i); i++)
        cli_json_append(list, backend_json(vbs_backend_at(i), &failed), &failed);
    cli_json_put(root, "backends", list, &failed);
    return cli_json_print(cli, root, failed);
}

static enum vbs_status print_table(struct cli *cli)
{
    static const struct cli_column COLUMNS[] = {
        {"name", false},
        {"usable", false},
        {"library", false},
        {"device", false},
    };
    struct cli_table table = {.columns = COLUMNS, .n_columns = sizeof COLUMNS / sizeof COLUMNS[0]};

    for (int i = 0; vbs_backend_at(i); i++) {
        struct vbs_backend_info info;

        vbs_backend_at(i)->probe(&info);
        cli_table_add(&table, "%s", vbs_backend_at(i)->name);
        cli_table_add(&table, "%s%s", info.usable ? "yes" : "no: ", info.why);
        cli_table_add(&table, "%s", info.library);
        cli_table_add(&table, "%s", info.device);
    }
    return cli_table_print(cli, &table);
}

static int run_backends(struct cli *cli, const char *const *values, int n_arguments,
                        const char *const *arguments)
{
    return cli_run_list(cli, values, n_arguments, arguments, print_json, print_table);
}

static const struct cli_option OPTIONS[] = {
    {"json", NULL, "print JSON"},
    {NULL, NULL, NULL},
};

const struct cli_command cli_backends = {
    .name = "backends",
    .summary = "what can measure and run layers here and, where not, why",
    .usage = "[--json]",
    .options = OPTIONS,
    .run = run_backends,
};
