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

struct picture_option {
    const char *name;
};

/* self: the option. */
static enum vbs_status check_picture(struct vbs_ctx *ctx, const char *item, void *self)
{
    const struct picture_option *option = self;

    if (cli_ends_in(item, ".svg") || cli_ends_in(item, ".png") || cli_ends_in(item, ".pdf"))
        return VBS_OK;
    return vbs_fail(ctx, VBS_USAGE, "--%s '%.100s' must end in .svg, .png or .pdf", option->name,
                    item);
}

enum vbs_status cli_check_pictures(struct cli *cli, const char *option, const char *list)
{
    if (!list)
        return VBS_OK;
    if (cli_is_empty_list(list))
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--%s names no file; write one or more that end in .svg, .png or .pdf, "
                        "with commas between them",
                        option);
    return cli_for_each(&cli->ctx, list, check_picture, &(struct picture_option){option});
}
