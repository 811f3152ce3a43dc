/* Weights of conv, deconv and fc: the network's own, into which the operators right behind are
 * folded. */
#include "backend/cudnn/operators.h"

#include "backend/common/common.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

/* Gives whether an operator's factors are those of the outputs that have weights of their own. */
static bool folds(const struct cu_build *b, enum vbs_op op)
{
    bool by_channel = op == VBS_OP_BATCHNORM || op == VBS_OP_SCALE;

    return op == VBS_OP_LINEAR || op == VBS_OP_DROPOUT ||
           (by_channel && !(b->l->op == VBS_OP_FC && b->l->attributes.weighted.rows));
}

/* Folds a fused operator: scale and bias become those of the pair. */
static enum vbs_status fold(struct cu_build *b, int fused, struct cu_weights *w, float *bias,
                            float *pair)
{
    const struct vbs_fused *f = &b->l->fused[fused];

    if (f->op == VBS_OP_LINEAR)
        for (int64_t c = 0; c < w->outputs; c++) {
            pair[c] = (float)f->attributes.linear.factor;
            pair[w->outputs + c] = (float)f->attributes.linear.shift;
        }
    else
        VBS_TRY(
            vbs_affine(b->ctx, b->network, b->layer, fused, w->outputs, pair, pair + w->outputs));
    for (int64_t c = 0; c < w->outputs; c++) {
        w->scale[c] *= pair[c];
        bias[c] = bias[c] * pair[c] + pair[w->outputs + c];
    }
    return VBS_OK;
}

/* Folds all operators that can be folded; *has_bias: there is a bias now. */
static enum vbs_status fold_all(struct cu_build *b, struct cu_weights *w, float *values,
                                bool *has_bias)
{
    enum vbs_status status = vbs_parameter_values(b->ctx, b->network, b->layer, -1,
                                                  VBS_PARAMETER_BIAS, 0, w->outputs, values);

    if (status != VBS_OK)
        return status;
    for (int i = 0; i < b->l->n_fused && status == VBS_OK; i++, w->n_folded++) {
        enum vbs_op op = b->l->fused[i].op;

        if (!folds(b, op))
            break;
        if (op == VBS_OP_DROPOUT)
            continue;
        status = fold(b, i, w, values, values + w->outputs);
        *has_bias = true;
    }
    return status;
}

enum vbs_status cu_weights_init(struct cu_build *b)
{
    struct cu_weights *w = &b->session->weights[b->layer];
    bool has_bias = b->l->attributes.weighted.bias;
    float *values;
    enum vbs_status status;

    if (w->scale)
        return VBS_OK;
    w->outputs = b->l->attributes.weighted.out_channels;
    w->count = vbs_weight_count(b->network, b->layer) / w->outputs;
    w->scale = vbs_arena_alloc(&b->session->core.arena, (size_t)w->outputs, sizeof *w->scale);
    values = malloc(3 * (size_t)w->outputs * sizeof *values);
    if (!w->scale || !values) {
        free(values);
        return vbs_no_memory(b->ctx);
    }
    for (int64_t c = 0; c < w->outputs; c++)
        w->scale[c] = 1;
    status = fold_all(b, w, values, &has_bias);
    if (status == VBS_OK && has_bias)
        status = cu_upload(b, values, w->outputs * (int64_t)sizeof *values, &w->bias);
    free(values);
    return status;
}

/* Writes all weights of a deconv, [I, O / G, K...]. */
static enum vbs_status write_transposed(struct cu_build *b, float *values)
{
    const struct cu_weights *w = &b->session->weights[b->layer];
    int64_t inputs = cu_view(b, 0)->dim[0], groups = b->l->attributes.weighted.groups;
    int64_t all = vbs_weight_count(b->network, b->layer), n_out = w->outputs / groups;
    int64_t window = all / inputs / n_out;

    VBS_TRY(vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_WEIGHTS, 0, all,
                                 values));
    for (int64_t v = 0; v < all; v++) {
        int64_t input = v / (n_out * window), group = input / (inputs / groups);

        values[v] *= w->scale[group * n_out + v / window % n_out];
    }
    return VBS_OK;
}

enum vbs_status cu_weights_write(struct cu_build *b, int64_t first, int64_t count, float *values)
{
    const struct cu_weights *w = &b->session->weights[b->layer];

    if (b->l->op == VBS_OP_CONV_TRANSPOSE)
        return write_transposed(b, values);
    for (int64_t o = first; o < first + count; o++) {
        const float *row;

        VBS_TRY(vbs_weight_row(b->ctx, &b->session->core, b->layer, VBS_PARAMETER_WEIGHTS, o,
                               w->count, &row));
        for (int64_t i = 0; i < w->count; i++)
            *values++ = row[i] * w->scale[o];
    }
    if (first + count == w->outputs) /* slices are asked for in their order */
        vbs_weight_rows_clear(&b->session->core);
    return VBS_OK;
}

enum vbs_status cu_weights_upload(struct cu_build *b)
{
    struct cu_weights *w = &b->session->weights[b->layer];
    int64_t bytes = w->outputs * w->count * (int64_t)sizeof(float);
    float *values;
    enum vbs_status status;

    if (b->session->core.weights_given || w->data)
        return VBS_OK;
    values = malloc((size_t)bytes);
    if (!values)
        return vbs_no_memory(b->ctx);
    status = cu_weights_write(b, 0, w->outputs, values);
    if (status == VBS_OK)
        status = cu_upload(b, values, bytes, &w->data);
    free(values);
    return status;
}
