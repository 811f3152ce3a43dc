/* The layouts of tensors in memory, and their descriptors of oneDNN (layout.c); the choice of the
 * canonical layout of each tensor of a network (canonical.c). */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_LAYOUT_H
#define VBS_BACKEND_ONEDNN_KERNELS_LAYOUT_H

#include "backend/onednn/kernels/session.h"

/* Gives the number of channels in a block on this machine; 1: no layout is blocked. */
int od_block(void);

/* Gives whether a blocked layout pays for a tensor of this shape, whatever the operators that read
 * and write it. */
bool od_can_be_blocked(int block, const struct vbs_shape *shape);

/* Makes the description of a tensor of this shape with its canonical layout. Checks that the bytes
 * of a batch are its samples times the bytes of one. */
enum vbs_status od_tensor_init(struct od_build *b, const struct vbs_shape *shape,
                               enum od_layout canonical, struct od_tensor *tensor) VBS_MUST_CHECK;

/* Gives whether the tensor is the same bytes in its canonical layout and in this one: it has one
 * position, and whole blocks of channels where one of the two has blocks. */
bool od_layouts_agree(const struct od_session *session, const struct od_tensor *tensor,
                      enum od_layout layout);

/* Describes batch samples of tensor in a layout; stored: with the padding counted as channels, only
 * in the blocked layout. */
enum vbs_status od_describe(struct od_build *b, const struct od_tensor *tensor, int batch,
                            enum od_layout layout, bool stored,
                            dnnl_memory_desc_t *md) VBS_MUST_CHECK;

/* Gives the description of the same tensor in another layout, plain or blocked. */
struct od_tensor od_in_layout(const struct od_session *session, const struct od_tensor *tensor,
                              enum od_layout layout);

/* Describes floats of any dimensions that lie one after the other in row-major order. */
enum vbs_status od_describe_dense(struct od_build *b, int n_dims, const dnnl_dims_t dims,
                                  dnnl_memory_desc_t *md) VBS_MUST_CHECK;

/* Describes n floats, such as a bias or one parameter of every channel. */
enum vbs_status od_describe_vector(struct od_build *b, int64_t n,
                                   dnnl_memory_desc_t *md) VBS_MUST_CHECK;

/* Gives the number of the element of channel c and position s within a sample in its canonical
 * layout. */
int64_t od_stored_index(const struct od_session *session, const struct od_tensor *tensor, int64_t c,
                        int64_t s);

/* ---- canonical.c ---- */

/* Chooses the canonical layout of every tensor, layouts[0 .. n_layers]. */
enum vbs_status od_canonical_layouts(struct od_build *b, enum od_layout *layouts) VBS_MUST_CHECK;

/* Describes the inputs of b's layer as it reads them, in the network's order; but an input that is
 * overwritten in place comes first. */
enum vbs_status od_inputs_init(struct od_build *b) VBS_MUST_CHECK;

#endif
