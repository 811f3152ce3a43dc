#include "base/json.h"

#include "base/fail.h"

#include <string.h>

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

static enum vbs_status refuse_key(struct vbs_ctx *ctx, const char *place, const char *key,
                                  const char *const *names, int n_names)
{
    const char *nearest = vbs_nearest_name(key, names, n_names);
    struct vbs_text all = {0};
    enum vbs_status status;

    if (nearest)
        return vbs_fail(ctx, VBS_FORMAT, "%s has no key '%.60s': did you mean '%s'?", place, key,
                        nearest);
    vbs_text_add_names(&all, names, n_names);
    status = all.failed ? vbs_no_memory(ctx)
                        : vbs_fail(ctx, VBS_FORMAT, "%s has no key '%.60s': the keys are %s", place,
                                   key, all.data);
    vbs_text_clear(&all);
    return status;
}

enum vbs_status vbs_json_check_keys(struct vbs_ctx *ctx, const char *place, json_t *object,
                                    const char *const *names, int n_names)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        int i = 0;

        while (i < n_names && strcmp(key, names[i]) != 0)
            i++;
        if (i == n_names)
            return refuse_key(ctx, place, key, names, n_names);
    }
    return VBS_OK;
}
