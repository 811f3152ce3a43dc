#include "cli/print/json.h"

#include "base/json.h"
#include "base/text.h"
#include "cli/print/text.h"

void cli_json_put(json_t *object, const char *key, json_t *value, bool *failed)
{
    if (json_object_set_new(object, key, value) != 0)
        *failed = true;
}

void cli_json_append(json_t *array, json_t *value, bool *failed)
{
    if (json_array_append_new(array, value) != 0)
        *failed = true;
}

enum vbs_status cli_json_print(struct cli *cli, json_t *json, bool failed)
{
    struct vbs_text text = {.failed = failed};

    vbs_text_add_json(&text, json, JSON_INDENT(2));
    vbs_text_add(&text, "\n");
    json_decref(json);
    return cli_text_print(cli, &text);
}
