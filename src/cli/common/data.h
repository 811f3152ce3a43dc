/* Files that come with the program. */
#ifndef VBS_CLI_COMMON_DATA_H
#define VBS_CLI_COMMON_DATA_H

#include "cli/common/cli.h"

/*
 * Gives the path of a profile that comes with the program, which the caller frees: in the folder
 * profiles of $VBSLAB_DATA where that is set, else ../share/vbslab/profiles or, in a source tree,
 * ../db/profiles, seen from the folder of the program. VBS_IO names the folders where there is
 * none.
 */
enum vbs_status cli_find_shipped_profile(struct cli *cli, const char *name,
                                         char **path) VBS_MUST_CHECK;

/* Gives the folder of the experiments that come with the program, which the caller frees:
 * experiments in $VBSLAB_DATA, or ../share/vbslab or, in a source tree, .. of the program's folder.
 * VBS_IO. */
enum vbs_status cli_find_experiments(struct cli *cli, char **folder) VBS_MUST_CHECK;

#endif
