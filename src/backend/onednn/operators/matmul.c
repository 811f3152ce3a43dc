/* Products of matrices, of which one may be a constant. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

/* Makes a factor of as many dimensions as the product; missing ones are 1. */
static struct od_factor factor(const struct od_build *b, bool constant, int input)
{
    const struct vbs_shape *shape = constant ? &b->l->operand : &od_input(b, input)->shape;
    int n = b->l->shape.n_dims, missing = n - shape->n_dims;
    struct od_factor f = {.constant = constant, .input = input, .n_dims = n + 1};

    f.dims[0] = constant ? 1 : b->batch;
    for (int i = 0; i < n; i++)
        f.dims[1 + i] = i < missing ? 1 : shape->dim[i - missing];
    return f;
}

static void init_factors(const struct od_build *b, struct od_factor *x, struct od_factor *y)
{
    bool constant = b->l->operand.n_dims > 0, swapped = constant && b->l->attributes.binary.swapped;

    *x = factor(b, swapped, 0);
    *y = factor(b, constant && !swapped, swapped ? 0 : 1);
}

/* Joins neighbouring dimensions of the stacks that are broadcast alike. Where y is a single matrix,
 * all matrices of x become rows of one. z: the product. */
static void merge(struct od_factor *x, struct od_factor *y, struct od_factor *z)
{
    int depth = x->n_dims - 2, n = 0;
    int64_t rows = x->dims[depth], inner = x->dims[depth + 1], columns = y->dims[depth + 1];
    bool single = true;

    for (int i = 0; i < depth; i++)
        single &= y->dims[i] == 1;
    for (int i = 0; i < depth; i++) {
        int64_t p = x->dims[i], q = y->dims[i];

        if (single) {
            rows *= p;
        } else if (p == 1 && q == 1) {
            continue;
        } else if (n > 0 && (x->dims[n - 1] == 1) == (p == 1) &&
                   (y->dims[n - 1] == 1) == (q == 1)) {
            x->dims[n - 1] *= p;
            y->dims[n - 1] *= q;
        } else {
            x->dims[n] = p;
            y->dims[n++] = q;
        }
    }
    for (int i = 0; i < n; i++)
        z->dims[i] = x->dims[i] > y->dims[i] ? x->dims[i] : y->dims[i];
    x->dims[n] = z->dims[n] = rows;
    x->dims[n + 1] = y->dims[n] = inner;
    y->dims[n + 1] = z->dims[n + 1] = columns;
    x->n_dims = y->n_dims = z->n_dims = n + 2;
}

void od_factors_init(const struct od_build *b, struct od_factor *x, struct od_factor *y,
                     struct od_factor *z)
{
    *z = (struct od_factor){0};
    init_factors(b, x, y);
    merge(x, y, z);
}

/* Finds the implementation of a product. The library chooses the format of a single constant
 * matrix. */
static enum vbs_status product_pd(struct od_build *b, const struct od_factor *x,
                                  const struct od_factor *y, const struct od_factor *z,
                                  int *n_fused, dnnl_primitive_desc_t *pd)
{
    bool packed = y->constant && y->n_dims == 2;
    dnnl_memory_desc_t src, weights, dst;
    dnnl_matmul_desc_t desc;
    dnnl_status_t dnnl;

    VBS_TRY(od_describe_dense(b, x->n_dims, x->dims, &src));
    VBS_TRY(od_describe_dense(b, y->n_dims, y->dims, &weights));
    VBS_TRY(od_describe_dense(b, z->n_dims, z->dims, &dst));
    dnnl = packed
               ? dnnl_memory_desc_init_by_tag(&weights, 2, y->dims, dnnl_f32, dnnl_format_tag_any)
               : dnnl_success;
    if (dnnl == dnnl_success)
        dnnl = dnnl_matmul_desc_init(&desc, &src, &weights, NULL, &dst);
    return dnnl == dnnl_success ? od_best(b, &desc, 0, n_fused, pd)
                                : od_fail(b, dnnl, "describing a product");
}

static enum vbs_status factor_memory(struct od_build *b, const struct od_factor *f,
                                     const dnnl_memory_desc_t *md, dnnl_memory_t *memory,
                                     int64_t *weight_bytes, int *format)
{
    const struct od_packed *packed;
    dnnl_memory_desc_t plain;

    if (!f->constant)
        return od_source(b, f->input, OD_PLAIN, md, memory);
    VBS_TRY(od_describe_dense(b, f->n_dims, f->dims, &plain));
    VBS_TRY(od_operand_as(b, &plain, md, &packed));
    *weight_bytes = packed->bytes;
    *format = packed->number;
    return od_kernel_memory(b, md, OD_FIXED, 0, packed->data, memory);
}

enum vbs_status od_build_matmul(struct od_build *b)
{
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_WEIGHTS, NULL}, {DNNL_ARG_DST, NULL}};
    int n_fused = od_fusable(b, 0), format = 0;
    int64_t weight_bytes = 0;
    struct od_factor x, y, z;
    dnnl_primitive_desc_t pd = NULL;
    enum vbs_status status;

    od_factors_init(b, &x, &y, &z);
    status = product_pd(b, &x, &y, &z, &n_fused, &pd);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_begin_with(b, pd);
    if (status != VBS_OK)
        goto done;
    status = factor_memory(b, &x, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0),
                           &args[0].memory, &weight_bytes, &format);
    if (status != VBS_OK)
        goto done;
    status = factor_memory(b, &y, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0),
                           &args[1].memory, &weight_bytes, &format);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_memory(b, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0), OD_DST, 0,
                              NULL, &args[2].memory);
    if (status != VBS_OK)
        goto done;
    status = od_kernel_step(b, pd, 3, args);
    if (status != VBS_OK)
        goto done;
    status = od_fused_end(b, n_fused, weight_bytes, format);
done:
    dnnl_primitive_desc_destroy(pd);
    return status;
}
