/* Concat. oneDNN is fast only in one layout; copies are as fast in the others. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

/* Gives whether whole blocks lie side by side: only the last input may be padded. */
static bool concat_can_be_stored(const struct od_build *b)
{
    for (int i = 0; i < b->l->n_inputs; i++) {
        const struct od_tensor *in = od_input(b, i);
        bool last = i == b->l->n_inputs - 1;

        if (in->canonical != od_output(b)->canonical)
            return false;
        if (!last && in->channels != in->stored_channels)
            return false;
    }
    return true;
}

/* Makes the descriptors of inputs and output of a Concat; *src has n_inputs descriptors. */
static enum vbs_status concat_descriptors(struct od_build *b, bool stored, dnnl_memory_desc_t **src,
                                          dnnl_memory_desc_t *dst)
{
    const struct od_tensor *out = od_output(b);
    dnnl_memory_desc_t *list =
        vbs_arena_alloc(&b->session->core.arena, (size_t)b->l->n_inputs, sizeof *list);
    enum vbs_status status = list ? VBS_OK : vbs_no_memory(b->ctx);

    for (int i = 0; i < b->l->n_inputs && status == VBS_OK; i++)
        status =
            od_describe(b, od_input(b, i), b->batch, od_input(b, i)->canonical, stored, &list[i]);
    if (status == VBS_OK)
        status = od_describe(b, out, b->batch, out->canonical, stored, dst);
    *src = list;
    return status;
}

/* Appends the copy of an input to its range of the output, which begins at channel first. */
static enum vbs_status append_copy(struct od_build *b, int input, const dnnl_memory_desc_t *src,
                                   const dnnl_memory_desc_t *dst, dnnl_dim_t first)
{
    dnnl_dims_t offsets = {0, first};
    dnnl_memory_desc_t range;
    dnnl_memory_t from, to;
    dnnl_status_t dnnl = dnnl_memory_desc_init_submemory(&range, dst, src->dims, offsets);

    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a part of a concat");
    VBS_TRY(od_kernel_memory(b, src, OD_SRC, input, NULL, &from));
    VBS_TRY(od_kernel_memory(b, &range, OD_DST, 0, NULL, &to));
    return od_kernel_reorder(b, src, from, &range, to);
}

/* Builds a kernel of a copy for each input. oneDNN's Concat moves one float at a time at batch 1,
 * which takes up to seven times as long. */
static enum vbs_status build_copies(struct od_build *b, const dnnl_memory_desc_t *src,
                                    const dnnl_memory_desc_t *dst)
{
    dnnl_dim_t first = 0;

    VBS_TRY(od_kernel_begin(b, "reorder"));
    for (int i = 0; i < b->l->n_inputs; i++) {
        VBS_TRY(append_copy(b, i, &src[i], dst, first));
        first += src[i].dims[1];
    }
    return od_fused_end(b, 0, 0, 0);
}

/* Builds oneDNN's own Concat along the channels, and takes ownership of pd. */
static enum vbs_status build_primitive(struct od_build *b, dnnl_primitive_desc_t pd,
                                       const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *dst)
{
    int n = b->l->n_inputs;
    dnnl_exec_arg_t *args = vbs_arena_alloc(&b->session->core.arena, (size_t)n + 1, sizeof *args);
    enum vbs_status status = args ? od_kernel_begin_with(b, pd) : vbs_no_memory(b->ctx);

    for (int i = 0; i < n && status == VBS_OK; i++) {
        args[i].arg = DNNL_ARG_MULTIPLE_SRC + i;
        status = od_kernel_memory(b, &src[i], OD_SRC, i, NULL, &args[i].memory);
    }
    if (status != VBS_OK)
        goto done;
    args[n].arg = DNNL_ARG_DST;
    status = od_kernel_memory(b, dst, OD_DST, 0, NULL, &args[n].memory);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_step(b, pd, n + 1, args);
    if (status != VBS_OK)
        goto done;
    status = od_fused_end(b, 0, 0, 0);
done:
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* Builds a kernel of loops that copy each input, along any dimension and in any layout. */
static enum vbs_status build_loops(struct od_build *b)
{
    int axis = b->l->attributes.concat.axis;
    int64_t first = 0;

    VBS_TRY(od_kernel_begin(b, "loop:copy"));
    for (int i = 0; i < b->l->n_inputs; i++) {
        const struct vbs_shape *shape = &od_input(b, i)->shape;
        struct od_copy copy = {.input = i, .n_routes = shape->n_dims, .axis = axis, .first = first};

        for (int d = 0; d < shape->n_dims; d++)
            copy.routes[d] = (struct od_route){.n = shape->dim[d], .source = d, .step = 1};
        VBS_TRY(od_copy_step(b, &copy));
        first += shape->dim[axis];
    }
    VBS_TRY(od_zero_padding(b));
    return od_copy_end(b);
}

static enum vbs_status build_channels(struct od_build *b)
{
    bool stored = concat_can_be_stored(b);
    dnnl_memory_desc_t *src, dst;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t dnnl;

    VBS_TRY(concat_descriptors(b, stored, &src, &dst));
    VBS_TRY(od_attributes(b, 0, 0, &attr));
    dnnl = od_pd_concat(&dst, b->l->n_inputs, 1, src, attr, b->session->engine, &pd);
    dnnl_primitive_attr_destroy(attr);
    VBS_TRY(dnnl == dnnl_success ? build_primitive(b, pd, src, &dst)
                                 : od_fail(b, dnnl, vbs_op_word(b->l->op)));
    return stored ? build_copies(b, src, &dst) : build_loops(b);
}

enum vbs_status od_build_concat(struct od_build *b)
{
    return b->l->attributes.concat.axis == 0 && !b->native ? build_channels(b) : build_loops(b);
}
