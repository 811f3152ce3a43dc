/* vbslab profiles: bringing stores together (merge.c). */
#ifndef VBS_CLI_PROFILES_PROFILES_H
#define VBS_CLI_PROFILES_PROFILES_H

#include "cli/common/common.h"

/* Merges n stores into the store of the command line, one after the other, and prints what came
 * over. Ends at the first that fails; those before it stay merged. */
enum vbs_status profiles_merge(struct cli *cli, bool json, int n,
                               const char *const *paths) VBS_MUST_CHECK;

#endif
