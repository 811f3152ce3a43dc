/* Options whose value is a list with commas. */
#ifndef VBS_CLI_COMMON_LIST_H
#define VBS_CLI_COMMON_LIST_H

#include "cli/common/cli.h"

/* True where a list was given without any item; false where it is null. */
bool cli_is_empty_list(const char *list);

/* Does something with one item of a list; a failure ends the list and is its result. */
typedef enum vbs_status cli_item_function(struct vbs_ctx *ctx, const char *item, void *self);

/* Calls take for each item in order; an empty item is skipped. VBS_NO_MEMORY. */
enum vbs_status cli_for_each(struct vbs_ctx *ctx, const char *list, cli_item_function *take,
                             void *self) VBS_MUST_CHECK;

#endif
