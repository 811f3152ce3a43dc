/* What the nodes of all operators have: inputs in their shapes, names and hints. */
#include "model/export/export.h"

#include "base/fail.h"

#include <stdio.h>
#include <string.h>

bool vbs_export_has_channels(enum vbs_op op)
{
    switch (op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
    case VBS_OP_LRN:
    case VBS_OP_BATCHNORM:
    case VBS_OP_SCALE:
    case VBS_OP_INSTANCE_NORM:
    case VBS_OP_GRID_SAMPLE:
    case VBS_OP_DEFORM_CONV:
        return true;
    default:
        return false;
    }
}

enum vbs_status vbs_export_input(struct export_operator *o, int index, int rank, const char **name)
{
    struct exporter *e = o->e;
    const struct vbs_shape *view = &o->l->views[index];
    struct vbs_shape wide = *view;
    struct export_dims dims;

    /* Where no dimension of samples stands before the others, nodes add dimensions themselves. */
    if (!e->network->whole && view->n_dims < rank)
        wide.n_dims = rank;
    for (int d = 0; d < wide.n_dims; d++) {
        int own = d - (wide.n_dims - view->n_dims);

        wide.dim[d] = own < 0 ? 1 : view->dim[own];
    }
    dims =
        vbs_export_has_channels(o->op) ? vbs_export_channels(e, &wide) : vbs_export_dims(e, &wide);
    return vbs_export_reshape(e, &e->values[o->l->inputs[index]], &dims, name);
}

static const char *make_hint(struct export_operator *o, const char *before, const char *more)
{
    const char *word = vbs_op_word(o->op);
    size_t size = strlen(before) + strlen(word) + strlen(more) + 16;
    char *hint = vbs_arena_alloc(&o->e->arena, 1, size);

    if (hint)
        snprintf(hint, size, "vbslab%s %s%s%s", before, word, *more ? " " : "", more);
    return hint;
}

/* Gives whether the reader of the file names the operator as the first of its nodes, not as the
 * last one. */
static bool named_by_part(const struct export_operator *o)
{
    switch (o->op) {
    case VBS_OP_SHUFFLE:
    case VBS_OP_RNN:
    case VBS_OP_GRU:
    case VBS_OP_LSTM:
    case VBS_OP_EQUAL:
    case VBS_OP_LESS:
    case VBS_OP_LESS_EQUAL:
        return true;
    case VBS_OP_SCALE:
        return o->attributes->scale.bias;
    case VBS_OP_TOPK:
        return o->attributes->topk.positions;
    case VBS_OP_GRID_SAMPLE:
    case VBS_OP_DEFORM_CONV:
        return o->l->shape.n_dims == 4;
    case VBS_OP_FC:
        return o->attributes->weighted.rows && o->attributes->weighted.bias;
    default:
        return false;
    }
}

enum vbs_status vbs_export_result(struct export_operator *o, struct export_node *node,
                                  const char *more)
{
    const struct export_place place = {named_by_part(o) ? NULL : o->name,
                                       make_hint(o, "", more ? more : "")};

    if (!place.hint)
        return vbs_no_memory(o->e->ctx);
    return vbs_export_add(o->e, node, &place, o->output);
}

/* Gives whether a part has the operator's name, which no second node may have: of a recurrent
 * operator it is not one that moves what the others read or make. */
static bool is_named(const struct export_operator *o, const struct export_node *part)
{
    bool moves = strcmp(part->op, "Transpose") == 0 || strcmp(part->op, "Reshape") == 0;

    return named_by_part(o) && !(moves && vbs_op_gates(o->op) > 0);
}

enum vbs_status vbs_export_part(struct export_operator *o, struct export_node *node,
                                const char *suffix, const char **made)
{
    const struct export_place place = {is_named(o, node) ? o->name : NULL,
                                       make_hint(o, " part of", "")};

    *made = vbs_export_name(o->e, o->name, suffix);
    if (!place.hint || !*made)
        return vbs_no_memory(o->e->ctx);
    return vbs_export_add(o->e, node, &place, *made);
}
