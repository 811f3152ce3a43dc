/* The provenance of the times of a result. */
#ifndef VBS_CLI_PRINT_PROVENANCE_H
#define VBS_CLI_PRINT_PROVENANCE_H

#include "cli/common/common.h"
#include "vbslab/profile.h"

#include <jansson.h>

/* Prints the line "  profile  3, content fc904f9cdcf7: onednn (oneDNN 2.6.3) on ..., 2 threads,
 * measured 2026-11-22", without the parts that are not known; not at all when memory is out. id: 0
 * where the profile is not from the store. */
void cli_print_provenance(struct cli *cli, const struct vbs_profile *profile, int64_t id);

/* Makes an object of hash, backend, library, device, threads, date and modelled; null: out of
 * memory. */
json_t *cli_provenance_json(const struct vbs_profile *profile);

/* Makes an object of the speeds of the machine that are known. */
json_t *cli_speed_json(const struct vbs_speed *speed, bool *failed);

#endif
