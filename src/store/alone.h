/* Refuses a store in which another machine works. Internal to the room. */
#ifndef VBS_STORE_ALONE_H
#define VBS_STORE_ALONE_H

#include "store/sql.h"

/* Fails where a process of another machine measures a profile or works on a trial in the store, and
 * has written to it within the last minutes (owner.h). Must be called in a transaction: one that
 * writes an owner calls it before. VBS_STORE, VBS_NO_MEMORY. O(profiles + studies + running
 * trials). */
enum vbs_status vbs_alone_check_owners(struct vbs_ctx *ctx, struct vbs_store *store) VBS_MUST_CHECK;

#endif
