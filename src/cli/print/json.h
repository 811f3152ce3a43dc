/* Results as JSON on standard output. */
#ifndef VBS_CLI_PRINT_JSON_H
#define VBS_CLI_PRINT_JSON_H

#include "cli/common/common.h"

#include <jansson.h>

/* Sets key in object; a null value (memory ran out) and any failure set *failed. */
void cli_json_put(json_t *object, const char *key, json_t *value, bool *failed);

/* Appends value to array; a null value and any failure set *failed. */
void cli_json_append(json_t *array, json_t *value, bool *failed);

/* Prints and frees json, which may be null; VBS_NO_MEMORY, and nothing printed, when failed says
 * that parts of it are missing. */
enum vbs_status cli_json_print(struct cli *cli, json_t *json, bool failed) VBS_MUST_CHECK;

#endif
