/* Folders for results of several files. */
#ifndef VBS_CLI_COMMON_FOLDER_H
#define VBS_CLI_COMMON_FOLDER_H

#include "cli/common/cli.h"

/* Makes a folder, or takes one that is empty. One that holds files is refused, so that none of them
 * is replaced that the command line does not name. VBS_IO. */
enum vbs_status cli_make_folder(struct cli *cli, const char *folder) VBS_MUST_CHECK;

#endif
