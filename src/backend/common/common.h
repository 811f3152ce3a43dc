/*
 * What the backends share. This is the only header of the sub-room that others include.
 */
#ifndef VBS_BACKEND_COMMON_COMMON_H
#define VBS_BACKEND_COMMON_COMMON_H

#include "base/arena.h"
#include "vbslab/backend.h"
#include "vbslab/model.h"
#include "vbslab/profile.h"

/* ---- cpu.c: the processor ---- */

/* Model, family and stepping as far as they are known, never empty: the same at every call on a
 * machine. */
void vbs_cpu_describe(char *buffer, size_t size);

/* The clock at this moment in MHz, 0 when unknown. */
double vbs_cpu_clock_mhz(void);

/* ---- graph.c: the layers of a session ---- */

/* The layer as in a profile, but for what depends on how tensors lie: bytes, channels, place. */
enum vbs_status vbs_graph_layer_init(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                     const struct vbs_layer *l,
                                     struct vbs_profile_layer *layer) VBS_MUST_CHECK;

/* The same memory, for libraries whose sources are not const; they do not write to them, but oneDNN
 * may rewrite the zeros of padding with zeros. */
void *vbs_writable(const void *memory);

/* True when the operator may write where this input lies, if it is of the output's shape: those
 * that combine two operands, whose first one alone can be overwritten where order matters. */
bool vbs_graph_overwrites(const struct vbs_layer *layer, int input);

/*
 * Puts layer in the place of one of its inputs where it may be: one whose operator can write there
 * (may says of each), that is as large as the output and no network input, and that everyone else
 * reads before layer in every schedule, because layer depends on them; one that only layer reads is
 * preferred. It comes first among the inputs then, a new list in arena; *first is its number
 * before, -1 where there is none. mark has n_layers + 1 places of scratch. Linear in the edges.
 */
enum vbs_status vbs_graph_set_in_place(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                       struct vbs_profile_layer *layers, int n_layers, int layer,
                                       const bool *may, bool *mark, int *first) VBS_MUST_CHECK;

/*
 * Kernels that a session may have: more than any network that can be measured needs, few enough
 * for the store and the planners. VBS_UNSUPPORTED says how many there would be, before any of them
 * is made: at least one for each layer and batch.
 */
#define VBS_MAX_KERNELS (1 << 20)
enum vbs_status vbs_graph_check_kernels(struct vbs_ctx *ctx, int n_layers, int n_batches,
                                        int64_t n_kernels) VBS_MUST_CHECK;

/* Output channels that have weights of their own and lie one after the other: those of a conv or of
 * a fc on whole samples; else 0. */
int vbs_graph_channels(const struct vbs_layer *layer);

/* ---- affine.c: parameters of operators that scale and shift channels ---- */

/* y = factor * x + shift of a BatchNorm or Scale: the layer's own (fused < 0) or a fused one.
 * n values each; those beyond the layer's channels are 0. */
enum vbs_status vbs_affine(struct vbs_ctx *ctx, const struct vbs_network *network, int layer,
                           int fused, int64_t n, float *factor, float *shift) VBS_MUST_CHECK;

/* ---- requested.c: requested kernels, which all backends read and check alike ---- */

/* The algorithm is "NAME" or, measured in slices, "NAME/4". */
struct vbs_requested {
    char name[64];
    int row_slices;      /* 4; else 0 */
    int slice, n_slices; /* of the whole layer */
};

struct vbs_requested vbs_requested_read(const struct vbs_requested_kernel *kernel);

/* VBS_INVALID: a layer, batch or slice that cannot be. */
enum vbs_status vbs_requested_check(struct vbs_ctx *ctx, const struct vbs_session *session,
                                    const struct vbs_requested_kernel *requested) VBS_MUST_CHECK;

/* The one before index that is the same, or -1. */
int vbs_requested_same(const struct vbs_requested_kernel *requested, int index);

/* VBS_NOT_FOUND for a kernel that this machine does not have. */
enum vbs_status vbs_requested_missing(struct vbs_ctx *ctx, const struct vbs_session *session,
                                      const struct vbs_requested_kernel *requested) VBS_MUST_CHECK;

#endif
