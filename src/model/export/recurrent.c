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

/* Names functions that are not the usual ones, once for each direction. */
static void add_functions(const struct export_operator *o, struct export_node *node)
{
    static const char *const NAMES[] = {
        "",           "Tanh",        "Relu", "Sigmoid",  "Affine",  "LeakyRelu", "ThresholdedRelu",
        "ScaledTanh", "HardSigmoid", "Elu",  "Softsign", "Softplus"};
    const struct vbs_cell_function *f = o->attributes->recurrent.functions;
    int each = o->op == VBS_OP_LSTM ? 3 : o->op == VBS_OP_GRU ? 2 : 1;
    int n = each * (int)o->l->operand.dim[0], n_alpha = 0, n_beta = 0;
    const char *words[EXPORT_MAX_WORDS];
    double alpha[EXPORT_MAX_WORDS], beta[EXPORT_MAX_WORDS];

    for (int i = 0; i < n; i++) {
        enum vbs_cell_kind kind = f[i % each].kind;

        words[i] = NAMES[kind];
        if (vbs_cell_has_alpha(kind))
            alpha[n_alpha++] = f[i % each].alpha;
        if (vbs_cell_has_beta(kind))
            beta[n_beta++] = f[i % each].beta;
    }
    vbs_export_words(node, "activations", words, n);
    if (n_alpha > 0)
        vbs_export_floats(node, "activation_alpha", alpha, n_alpha);
    if (n_beta > 0)
        vbs_export_floats(node, "activation_beta", beta, n_beta);
}

