/* Values of JSON in jansson's form: as text, and checks of objects that were read. Internal to the
 * library and the program. */
#ifndef VBS_BASE_JSON_H
#define VBS_BASE_JSON_H

#include "base/text.h"

#include <jansson.h>

/* Appends json as json_dumps would print it. text->failed is set where json is null, where memory
 * runs out, and where json cannot be printed whole for any other reason. */
void vbs_text_add_json(struct vbs_text *text, const json_t *json, size_t flags);

/* Refuses an object with a key that is not among the n_names names; the detail says which one, and
 * the nearest name or, where none is similar, all names. place: what has the keys, such as
 * "sweep.toml: [sweep]". VBS_FORMAT, VBS_NO_MEMORY. */
enum vbs_status vbs_json_check_keys(struct vbs_ctx *ctx, const char *place, json_t *object,
                                    const char *const *names, int n_names) VBS_MUST_CHECK;

#endif
