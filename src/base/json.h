/* JSON made with jansson, as text. Internal to the library. */
#ifndef VBS_BASE_JSON_H
#define VBS_BASE_JSON_H

#include "base/text.h"

#include <jansson.h>

/* Appends json as json_dumps would print it. text->failed is set where json is null, where memory
 * runs out, and where json cannot be printed whole for any other reason. */
void vbs_text_add_json(struct vbs_text *text, const json_t *json, size_t flags);

#endif
