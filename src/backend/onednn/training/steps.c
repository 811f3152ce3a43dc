/* Steps of passes: memory objects, implementations, gradients of inputs. */
#include "backend/onednn/training/training.h"

#include "backend/onednn/training/loops.h"
#include "base/fail.h"

enum vbs_status od_at(struct od_train_build *b, const dnnl_memory_desc_t *md, float *data,
                      dnnl_memory_t *memory)
{
    return od_kernel_memory(&b->build, md, OD_FIXED, 0, data, memory);
}

enum vbs_status od_in_region(struct od_train_build *b, const dnnl_memory_desc_t *md,
                             enum od_region region, dnnl_memory_t *memory)
{
    int64_t bytes = (int64_t)dnnl_memory_desc_get_size(md);

    if (bytes > b->t->region_bytes[region])
        b->t->region_bytes[region] = bytes;
    return od_kernel_memory(&b->build, md, OD_BUFFER, (int)region, NULL, memory);
}

enum vbs_status od_arg(struct od_train_build *b, int id, const dnnl_memory_desc_t *md, float *data,
                       int *n, dnnl_exec_arg_t *args)
{
    args[*n].arg = id;
    return od_at(b, md, data, &args[(*n)++].memory);
}

const int64_t *od_plan_count(struct od_train_build *b, int64_t n)
{
    int64_t *count = vbs_arena_alloc(&b->t->base.core.arena, 1, sizeof *count);

    if (count)
        *count = n;
    return count;
}

static enum vbs_status find_pd(struct od_train_build *b, const_dnnl_op_desc_t desc,
                               const_dnnl_primitive_desc_t forward, dnnl_primitive_desc_t *pd)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_engine_t engine = b->t->base.engine;
    dnnl_status_t dnnl;

    VBS_TRY(od_attributes(&b->build, 0, 0, &attr));
    dnnl = forward ? od_pd_backward(desc, attr, engine, forward, pd)
                   : od_pd_first(desc, attr, engine, pd);
    dnnl_primitive_attr_destroy(attr);
    return dnnl == dnnl_success ? VBS_OK : od_fail(&b->build, dnnl, "training");
}

enum vbs_status od_forward_pd(struct od_train_build *b, const_dnnl_op_desc_t desc,
                              dnnl_primitive_desc_t *pd)
{
    return find_pd(b, desc, NULL, pd);
}

enum vbs_status od_backward_pd(struct od_train_build *b, const_dnnl_op_desc_t desc,
                               dnnl_primitive_desc_t *pd)
{
    return find_pd(b, desc, b->o->forward, pd);
}

/* Notes that the operator has a slow step. Operators come in order, in each pass. */
static void note_slow(struct od_train_build *b)
{
    struct vbs_training *s = &b->t->session;

    for (int i = 0; i < s->n_slow; i++)
        if (s->slow[i] == b->o->name)
            return;
    s->slow[s->n_slow++] = b->o->name;
}

enum vbs_status od_train_step(struct od_train_build *b, dnnl_primitive_desc_t pd, int n_args,
                              const dnnl_exec_arg_t *args)
{
    enum vbs_status status;

    if (od_is_reference(pd))
        note_slow(b);
    status = od_kernel_step(&b->build, pd, n_args, args);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

enum vbs_status od_backward_step(struct od_train_build *b, const_dnnl_op_desc_t desc, int n,
                                 dnnl_exec_arg_t *args)
{
    const struct od_activation *out = &b->t->activations[b->number];
    dnnl_primitive_desc_t pd = NULL;

    VBS_TRY(od_arg(b, DNNL_ARG_DIFF_DST, &out->md, out->gradient, &n, args));
    if (b->o->workspace)
        args[n++] = (dnnl_exec_arg_t){DNNL_ARG_WORKSPACE, b->o->workspace};
    VBS_TRY(od_backward_pd(b, desc, &pd));
    return od_train_step(b, pd, n, args);
}

enum vbs_status od_input_gradient(struct od_train_build *b, int input, const dnnl_memory_desc_t *md,
                                  dnnl_memory_t *memory)
{
    struct od_activation *a = &b->t->activations[b->o->inputs[input]];

    return a->n_written == 0 ? od_at(b, md, a->gradient, memory)
                             : od_in_region(b, md, OD_REGION_SHARE, memory);
}

enum vbs_status od_input_gradient_end(struct od_train_build *b, int input, dnnl_memory_t memory)
{
    struct od_activation *a = &b->t->activations[b->o->inputs[input]];
    dnnl_memory_t operands[2] = {NULL, memory};
    const int64_t *n;

    if (a->n_written++ == 0)
        return VBS_OK;
    VBS_TRY(od_at(b, &a->md, a->gradient, &operands[0]));
    n = od_plan_count(b, (int64_t)dnnl_memory_desc_get_size(&a->md) / (int64_t)sizeof(float));
    return n ? od_kernel_call(&b->build, od_loop_accumulate, n, 2, operands)
             : vbs_no_memory(b->build.ctx);
}

enum vbs_status od_add_workspace(struct od_train_build *b)
{
    const dnnl_memory_desc_t *md =
        dnnl_primitive_desc_query_md(b->o->forward, dnnl_query_workspace_md, 0);
    int64_t bytes = md ? (int64_t)dnnl_memory_desc_get_size(md) : 0;
    void *memory = NULL;

    if (bytes == 0)
        return VBS_OK;
    VBS_TRY(od_train_alloc(b, bytes, &memory));
    b->t->session.workspace_bytes += bytes;
    return od_at(b, md, memory, &b->o->workspace);
}
