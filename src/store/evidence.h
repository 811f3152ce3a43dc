/*
 * What a store knows of a profile and its content hash does not cover: the single times of its
 * kernels and copies, and the network on which they were measured. Internal to the room.
 */
#ifndef VBS_STORE_EVIDENCE_H
#define VBS_STORE_EVIDENCE_H

#include "store/sql.h"

struct vbs_evidence {
    int64_t n_samples; /* of kernels and copies */
    bool has_network;  /* the profile says on which network it was measured */
    bool is_stored;    /* in the profile's row */
    char hash[VBS_PROFILE_HASH_SIZE];
};

/* Computes the evidence of a profile. It does not depend on how the samples are stored, nor on ids.
 * Part of any transaction. VBS_STORE, with store->rc SQLITE_OK, where samples are damaged. Linear
 * in the samples. */
enum vbs_status vbs_evidence_compute(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                     struct vbs_evidence *evidence) VBS_MUST_CHECK;

/* Reads the evidence that the profile has in its row, and computes it where it has none, as in
 * profiles of earlier versions. */
enum vbs_status vbs_evidence_read(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                  struct vbs_evidence *evidence) VBS_MUST_CHECK;

/* Compares two evidences of one content, like strcmp: the greater one is worth more. More samples
 * are greater than fewer, then a known network than an unknown one, then the greater hash. */
int vbs_evidence_compare(const struct vbs_evidence *a, const struct vbs_evidence *b);

#endif
