/* The provenance of a result as columns of a CSV file. */
#ifndef VBS_BACKEND_PROVENANCE_H
#define VBS_BACKEND_PROVENANCE_H

#include "base/text.h"
#include "vbslab/backend.h"
#include "vbslab/profile.h"

/* The names of the columns, which come behind those of the result. */
#define VBS_PROVENANCE_COLUMNS ",hash,backend,library,device,threads,modelled"

/* Adds the values of the columns, which are the same in every row. hash: of the profile's
 * content. */
void vbs_provenance_add_columns(struct vbs_text *text, const char *hash,
                                const struct vbs_provenance *from);

/* Adds them with the hash of a profile, whose computation takes time linear in its rows: call it
 * once for each file. */
void vbs_profile_add_columns(struct vbs_text *text, const struct vbs_profile *profile);

#endif
