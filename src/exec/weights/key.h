/* The key of a file of packed weights. Internal to exec/weights. */
#ifndef VBS_EXEC_WEIGHTS_KEY_H
#define VBS_EXEC_WEIGHTS_KEY_H

#include "base/text.h"
#include "exec/weights/weights.h"

/*
 * Gives a text that differs where packed weights differ. It contains the network, the values that a
 * file brings, library, device and threads, and for the weights of each layer and format their size
 * and the kernel that packs them. Linear in the values stored.
 */
enum vbs_status vbs_exec_weights_key(struct vbs_ctx *ctx, const struct vbs_exec_checked *checked,
                                     const struct vbs_network *network,
                                     const struct vbs_session *session,
                                     struct vbs_text *key) VBS_MUST_CHECK;

/* Gives a hash of bytes that continues from hash. */
uint64_t vbs_exec_hash(uint64_t hash, const void *data, size_t bytes);

#endif
