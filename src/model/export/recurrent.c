/*
 * Recurrent operators. ONNX has the elements of a sequence before the samples, so that a Transpose
 * comes before the node and another one behind it, where there are samples.
 */
#include "model/export/export.h"

#include "base/fail.h"

/* Adds a parameter of so many values for each direction and row; rows: of the gates. */
static enum vbs_status add_parameter(struct export_operator *o, struct export_node *node,
                                     enum vbs_parameter what, int64_t rows, int64_t columns)
{
    const struct export_dims dims = {columns > 0 ? 3 : 2, {o->l->operand.dim[0], rows, columns}};
    const char *name;

    VBS_TRY(vbs_export_parameter(o->e, o->layer, -1, what, &dims, &name));
    vbs_export_reads(node, name);
    return VBS_OK;
}

static void add_attributes(const struct export_operator *o, struct export_node *node)
{
    static const char *const DIRECTIONS[] = {"forward", "reverse", "bidirectional"};
    static const char *const FUNCTIONS[] = {"Tanh", "Relu", "Sigmoid"};
    const union vbs_attributes *a = o->attributes;
    const char *function = FUNCTIONS[a->recurrent.function];

    vbs_export_int(node, "hidden_size", a->recurrent.hidden);
    vbs_export_word(node, "direction", DIRECTIONS[a->recurrent.direction]);
    if (o->op == VBS_OP_RNN)
        vbs_export_words(node, "activations", function, (int)o->l->operand.dim[0]);
    if (o->op == VBS_OP_GRU)
        vbs_export_int(node, "linear_before_reset", a->recurrent.reset_after);
}

/* Appends a node that exchanges dimensions of samples; *made is its output. */
static enum vbs_status transpose(struct export_operator *o, const char *from, const int64_t *perm,
                                 int n, const char *suffix, const char **made)
{
    struct export_node node = vbs_export_node("Transpose");

    vbs_export_reads(&node, from);
    vbs_export_ints(&node, "perm", perm, n);
    return vbs_export_part(o, &node, suffix, made);
}

enum vbs_status vbs_export_recurrent(struct export_operator *o)
{
    static const int64_t BEFORE[] = {1, 0, 2}, BEHIND[] = {2, 0, 1, 3};
    const struct vbs_shape *view = &o->l->views[0], *state = &o->l->operand;
    const struct export_dims sequence = {3, {view->dim[0], 1, view->dim[1]}};
    const struct export_dims dims = vbs_export_dims(o->e, &o->l->shape);
    struct export_node node = vbs_export_node(o->op == VBS_OP_LSTM  ? "LSTM"
                                              : o->op == VBS_OP_GRU ? "GRU"
                                                                    : "RNN");
    struct export_node reshape = vbs_export_node("Reshape");
    bool whole = o->e->network->whole;
    const char *from = o->in.name, *made, *shape;

    if (whole)
        VBS_TRY(vbs_export_reshape(o->e, &o->in, &sequence, &from));
    else
        VBS_TRY(transpose(o, o->in.name, BEFORE, 3, ".sequence", &from));
    vbs_export_reads(&node, from);
    VBS_TRY(add_parameter(o, &node, VBS_PARAMETER_WEIGHTS, state->dim[1], view->dim[1]));
    VBS_TRY(add_parameter(o, &node, VBS_PARAMETER_OPERAND, state->dim[1], state->dim[2]));
    if (o->attributes->recurrent.bias)
        VBS_TRY(add_parameter(o, &node, VBS_PARAMETER_BIAS, 2 * state->dim[1], 0));
    add_attributes(o, &node);
    VBS_TRY(vbs_export_part(o, &node, ".states", &made));
    if (!whole)
        VBS_TRY(transpose(o, made, BEHIND, 4, ".samples", &made));
    vbs_export_reads(&reshape, made);
    VBS_TRY(vbs_export_numbers(o->e, o->name, ".shape", dims.dim, dims.n, NULL, &shape));
    vbs_export_reads(&reshape, shape);
    return vbs_export_result(o, &reshape, NULL);
}
