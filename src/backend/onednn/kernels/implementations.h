/* The implementations that oneDNN offers for a convolution or inner product. */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_IMPLEMENTATIONS_H
#define VBS_BACKEND_ONEDNN_KERNELS_IMPLEMENTATIONS_H

#include "backend/onednn/kernels/slices.h"

#define OD_IMPLEMENTATION_NAME 64 /* bytes of a kernel's name */

/* Names a kernel: the library's name of an implementation, in which no separator of lists is left,
 * and how the kernel uses it. name: [OD_IMPLEMENTATION_NAME] */
void od_implementation_name(const char *impl, const char *how, char *name);

/* Gives the rank of the instruction set in the library's name of an implementation; 0: there is
 * none. */
int od_isa_rank(const char *impl);

/* The layouts in which a primitive works. Where they are not the canonical ones, the kernel
 * copies. */
struct od_variant {
    enum od_layout src, dst;
    bool canonical;
    bool stored; /* padding counts as channels */
    dnnl_alg_kind_t algorithm;
    bool apart;      /* operators that could be fused are steps of their own */
    bool transposed; /* the weights of an fc are stored input by input */
};

/* An implementation of the layer. */
struct od_implementation {
    dnnl_primitive_desc_t pd;
    struct od_variant variant;
    const char *impl; /* oneDNN's name of it; lives as long as pd */
    char name[OD_IMPLEMENTATION_NAME];
    int n_fused; /* operators that its primitive fuses */
    int isa;     /* rank of the instruction set in its name; 0: the name has none */
    bool reference;
};

struct od_implementations {
    int n;
    int64_t max;
    struct od_implementation *list;
};

void od_implementations_release(struct od_implementations *all);

/* Adds all implementations of an operation, with the operators fused that its weights name, unless
 * they are steps of their own. It is no failure where there are none. */
enum vbs_status od_implementations_add(struct od_build *b, struct od_implementations *all,
                                       const_dnnl_op_desc_t desc,
                                       struct od_variant variant) VBS_MUST_CHECK;

/* Builds the kernels of all implementations that can matter, or of the requested one.
 * VBS_UNSUPPORTED: there are none. */
enum vbs_status od_implementations_build(struct od_build *b,
                                         const struct od_implementations *all) VBS_MUST_CHECK;

/* Gives the bytes of its weights. */
int64_t od_implementation_bytes(const struct od_implementation *c);

/* Chooses the implementation that is measured in slices: of those that work in the canonical layout
 * and do not divide, the one with the fewest bytes of weights, or the requested one. In slices they
 * run sample by sample, where those with more bytes (Winograd with larger tiles) are not faster.
 * Null: there is none. */
enum vbs_status od_implementations_for_slices(
    struct od_build *b, const struct od_implementations *all,
    const struct od_implementation **chosen) VBS_MUST_CHECK;

#endif