static void add_attributes(const struct export_operator *o, struct export_node *node)
{
    static const char *const DIRECTIONS[] = {"forward", "reverse", "bidirectional"};
    static const char *const FUNCTIONS[] = {"Tanh", "Relu", "Sigmoid"};
    const union vbs_attributes *a = o->attributes;
    const char *function = FUNCTIONS[a->recurrent.function];
    const char *const both[] = {function, function};

    vbs_export_int(node, "hidden_size", a->recurrent.hidden);
    vbs_export_word(node, "direction", DIRECTIONS[a->recurrent.direction]);
    if (a->recurrent.functions[0].kind != VBS_CELL_USUAL)
        add_functions(o, node);
    else if (o->op == VBS_OP_RNN)
        vbs_export_words(node, "activations", both, (int)o->l->operand.dim[0]);
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

/* Reads input index of the operator, a first state [directions, hidden], as the node does. */
static enum vbs_status read_first(struct export_operator *o, int index, struct export_node *node)
{
    static const int64_t PERM[] = {1, 0, 2};
    const struct vbs_shape *view = &o->l->views[index];
    const struct export_dims dims = {3, {view->dim[0], 1, view->dim[1]}};
    struct export_value value = {.dims = vbs_export_dims(o->e, view)};
    const char *from;

    VBS_TRY(vbs_export_input(o, index, 0, &value.name));
    if (o->e->network->whole)
        VBS_TRY(vbs_export_reshape(o->e, &value, &dims, &from));
    else
        VBS_TRY(transpose(o, value.name, PERM, 3, index == 1 ? ".first" : ".memory", &from));
    vbs_export_reads(node, from);
    return VBS_OK;
}

/* Reads the sequence as the node does, with the samples behind its elements. */
static enum vbs_status read_sequence(struct export_operator *o, struct export_node *node)
{
    static const int64_t PERM[] = {1, 0, 2};
    const struct vbs_shape *view = &o->l->views[0];
    const struct export_dims dims = {3, {view->dim[0], 1, view->dim[1]}};
    struct export_value value = o->in;
    const char *from;

    if (o->l->n_inputs > 1) {
        VBS_TRY(vbs_export_input(o, 0, 0, &value.name));
        value.dims = vbs_export_dims(o->e, view);
    }
    if (o->e->network->whole)
        VBS_TRY(vbs_export_reshape(o->e, &value, &dims, &from));
    else
        VBS_TRY(transpose(o, value.name, PERM, 3, ".sequence", &from));
    vbs_export_reads(node, from);
    return VBS_OK;
}

/* Makes of an output of the node [elements, directions, samples, hidden], or without elements, a
 * node that gives it the shape [samples, rows, directions hidden]. */
static enum vbs_status begin_rows(struct export_operator *o, const char *output, bool is_state,
                                  int64_t rows, const char *suffix, struct export_node *node)
{
    static const int64_t ALL[] = {2, 0, 1, 3}, LAST[] = {1, 0, 2};
    const struct vbs_shape shape = {2, {rows, o->l->shape.dim[1]}};
    const struct export_dims dims = vbs_export_dims(o->e, &shape);
    const char *numbers;

    *node = vbs_export_node("Reshape");
    if (!o->e->network->whole)
        VBS_TRY(transpose(o, output, is_state ? LAST : ALL, is_state ? 3 : 4, suffix, &output));
    vbs_export_reads(node, output);
    VBS_TRY(vbs_export_numbers(o->e, o->name, ".shape", dims.dim, dims.n, NULL, &numbers));
    vbs_export_reads(node, numbers);
    return VBS_OK;
}

/* Joins the states of all elements, made, with the last states and memories, last. */
static enum vbs_status join_rows(struct export_operator *o, const char *made,
                                 const char *const *last)
{
    static const char *const SUFFIXES[] = {".last", ".cell"};
    struct export_node part, joined = vbs_export_node("Concat");
    const char *rows;

    VBS_TRY(begin_rows(o, made, false, o->l->views[0].dim[0], ".samples", &part));
    VBS_TRY(vbs_export_part(o, &part, ".rows", &rows));
    vbs_export_reads(&joined, rows);
    for (int i = 0; i < 2; i++) {
        VBS_TRY(begin_rows(o, last[i], true, 1, SUFFIXES[i], &part));
        VBS_TRY(vbs_export_part(o, &part, ".rows", &rows));
        vbs_export_reads(&joined, rows);
    }
    vbs_export_int(&joined, "axis", o->e->network->whole ? 0 : 1);
    return vbs_export_result(o, &joined, NULL);
}

enum vbs_status vbs_export_recurrent(struct export_operator *o)
{
    const struct vbs_shape *view = &o->l->views[0], *state = &o->l->operand;
    struct export_node node = vbs_export_node(o->op == VBS_OP_LSTM  ? "LSTM"
                                              : o->op == VBS_OP_GRU ? "GRU"
                                                                    : "RNN");
    bool peepholes = o->attributes->recurrent.peepholes;
    struct export_node reshape;
    const char *made;

    VBS_TRY(read_sequence(o, &node));
    VBS_TRY(add_parameter(o, &node, VBS_PARAMETER_WEIGHTS, state->dim[1], view->dim[1]));
    VBS_TRY(add_parameter(o, &node, VBS_PARAMETER_OPERAND, state->dim[1], state->dim[2]));
    if (o->attributes->recurrent.bias)
        VBS_TRY(add_parameter(o, &node, VBS_PARAMETER_BIAS, 2 * state->dim[1], 0));
    else if (o->l->n_inputs > 1 || peepholes)
        vbs_export_reads(&node, "");
    if (o->l->n_inputs > 1 || peepholes)
        vbs_export_reads(&node, "");
    for (int i = 1; i < o->l->n_inputs; i++)
        VBS_TRY(read_first(o, i, &node));
    for (int i = o->l->n_inputs; i < 3 && peepholes; i++)
        vbs_export_reads(&node, "");
    if (peepholes)
        VBS_TRY(add_parameter(o, &node, VBS_PARAMETER_GAMMA, 3 * state->dim[2], 0));
    add_attributes(o, &node);
    for (int i = 0; i < 2 && o->attributes->recurrent.cells; i++) {
        node.more[i] = vbs_export_name(o->e, o->name, i == 0 ? ".y_h" : ".y_c");
        if (!node.more[i])
            return vbs_no_memory(o->e->ctx);
        node.n_more++;
    }
    VBS_TRY(vbs_export_part(o, &node, ".states", &made));
    if (node.n_more > 0)
        return join_rows(o, made, node.more);
    VBS_TRY(begin_rows(o, made, false, o->l->shape.dim[0], ".samples", &reshape));
    return vbs_export_result(o, &reshape, NULL);
}
