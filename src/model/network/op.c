#include "model/network/op.h"

#include "base/text.h"

#include <string.h>

static const struct vbs_op_info OPS[VBS_N_OPS] = {
#define OP_INFO(name, word, class, low, high, fused) {word, VBS_CLASS_##class, low, high, fused},
    VBS_OP_LIST(OP_INFO)
#undef OP_INFO
};

static const char *const WORDS[VBS_N_OPS] = {
#define OP_WORD(name, word, class, low, high, fused) word,
    VBS_OP_LIST(OP_WORD)
#undef OP_WORD
};

const char *vbs_op_word(enum vbs_op op)
{
    return (unsigned)op < VBS_N_OPS ? WORDS[op] : VBS_INPUT_NAME;
}

enum vbs_op_class vbs_op_class(enum vbs_op op)
{
    return (unsigned)op < VBS_N_OPS ? OPS[op].class : VBS_CLASS_OTHER;
}

bool vbs_cell_has_alpha(enum vbs_cell_kind kind)
{
    return kind >= VBS_CELL_AFFINE && kind <= VBS_CELL_ELU;
}

bool vbs_cell_has_beta(enum vbs_cell_kind kind)
{
    return kind == VBS_CELL_AFFINE || kind == VBS_CELL_SCALED_TANH || kind == VBS_CELL_HARD_SIGMOID;
}

int vbs_op_gates(enum vbs_op op)
{
    return op == VBS_OP_RNN ? 1 : op == VBS_OP_GRU ? 3 : op == VBS_OP_LSTM ? 4 : 0;
}

const struct vbs_op_info *vbs_op_info(enum vbs_op op)
{
    return &OPS[op];
}

bool vbs_op_multiplies(enum vbs_op op)
{
    switch (op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
    case VBS_OP_DEFORM_CONV:
    case VBS_OP_FC:
    case VBS_OP_MATMUL:
    case VBS_OP_RNN:
    case VBS_OP_GRU:
    case VBS_OP_LSTM:
        return true;
    default:
        return false;
    }
}

bool vbs_op_has_windows(enum vbs_op op)
{
    return op == VBS_OP_CONV || op == VBS_OP_CONV_TRANSPOSE || op == VBS_OP_POOL_MAX ||
           op == VBS_OP_POOL_AVG;
}

struct vbs_window *vbs_op_windows(enum vbs_op op, union vbs_attributes *attributes)
{
    if (!vbs_op_has_windows(op))
        return NULL;
    return op == VBS_OP_POOL_MAX || op == VBS_OP_POOL_AVG ? &attributes->pool.window
                                                          : &attributes->weighted.window;
}

bool vbs_op_find(const char *word, enum vbs_op *op)
{
    for (int i = 0; i < VBS_N_TEXT_OPS; i++) {
        if (strcmp(word, WORDS[i]) == 0) {
            *op = (enum vbs_op)i;
            return true;
        }
    }
    return false;
}

const char *vbs_op_nearest(const char *word)
{
    return vbs_nearest_name(word, WORDS, VBS_N_TEXT_OPS);
}
