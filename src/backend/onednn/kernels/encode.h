/*
 * Encoded tensors (struct vbs_encoding) and their floats.
 */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_ENCODE_H
#define VBS_BACKEND_ONEDNN_KERNELS_ENCODE_H

#include "backend/onednn/kernels/layout.h"

/* Samples of a tensor, as they are stored and as floats. */
struct od_recode {
    struct od_stored stored;
    int64_t n, channels, positions;
    int64_t block; /* of the floats: channels in a block; 1: they are plain */
};

/* Makes the recoding of n samples of a tensor, whose floats have a layout: plain or blocked; that
 * of a bfloat16 is the stored one. */
struct od_recode od_recode_of(const struct od_session *session, int tensor, int64_t n,
                              enum od_layout floats);

/* Decodes all samples to floats; padding becomes zero. */
void od_decode(const struct od_recode *recode, const void *stored, float *floats);

/* Encodes the floats of all samples. */
void od_encode(const struct od_recode *recode, const float *floats, void *stored);

/* Chooses how tensor number k, whose description as floats is made, is stored. */
struct od_stored od_stored_init(const struct od_build *b, int k);

/* Gives the tensor that is input number index of the layer, or (n_inputs) its output, and how it is
 * stored. */
int od_tensor_of(const struct od_build *b, int index);
const struct od_stored *od_stored_of(const struct od_build *b, int index);

/* Gives the bytes of a value of such a tensor as b's kernels see it, which are those of a float
 * where they are not native. */
int64_t od_value_bytes(const struct od_build *b, int index);

/* Gives the layout of such a tensor of 8 bits: plain also where both layouts are the same bytes. */
enum od_layout od_stored_layout(const struct od_build *b, int index);

/* Gives whether the shape in which the layer reads an input of 8 bits has strides there: it is
 * plain, or the channels are last and the shape has the same channels. */
bool od_has_strides(const struct od_build *b, int input);

/* Gives the strides, in values, of the dimensions in which the layer reads or writes such a tensor
 * of 8 bits. */
void od_stored_strides(const struct od_build *b, int index, int64_t *strides);

/* Describes all values of a batch of such a tensor, whose places do not matter, as they are stored.
 */
enum vbs_status od_describe_flat(struct od_build *b, int index,
                                 dnnl_memory_desc_t *md) VBS_MUST_CHECK;

/* Describes batch samples of a tensor as it is stored; floats have the channels last. padded: with
 * the padding counted as channels. */
enum vbs_status od_describe_stored(struct od_build *b, const struct od_tensor *tensor,
                                   const struct od_stored *stored, bool padded,
                                   dnnl_memory_desc_t *md) VBS_MUST_CHECK;

/* Gives the library's type of a storage. */
dnnl_data_type_t od_data_type(enum vbs_storage storage);

/* Gives whether the layer reads or writes an encoded tensor. */
bool od_is_encoded(const struct od_build *b);

#endif
