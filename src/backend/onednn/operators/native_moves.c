/*
 * Kernels that move values as they are stored: copies of bytes (of 8 bits or bfloat16). Values of 8
 * bits whose encoding changes, or behind which operators are fused, are looked up in a table.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/kernels/kernels.h"
#include "model/network/network.h"

static bool is_move(const struct vbs_layer *l)
{
    switch (l->op) {
    case VBS_OP_CONCAT:
    case VBS_OP_DROPOUT:
    case VBS_OP_IDENTITY:
        return true;
    case VBS_OP_RESIZE:
        return l->attributes.resize.mode == VBS_RESIZE_NEAREST;
    default:
        return vbs_op_class(l->op) == VBS_CLASS_MOVE;
    }
}

/* Gives whether the dimensions of the output are those of the copy's routes, where its channels are
 * last: indices of a gather may have more. */
static bool has_own_routes(const struct od_build *b)
{
    return b->l->op != VBS_OP_GATHER || b->l->shape.n_dims == b->l->views[0].n_dims ||
           od_stored_layout(b, b->l->n_inputs) == OD_PLAIN;
}

/* Gives whether values of 8 bits of an input can be copied: the shape in which the layer reads it
 * has strides in the layout in which it is stored, and tables do all else. */
static bool can_look_up(const struct od_build *b, int input, const struct od_tail *tail)
{
    struct od_table_request request = {
        .from = od_stored_of(b, input)->encoding,
        .to = tail->lines ? tail->encoding : od_stored_of(b, b->l->n_inputs)->encoding,
        .end = tail->lines ? tail->end : b->l->n_fused};

    return has_own_routes(b) && od_table_possible(b, &request) && od_has_strides(b, input);
}

/* Gives whether bfloat16 can be copied; blocks are, as those of floats. */
static bool can_copy(const struct od_build *b, int input)
{
    const struct od_tensor *own = &b->session->tensors[b->l->inputs[input]];

    return b->l->n_fused == 0 && od_stored_of(b, input)->encoding.storage == VBS_BFLOAT16 &&
           od_stored_of(b, b->l->n_inputs)->encoding.storage == VBS_BFLOAT16 &&
           od_input(b, input)->canonical == own->canonical &&
           own->canonical == od_output(b)->canonical;
}

enum vbs_status od_build_native_move(struct od_build *b, bool *made)
{
    struct od_tail tail;

    *made = is_move(b->l);
    od_tail_find(b, 0, &tail);
    for (int i = 0; i < b->l->n_inputs; i++)
        if (*made && !can_look_up(b, i, &tail) && !can_copy(b, i))
            return VBS_OK;
    return *made ? od_build_other(b) : VBS_OK;
}
