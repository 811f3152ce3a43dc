/* Home layouts of tensors, and their descriptors. */
#include "backend/onednn.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_TAG_SPATIAL (VBS_MAX_SPATIAL + 1)
#define HUGE_PAGE       ((size_t)2 << 20)

int od_block(void)
{
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();

    if (isa == dnnl_cpu_isa_all) /* not x86 */
        return 1;
    return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core ? 16 : 8;
}

/* Padding to whole blocks may at most double a tensor; the few channels of an image stay plain,
 * from which oneDNN's first-layer kernels read directly. */
static enum od_layout home_layout(int block, const struct vbs_shape *shape)
{
    if (block == 1 || shape->n_dims == 1 || 2 * shape->dim[0] < block)
        return OD_PLAIN;
    return OD_BLOCKED;
}

/* Bytes of batch samples at home. */
static enum vbs_status home_bytes(struct od_build *b, const struct od_tensor *tensor, int batch,
                                  int64_t *bytes)
{
    dnnl_memory_desc_t md;
    enum vbs_status status = od_describe(b, tensor, batch, tensor->home, false, &md);

    if (status == VBS_OK)
        *bytes = (int64_t)dnnl_memory_desc_get_size(&md);
    return status;
}

enum vbs_status od_tensor_init(struct od_build *b, const struct vbs_shape *shape,
                               struct od_tensor *tensor)
{
    int block = b->session->block;
    int64_t two = 0;
    enum vbs_status status;

    *tensor = (struct od_tensor){.n_spatial = shape->n_dims - 1,
                                 .channels = shape->dim[0],
                                 .stored_channels = shape->dim[0],
                                 .positions = 1,
                                 .home = home_layout(block, shape)};
    if (tensor->home == OD_BLOCKED)
        tensor->stored_channels = (tensor->channels + block - 1) / block * block;
    for (int i = 0; i < tensor->n_spatial; i++) {
        tensor->spatial[i] = shape->dim[1 + i];
        tensor->positions *= shape->dim[1 + i];
    }
    status = home_bytes(b, tensor, 1, &tensor->bytes);
    if (status == VBS_OK)
        status = home_bytes(b, tensor, 2, &two);
    if (status == VBS_OK && (two != 2 * tensor->bytes ||
                             tensor->bytes != 4 * tensor->stored_channels * tensor->positions))
        return vbs_fail(b->ctx, VBS_UNSUPPORTED,
                        "layer '%s': oneDNN does not lay out its samples one after the other",
                        b->l->name);
    return status;
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

enum vbs_status od_describe_vector(struct od_build *b, int64_t n, dnnl_memory_desc_t *md)
{
    dnnl_dims_t dims = {n};
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(md, 1, dims, dnnl_f32, dnnl_a);

    return status == dnnl_success ? VBS_OK : od_fail(b, status, "describing parameters");
}

int64_t od_stored_index(const struct od_session *session, const struct od_tensor *tensor, int64_t c,
                        int64_t s)
{
    int64_t block = tensor->home == OD_BLOCKED ? session->block : 1;

    return (c / block * tensor->positions + s) * block + c % block;
}

const struct od_tensor *od_input(const struct od_build *b, int index)
{
    return &b->session->tensors[b->session->layers[b->layer].inputs[index]];
}

const struct od_tensor *od_output(const struct od_build *b)
{
    return &b->session->tensors[b->layer];
}

enum vbs_status od_fail(struct od_build *b, dnnl_status_t status, const char *doing)
{
    const char *name = b->l ? b->l->name : VBS_INPUT_NAME;
    const char *meaning = status == dnnl_invalid_arguments ? "invalid arguments"
                          : status == dnnl_runtime_error   ? "error at run time"
                                                           : "unexpected status";

    if (status == dnnl_out_of_memory)
        return vbs_fail(b->ctx, VBS_NO_MEMORY, "layer '%s': out of memory when %s at batch %d",
                        name, doing, b->batch);
    if (status == dnnl_unimplemented || status == dnnl_iterator_ends)
        return vbs_fail(b->ctx, VBS_UNSUPPORTED,
                        "layer '%s': oneDNN has no implementation for %s at batch %d", name, doing,
                        b->batch);
    return vbs_fail(b->ctx, VBS_LIBRARY, "layer '%s': oneDNN failed when %s at batch %d: %s (%d)",
                    name, doing, b->batch, meaning, (int)status);
}

void *od_alloc(int64_t bytes)
{
    size_t size = bytes > 0 ? (size_t)bytes : 1;
    size_t alignment = size >= HUGE_PAGE ? HUGE_PAGE : 4096;
    void *memory;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + alignment - 1) / alignment * alignment;
    memory = aligned_alloc(alignment, size);
    if (!memory)
        return NULL;
    if (alignment == HUGE_PAGE)
        (void)madvise(memory, size, MADV_HUGEPAGE); /* only a wish */
    return memset(memory, 0, size);
}
