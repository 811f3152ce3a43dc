/* Packed weights of convolutions and inner products (weights.c), and constant operands (operand.c).
 */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_WEIGHTS_H
#define VBS_BACKEND_ONEDNN_KERNELS_WEIGHTS_H

#include "backend/onednn/kernels/layout.h"

/* Give the output channels of a conv, deconv or fc that have weights of their own, and the values
 * that an fc reads at once, as they are stored. */
int64_t od_weights_outputs(const struct od_build *b);
int64_t od_weights_inputs(const struct od_build *b);

/* Gives how many of the n_fused operators an algorithm of convolutions fuses: Winograd fuses only
 * ReLU. */
int od_weights_fused(const struct od_build *b, dnnl_alg_kind_t algorithm);

/* Gives whether the operators behind b's layer that are not folded begin with a ReLU. */
bool od_weights_relu(const struct od_build *b);

/* Finds the unit of channels of which slices of b's layer, a conv or fc, consist. */
void od_weights_measure(struct od_build *b);

/* Makes the session's weights of b's layer: the folded and fused operators, scale and bias. */
enum vbs_status od_weights_init(struct od_build *b) VBS_MUST_CHECK;
void od_weights_release(struct od_weights *weights);

/* Gives the packed weights of b's layer that have n_blocks blocks with equal numbers of channels,
 * each described by md: known ones, or new ones. stored: md counts padded channels.
 * VBS_UNSUPPORTED: more than VBS_MAX_FORMATS. */
enum vbs_status od_weights_packed(struct od_build *b, const dnnl_memory_desc_t *md, int n_blocks,
                                  bool stored, struct od_packed **packed) VBS_MUST_CHECK;

/* Gives the packed weights of b's layer whose format is that of coded weights: one channel, of all
 * their bytes. coded lives as long as the session. VBS_UNSUPPORTED as above. */
enum vbs_status od_weights_coded(struct od_build *b, const struct vbs_coded *coded,
                                 struct od_packed **packed) VBS_MUST_CHECK;

/* Gives the packed weights of a deconv without groups as those of a convolution of 1x1, which md
 * describes: [offsets in the window, stored output channels, and padding] x [stored inputs].
 * VBS_UNSUPPORTED as above. */
enum vbs_status od_weights_pointwise(struct od_build *b, const dnnl_memory_desc_t *md,
                                     struct od_packed **packed) VBS_MUST_CHECK;

/* Gives the packed weights of b's layer as whole numbers, of which md describes one of n_blocks
 * blocks of outputs: those of a conv or deconv as its filter, those of an fc as a matrix of [I, O].
 * VBS_UNSUPPORTED as above. */
enum vbs_status od_weights_whole(struct od_build *b, const dnnl_memory_desc_t *md, int n_blocks,
                                 struct od_packed **packed) VBS_MUST_CHECK;

/* Gives the packed weights of b's layer that are n floats, which fill writes: one channel.
 * VBS_UNSUPPORTED as above. */
enum vbs_status od_weights_filled(struct od_build *b, int64_t n, od_filler *fill,
                                  struct od_packed **packed) VBS_MUST_CHECK;

/* Writes the count weights of an output, scaled or as whole numbers, in plain order. Outputs are
 * best asked for one after the other, because many are read together. */
enum vbs_status od_weights_row(struct od_build *b, bool whole, int64_t output, int64_t count,
                               float *row) VBS_MUST_CHECK;

/* Gives the bytes of so many channels of packed weights: whole units, or all. */
int64_t od_packed_bytes(const struct od_packed *packed, int64_t channels);

/* Records that the kernel begun last reads channels first.. first + count - 1 of packed, and
 * nothing else in OD_WEIGHTS. */
void od_kernel_weights(struct od_build *b, struct od_packed *packed, int64_t first, int64_t count);

/* Packs the weights that kernel number index reads, unless they are packed. b is of no layer, or of
 * another one. */
enum vbs_status od_kernel_pack(struct od_build *b, int index) VBS_MUST_CHECK;

/* Writes channels first.. first + count - 1 of packed to memory. */
enum vbs_status od_weights_write(struct od_build *b, const struct od_packed *packed, int64_t first,
                                 int64_t count, void *memory) VBS_MUST_CHECK;

/* Does the same, but hands the bytes to sink in pieces. */
enum vbs_status od_weights_stream(struct od_build *b, const struct od_packed *packed, int64_t first,
                                  int64_t count, const struct vbs_pack_sink *sink) VBS_MUST_CHECK;

/* Gives the number of output channels in a block of md, where blocks lie one after the other, so
 * that every range of whole blocks is a range of bytes; 0: md has none. groups: md begins with a
 * dimension of groups. */
int64_t od_packed_unit(const dnnl_memory_desc_t *md, bool groups);

/* Gives md of so many channels of such a packed weight format, without groups. */
dnnl_memory_desc_t od_packed_slice(const dnnl_memory_desc_t *md, bool groups, int64_t count);

/* Gives the dimensions of a conv's weights: [G,] O, I, K...; returns their number. */
int od_filter_dims(const struct od_build *b, bool stored, dnnl_dims_t dims);

/* Gives whether the padding of inputs and outputs may count as channels of the conv. */
bool od_filter_can_be_stored(const struct od_build *b);

/* Copies whole buffers from one layout to another, now and outside any kernel. */
enum vbs_status od_convert(struct od_build *b, const dnnl_memory_desc_t *from_md, void *from,
                           const dnnl_memory_desc_t *to_md, void *to) VBS_MUST_CHECK;

/* ---- operand.c ---- */

/* Gives the constant operand of b's layer, whose dimensions plain_md describes, in the format md.
 * It is kept and shared as packed weights are. */
enum vbs_status od_operand_as(struct od_build *b, const dnnl_memory_desc_t *plain_md,
                              const dnnl_memory_desc_t *md,
                              const struct od_packed **packed) VBS_MUST_CHECK;

/* Gives n floats that are made of the layer's parameters, which all kernels that ask for as many
 * share; not found: the caller fills them. */
enum vbs_status od_own_floats(struct od_build *b, int64_t n, bool *found,
                              const struct od_packed **packed) VBS_MUST_CHECK;

/* Gives the constant operand as one sample of tensor in its canonical layout. */
enum vbs_status od_operand(struct od_build *b, const struct od_tensor *tensor,
                           const struct od_packed **packed) VBS_MUST_CHECK;

#endif
