/* The choice of the function that builds an operator. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

enum vbs_status od_build_other(struct od_build *b)
{
    switch (b->l->op) {
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        return od_build_pool(b);
    case VBS_OP_CONCAT:
        return od_build_concat(b);
    case VBS_OP_RESIZE:
        return od_build_resize(b);
    case VBS_OP_MATMUL:
        return od_build_matmul(b);
    case VBS_OP_EMBED:
        return od_build_embed(b);
    case VBS_OP_TOPK:
        return od_build_topk(b);
    case VBS_OP_PICK:
        return od_build_pick(b);
    case VBS_OP_TAKE:
        return od_build_take(b);
    case VBS_OP_GRID_SAMPLE:
        return od_build_grid_sample(b);
    case VBS_OP_DEFORM_CONV:
        return od_build_deform_conv(b);
    case VBS_OP_DFT:
        return od_build_dft(b);
    case VBS_OP_LRN:
    case VBS_OP_SOFTMAX:
    case VBS_OP_LOGSOFTMAX:
    case VBS_OP_BATCHNORM:
    case VBS_OP_SCALE:
    case VBS_OP_INSTANCE_NORM:
    case VBS_OP_LAYER_NORM:
        return od_build_norm(b);
    case VBS_OP_RNN:
    case VBS_OP_GRU:
    case VBS_OP_LSTM:
        return od_build_recurrent(b);
    case VBS_OP_DROPOUT: /* at inference a Dropout on a branch of its own only copies */
    case VBS_OP_IDENTITY:
        return od_build_move(b);
    default:
        break;
    }
    switch (vbs_op_class(b->l->op)) {
    case VBS_CLASS_UNARY:
        return od_build_unary(b);
    case VBS_CLASS_BINARY:
        return od_build_binary(b);
    case VBS_CLASS_REDUCE:
        return od_build_reduce(b);
    case VBS_CLASS_MOVE:
        return od_build_move(b);
    default:
        return vbs_fail(b->ctx, VBS_UNSUPPORTED, "layer '%s': the onednn backend has no '%s'",
                        b->l->name, vbs_op_word(b->l->op));
    }
}
