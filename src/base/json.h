/* JSON made with jansson, as text. Internal to the library. */
#ifndef VBS_BASE_JSON_H
#define VBS_BASE_JSON_H

#include "base/text.h"

#include <jansson.h>

/* Appends json as json_dumps would print it. Null, memory that ran out, and whatever else keeps it
 * from being printed whole set text->failed. */
void vbs_text_add_json(struct vbs_text *text, const json_t *json, size_t flags);

#endif
