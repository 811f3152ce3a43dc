/* Constant operands of layers. They are made from their values whenever they are packed, as weights
 * are. */
#include "backend/onednn/kernels/weights.h"

#include "base/fail.h"

#include <stdlib.h>

/* Converts values from the layout plain_md to that of made->md, in made->data. */
static enum vbs_status fill_operand(struct od_build *b, const dnnl_memory_desc_t *plain_md,
                                    struct od_packed *made)
{
    int64_t n = vbs_shape_elements(&b->l->operand);
    bool direct = dnnl_memory_desc_equal(plain_md, &made->md);
    float *values = direct ? made->data : od_alloc(n * (int64_t)sizeof *values);
    enum vbs_status status = values ? VBS_OK : vbs_no_memory(b->ctx);

    if (status == VBS_OK)
        status = vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_OPERAND, 0, n,
                                      values);
    if (status == VBS_OK && !direct)
        status = od_convert(b, plain_md, values, &made->md, made->data);
    if (!direct)
        free(values);
    return status;
}

static const struct od_packed *find_packed(const struct od_weights *w, const dnnl_memory_desc_t *md)
{
    for (const struct od_packed *made = w->packed; made; made = made->next)
        if (dnnl_memory_desc_equal(&made->md, md))
            return made;
    return NULL;
}

/* Adds memory for values that md describes; the first of a layer gets a number. */
static enum vbs_status add(struct od_build *b, const dnnl_memory_desc_t *md, int first,
                           struct od_packed **packed)
{
    struct od_weights *w = &b->session->weights[b->layer];
    int number = w->packed ? w->packed->number + 1 : first;
    struct od_packed *made;

    if (number == VBS_MAX_FORMATS)
        return vbs_fail(b->ctx, VBS_UNSUPPORTED,
                        "layer '%s' packs its operand in more than %d ways; measure fewer batches",
                        b->l->name, VBS_MAX_FORMATS);
    made = malloc(sizeof *made);
    if (!made)
        return vbs_no_memory(b->ctx);
    *made = (struct od_packed){
        .md = *md, .bytes = (int64_t)dnnl_memory_desc_get_size(md), .number = number};
    made->data = od_alloc(made->bytes);
    made->next = w->packed;
    w->packed = made;
    *packed = made;
    return made->data ? VBS_OK : vbs_no_memory(b->ctx);
}

enum vbs_status od_operand_as(struct od_build *b, const dnnl_memory_desc_t *plain_md,
                              const dnnl_memory_desc_t *md, const struct od_packed **packed)
{
    struct od_packed *made;

    *packed = find_packed(&b->session->weights[b->layer], md);
    if (*packed)
        return VBS_OK;
    VBS_TRY(add(b, md, 0, &made));
    *packed = made;
    return fill_operand(b, plain_md, made);
}

enum vbs_status od_own_floats(struct od_build *b, int64_t n, bool *found,
                              const struct od_packed **packed)
{
    struct od_packed *made;
    dnnl_memory_desc_t md;

    VBS_TRY(od_describe_vector(b, n, &md));
    *packed = find_packed(&b->session->weights[b->layer], &md);
    *found = *packed != NULL;
    if (*found)
        return VBS_OK;
    VBS_TRY(add(b, &md, 1, &made)); /* kernels of floats have number 0 */
    *packed = made;
    return VBS_OK;
}

enum vbs_status od_operand(struct od_build *b, const struct od_tensor *tensor,
                           const struct od_packed **packed)
{
    dnnl_memory_desc_t plain_md, md;

    VBS_TRY(od_describe(b, tensor, 1, OD_PLAIN, false, &plain_md));
    VBS_TRY(od_describe(b, tensor, 1, tensor->canonical, false, &md));
    return od_operand_as(b, &plain_md, &md, packed);
}
