/* A finished text on standard output. */
#ifndef VBS_CLI_PRINT_TEXT_H
#define VBS_CLI_PRINT_TEXT_H

#include "cli/common/common.h"

/* Prints and clears a text. VBS_NO_MEMORY, and nothing printed, where it is incomplete because
 * memory ran out. */
enum vbs_status cli_text_print(struct cli *cli, struct vbs_text *text) VBS_MUST_CHECK;

#endif
