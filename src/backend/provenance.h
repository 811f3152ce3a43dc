/* Where the times of a result come from, as columns of a CSV file. */
#ifndef VBS_BACKEND_PROVENANCE_H
#define VBS_BACKEND_PROVENANCE_H

#include "base/text.h"
#include "vbslab/backend.h"
#include "vbslab/profile.h"

/* The names of the columns, which stand behind those of the result. */
#define VBS_PROVENANCE_COLUMNS ",hash,backend,library,device,threads,modelled"

/* Adds their values, which are the same in every row. hash: of the profile's content. */
void vbs_provenance_add_columns(struct vbs_text *text, const char *hash,
                                const struct vbs_provenance *from);

/* Likewise with the hash of a profile, which takes time linear in its rows: once for each file. */
void vbs_profile_add_columns(struct vbs_text *text, const struct vbs_profile *profile);

#endif
