#include "base/json.h"

static int add_piece(const char *piece, size_t length, void *text)
{
    vbs_text_addf(text, "%.*s", (int)length, piece);
    return ((struct vbs_text *)text)->failed ? -1 : 0;
}

/* json_dumps is not used: jansson 2.14 overlooks that a key could not be appended, and returns the
 * rest as if it were the whole. vbs_text remembers a failure. */
void vbs_text_add_json(struct vbs_text *text, const json_t *json, size_t flags)
{
    if (!json || json_dump_callback(json, add_piece, text, flags) != 0)
        text->failed = true;
}
