#include "backend/provenance.h"

void vbs_provenance_add_columns(struct vbs_text *text, const char *hash,
                                const struct vbs_provenance *from)
{
    vbs_text_addf(text, ",%s,", hash);
    vbs_text_add_csv(text, from->backend);
    vbs_text_add(text, ",");
    vbs_text_add_csv(text, from->library);
    vbs_text_add(text, ",");
    vbs_text_add_csv(text, from->device);
    vbs_text_add(text, ",");
    if (from->threads)
        vbs_text_addf(text, "%d", from->threads);
    vbs_text_add(text, vbs_provenance_modelled(from) ? ",true" : ",false");
}

void vbs_profile_add_columns(struct vbs_text *text, const struct vbs_profile *profile)
{
    char hash[VBS_PROFILE_HASH_SIZE];

    vbs_profile_hash(profile, hash);
    vbs_provenance_add_columns(text, hash, &profile->provenance);
}
