/* What oneDNN offers for a convolution or inner product.  */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_IMPLEMENTATIONS_H
#define VBS_BACKEND_ONEDNN_KERNELS_IMPLEMENTATIONS_H

#include "backend/onednn/kernels/slices.h"

/* Layouts that a primitive works in; where they are not the canonical ones, the kernel copies. */
struct od_variant {
    enum od_layout src, dst;
    bool canonical;
    bool stored; /* padding counts as channels */
    dnnl_alg_kind_t algorithm;
};

/* An implementation of the layer. */
struct od_implementation {
    dnnl_primitive_desc_t pd;
    struct od_variant variant;
    const char *impl; /* as oneDNN calls it; lives as pd */
    char name[64];
    int isa; /* rank of the instruction set in its name; 0: none named */
    bool reference;
};

struct od_implementations {
    int n;
    int64_t max;
    struct od_implementation *list;
};

void od_implementations_release(struct od_implementations *all);

/* Adds all implementations of an operation, with what its weights say is fused; none is no failure.
 */
enum vbs_status od_implementations_add(struct od_build *b, struct od_implementations *all,
                                       const_dnnl_op_desc_t desc,
                                       struct od_variant variant) VBS_MUST_CHECK;

/* Kernels of all implementation that can matter, or of the one that is requested. VBS_UNSUPPORTED:
 * there are none. */
enum vbs_status od_implementations_build(struct od_build *b,
                                         const struct od_implementations *all) VBS_MUST_CHECK;

/* Bytes of its weights. */
int64_t od_implementation_bytes(const struct od_implementation *c);

/* Of the candidates that work in its canonical layout and do not divide, the lightest, or the one
 * that is requested, to be measured in slices: these run sample by sample, where heavier ones
 * (Winograd with larger tiles) are not faster. Null: none. */
enum vbs_status od_implementations_for_slices(
    struct od_build *b, const struct od_implementations *all,
    const struct od_implementation **chosen) VBS_MUST_CHECK;

#endif
