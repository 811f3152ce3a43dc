#include "cli/common/list.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

bool cli_is_empty_list(const char *list)
{
    return list && list[strspn(list, ",")] == '\0';
}

enum vbs_status cli_for_each(struct vbs_ctx *ctx, const char *list, cli_item_function *take,
                             void *self)
{
    char *copy = strdup(list), *rest;
    enum vbs_status status = VBS_OK;

    if (!copy)
        return vbs_no_memory(ctx);
    for (char *item = strtok_r(copy, ",", &rest); item && status == VBS_OK;
         item = strtok_r(NULL, ",", &rest))
        status = take(ctx, item, self);
    free(copy);
    return status;
}
