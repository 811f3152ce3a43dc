/*
 * vbslab/timings.h - kernel times by geometry, kept in a store.
 *
 * The geometry of a layer is everything that decides how long its kernels run
 * (vbs_session_geometry, backend.h). Layers of one geometry share their times, in whatever network
 * they stand, so that the profile of a network that was never measured can be assembled from the
 * times of its layers.
 *
 * Threads: those of store.h.
 */
#ifndef VBSLAB_TIMINGS_H
#define VBSLAB_TIMINGS_H

#include "vbslab/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel of a geometry. row.algorithm has no meaning; the name is algorithm. */
struct vbs_timing_row {
    int batch;
    const char *algorithm;
    struct vbs_profile_row row;
};

/* A size of copy from a source. */
struct vbs_timing_copy {
    const char *source;
    struct vbs_copy_row row;
};

/* The times of one geometry, or of copies. Immutable; owns all that it points to; freed by
 * vbs_timing_free. */
struct vbs_timing {
    int n_rows;
    const struct vbs_timing_row *rows; /* [n_rows] in the order of the session that measured them */
    int n_copies;
    const struct vbs_timing_copy *copies; /* [n_copies] */
};

/* What the times of a store are looked up by. Texts are borrowed; a null text counts as "". Of
 * provenance only backend, library, device, vbslab and threads have a meaning. */
struct vbs_timing_key {
    uint64_t geometry;   /* 0: copies */
    const char *batches; /* "1,2,4": the batches of the session, ascending; "" for copies */
    const struct vbs_provenance *provenance;
};

/* Looks the times of a key up; *timing is null where the store has none. VBS_STORE, VBS_NO_MEMORY,
 * VBS_INTERRUPTED. O(rows + log of the timings). */
enum vbs_status vbs_store_timing_find(struct vbs_ctx *ctx, struct vbs_store *store,
                                      const struct vbs_timing_key *key,
                                      struct vbs_timing **timing) VBS_MUST_CHECK;

/* Keeps the times of a key in one transaction, unless the store has some already: the times that
 * came first stay, so that all profiles that are assembled from them agree. Errors as above. */
enum vbs_status vbs_store_timing_save(struct vbs_ctx *ctx, struct vbs_store *store,
                                      const struct vbs_timing_key *key,
                                      const struct vbs_timing *timing) VBS_MUST_CHECK;

/* Deletes the times of all geometries at the batches and of the provenance of key, whose geometry
 * is not read, so that they can be measured anew. VBS_STORE, VBS_NO_MEMORY, VBS_INTERRUPTED.
 * O(their rows). */
enum vbs_status vbs_store_timing_delete(struct vbs_ctx *ctx, struct vbs_store *store,
                                        const struct vbs_timing_key *key) VBS_MUST_CHECK;

/* Frees times; null is allowed. */
void vbs_timing_free(struct vbs_timing *timing);

#ifdef __cplusplus
}
#endif
#endif
