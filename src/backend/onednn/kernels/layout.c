/* The layouts of tensors, and their descriptors of oneDNN. */
#include "backend/onednn/kernels/layout.h"

#include "base/fail.h"

#include <string.h>

#define MAX_TAG_SPATIAL (VBS_MAX_SPATIAL + 1) /* with the channels */

int od_block(void)
{
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();

    if (isa == dnnl_cpu_isa_all) /* the processor is not x86 */
        return 1;
    return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core ? 16 : 8;
}

/* Padding to whole blocks may at most double a tensor. The few channels of an image stay plain,
 * because oneDNN's kernels for first layers read this layout directly. */
bool od_can_be_blocked(int block, const struct vbs_shape *shape)
{
    return block > 1 && shape->n_dims > 1 && shape->n_dims <= MAX_TAG_SPATIAL &&
           2 * shape->dim[0] >= block;
}

bool od_layouts_agree(const struct od_session *session, const struct od_tensor *tensor,
                      enum od_layout layout)
{
    bool blocked = tensor->canonical == OD_BLOCKED || layout == OD_BLOCKED;

    return tensor->canonical == layout ||
           (tensor->positions == 1 && (!blocked || tensor->channels % session->block == 0));
}

/* Computes the bytes that batch samples of a tensor take in its canonical layout. */
static enum vbs_status canonical_bytes(struct od_build *b, const struct od_tensor *tensor,
                                       int batch, int64_t *bytes)
{
    dnnl_memory_desc_t md;

    VBS_TRY(od_describe(b, tensor, batch, tensor->canonical, false, &md));
    *bytes = (int64_t)dnnl_memory_desc_get_size(&md);
    return VBS_OK;
}

enum vbs_status od_tensor_init(struct od_build *b, const struct vbs_shape *shape,
                               enum od_layout canonical, struct od_tensor *tensor)
{
    int64_t one = 0, two = 0;

    *tensor = (struct od_tensor){.shape = *shape,
                                 .channels = shape->dim[0],
                                 .positions = vbs_shape_elements(shape) / shape->dim[0]};
    if (shape->n_dims <= MAX_TAG_SPATIAL) {
        tensor->n_spatial = shape->n_dims - 1;
        for (int i = 0; i < tensor->n_spatial; i++)
            tensor->spatial[i] = shape->dim[1 + i];
    } else {
        tensor->n_spatial = 1;
        tensor->spatial[0] = tensor->positions;
    }
    *tensor = od_in_layout(b->session, tensor, canonical);
    VBS_TRY(canonical_bytes(b, tensor, 1, &one));
    VBS_TRY(canonical_bytes(b, tensor, 2, &two));
    if (one != tensor->bytes || two != 2 * tensor->bytes)
        return vbs_fail(b->ctx, VBS_UNSUPPORTED,
                        "layer '%s': oneDNN does not lay out its samples one after the other",
                        b->l->name);
    return VBS_OK;
}

enum vbs_status od_describe(struct od_build *b, const struct od_tensor *tensor, int batch,
                            enum od_layout layout, bool stored, dnnl_memory_desc_t *md)
{
    static const dnnl_format_tag_t plain[MAX_TAG_SPATIAL] = {dnnl_nc, dnnl_ncw, dnnl_nchw,
                                                             dnnl_ncdhw};
    static const dnnl_format_tag_t last[MAX_TAG_SPATIAL] = {dnnl_nc, dnnl_nwc, dnnl_nhwc,
                                                            dnnl_ndhwc};
    static const dnnl_format_tag_t by_8[MAX_TAG_SPATIAL] = {dnnl_nc, dnnl_nCw8c, dnnl_nChw8c,
                                                            dnnl_nCdhw8c};
    static const dnnl_format_tag_t by_16[MAX_TAG_SPATIAL] = {dnnl_nc, dnnl_nCw16c, dnnl_nChw16c,
                                                             dnnl_nCdhw16c};
    const dnnl_format_tag_t *blocked = b->session->block == 16 ? by_16 : by_8;
    const dnnl_format_tag_t *tags = layout == OD_PLAIN     ? plain
                                    : layout == OD_BLOCKED ? blocked
                                                           : last;
    dnnl_dims_t dims = {batch, stored ? tensor->stored_channels : tensor->channels};
    dnnl_status_t status;

    for (int i = 0; i < tensor->n_spatial; i++)
        dims[2 + i] = tensor->spatial[i];
    status = dnnl_memory_desc_init_by_tag(md, 2 + tensor->n_spatial, dims, dnnl_f32,
                                          tags[tensor->n_spatial]);
    return status == dnnl_success ? VBS_OK : od_fail(b, status, "describing a tensor");
}

struct od_tensor od_in_layout(const struct od_session *session, const struct od_tensor *tensor,
                              enum od_layout layout)
{
    int64_t block = layout == OD_BLOCKED ? session->block : 1;
    struct od_tensor moved = *tensor;

    moved.canonical = layout;
    moved.stored_channels = (tensor->channels + block - 1) / block * block;
    moved.bytes = (int64_t)sizeof(float) * moved.stored_channels * moved.positions;
    return moved;
}

enum vbs_status od_describe_dense(struct od_build *b, int n_dims, const dnnl_dims_t dims,
                                  dnnl_memory_desc_t *md)
{
    dnnl_dims_t strides = {0};
    dnnl_status_t status;

    strides[n_dims - 1] = 1;
    for (int i = n_dims - 2; i >= 0; i--)
        strides[i] = strides[i + 1] * dims[i + 1];
    status = dnnl_memory_desc_init_by_strides(md, n_dims, dims, dnnl_f32, strides);
    return status == dnnl_success ? VBS_OK : od_fail(b, status, "describing a tensor");
}

enum vbs_status od_describe_vector(struct od_build *b, int64_t n, dnnl_memory_desc_t *md)
{
    dnnl_dims_t dims = {n};
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(md, 1, dims, dnnl_f32, dnnl_a);

    return status == dnnl_success ? VBS_OK : od_fail(b, status, "describing parameters");
}

int64_t od_stored_index(const struct od_session *session, const struct od_tensor *tensor, int64_t c,
                        int64_t s)
{
    int64_t block = tensor->canonical == OD_BLOCKED ? session->block : 1;

    if (tensor->canonical == OD_CHANNELS_LAST)
        return s * tensor->channels + c;
    return (c / block * tensor->positions + s) * block + c % block;
}
