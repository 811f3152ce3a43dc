/* Kernels of one primitive that reads input 0 and writes the output. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

/* Builds the kernel; then: null, or what comes behind the primitive. The caller frees pd. */
static enum vbs_status build(struct od_build *b, const_dnnl_primitive_desc_t pd,
                             enum od_layout layout, const struct od_then *then, int first_fused)
{
    const dnnl_memory_desc_t *src = dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0);
    const dnnl_memory_desc_t *dst = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_DST, NULL}};
    struct od_target target = {0};

    VBS_TRY(od_kernel_begin_with(b, pd));
    VBS_TRY(od_source(b, 0, layout, src, &args[0].memory));
    VBS_TRY(od_target(b, layout, dst, &target));
    args[1].memory = target.memory;
    VBS_TRY(od_kernel_step(b, pd, 2, args));
    if (then) {
        const dnnl_memory_t data[] = {target.memory, args[0].memory};

        VBS_TRY(od_kernel_call(b, then->function, then->plan, 2, data));
    }
    VBS_TRY(od_target_end(b, &target));
    return od_fused_end(b, first_fused, 0, 0);
}

enum vbs_status od_build_primitive(struct od_build *b, dnnl_primitive_desc_t pd,
                                   enum od_layout layout, int first_fused)
{
    enum vbs_status status = build(b, pd, layout, NULL, first_fused);

    dnnl_primitive_desc_destroy(pd);
    return status;
}

enum vbs_status od_build_primitive_then(struct od_build *b, dnnl_primitive_desc_t pd,
                                        enum od_layout layout, const struct od_then *then)
{
    enum vbs_status status = build(b, pd, layout, then, 0);

    dnnl_primitive_desc_destroy(pd);
    return status;
}
