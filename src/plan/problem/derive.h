/*
 * Profiles derived from a profile: other rows, or layers with other bytes. Inside the plan room.
 */
#ifndef VBS_PLAN_PROBLEM_DERIVE_H
#define VBS_PLAN_PROBLEM_DERIVE_H

#include "vbslab/profile.h"

struct vbs_derivation {
    void *self;
    /* Changes layer k, which is a copy; null: layers stay as they are. */
    void (*layer)(void *self, int k, struct vbs_profile_layer *layer);
    /* Adds the rows of layer at batch to builder; it may add none. */
    enum vbs_status (*rows)(struct vbs_ctx *ctx, void *self, struct vbs_profile_builder *builder,
                            int layer, int batch);
    /* Changes a row of a stripe, which is a copy; false: the new profile does not have it. Null:
     * the new profile has whole samples only. */
    bool (*stripe)(void *self, int layer, struct vbs_profile_row *row);
    int n_batches;
    const int *batches; /* of the new profile */
};

/* Makes *derived, freed by vbs_profile_free. Errors are those of the builder and of rows. */
enum vbs_status vbs_profile_derive(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct vbs_derivation *derivation,
                                   struct vbs_profile **derived) VBS_MUST_CHECK;

#endif
