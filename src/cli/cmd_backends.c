#include "base/fail.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/table.h"

#include <stdio.h>

/* Sets key in object; a null value (memory ran out) and any failure set *failed. */
static void put(json_t *object, const char *key, json_t *value, bool *failed)
{
    if (json_object_set_new(object, key, value) != 0)
        *failed = true;
}

static json_t *backend_json(const struct vbs_backend *backend, bool *failed)
{
    struct vbs_backend_info info;
    json_t *object = json_object();

    backend->probe(&info);
    put(object, "name", json_string(backend->name), failed);
    put(object, "summary", json_string(backend->summary), failed);
    put(object, "built", json_boolean(info.built), failed);
    put(object, "usable", json_boolean(info.usable), failed);
    put(object, "why", json_string(info.why), failed);
    put(object, "library", json_string(info.library), failed);
    put(object, "device", json_string(info.device), failed);
    return object;
}

static enum vbs_status print_json(struct cli *cli)
{
    bool failed = false;
    json_t *root = json_object(), *list = json_array();
    struct vbs_text text = {0};
    enum vbs_status status = VBS_OK;

    for (int i = 0; vbs_backend_at(i); i++)
        if (json_array_append_new(list, backend_json(vbs_backend_at(i), &failed)) != 0)
            failed = true;
    put(root, "backends", list, &failed);
    text.failed = failed;
    vbs_text_add_json(&text, root, JSON_INDENT(2));
    vbs_text_add(&text, "\n");
    if (text.failed)
        status = vbs_no_memory(&cli->ctx);
    else
        fputs(text.data, stdout);
    vbs_text_clear(&text);
    json_decref(root);
    return status;
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
    return cli_table_print(&cli->ctx, &table);
}

static int run(struct cli *cli, const char *const *values, int n_arguments,
               const char *const *arguments)
{
    enum vbs_status status;

    if (n_arguments > 0)
        return cli_usage(cli, "'%s': the command takes no arguments", arguments[0]);
    status = cli_value(cli, values, "json") ? print_json(cli) : print_table(cli);
    return status == VBS_OK ? cli_finish(cli) : cli_fail(cli, status);
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
    .run = run,
};
