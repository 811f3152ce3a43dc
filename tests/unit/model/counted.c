/*
 * Networks whose values depend on the number of samples, and others in which it is only a size.
 * Each is written with an open batch, [N, 3]. Of the first kind the samples are whole inputs, the
 * network says which node decides, and a whole input of N samples has the outputs that a formula
 * gives; of the second kind every sample is computed alone, to the same outputs.
 */
#include "vbslab/model.h"

#include "cases/onnx_bytes.h"
#include "reference/backend/ops.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES   4
#define COLUMNS   3
#define MOST      (SAMPLES * COLUMNS)
#define MOST_NODE 13

enum { FLOAT = 1, INT64 = 7 };

static char folder[] = "/tmp/t_counted.XXXXXX";
static char path[100];

/* A node "Op inputs > outputs", with one attribute at most: a number, or a list of them. */
struct line {
    const char *op, *inputs, *outputs, *attribute;
    int n; /* of the list; 0: the attribute is a number */
    int64_t value, list[3];
};

/* A network; add_constants() has the constants that its nodes may read. */
struct counted {
    const char *what, *decides; /* the node's output; null: the samples are independent */
    float (*want)(float x, int sample, int column, const float *all);
    struct line nodes[MOST_NODE];
};

/* ---- what comes out: x of a sample, and all values ---- */

static float times_n(float x, int s, int c, const float *all)
{
    (void)s, (void)c, (void)all;
    return x * SAMPLES;
}

static float times_size(float x, int s, int c, const float *all)
{
    (void)s, (void)c, (void)all;
    return x * SAMPLES * COLUMNS;
}

static float plus_position(float x, int s, int c, const float *all)
{
    (void)c, (void)all;
    return x + (float)s;
}

static float by_n(float x, int s, int c, const float *all)
{
    (void)s, (void)c, (void)all;
    return x + 1.0F / SAMPLES;
}

static float upper(float x, int s, int c, const float *all)
{
    (void)all;
    return x + (c >= s ? 1 : 0);
}

static float first_only(float x, int s, int c, const float *all)
{
    (void)c, (void)all;
    return x + (s == 0 ? 1 : 0);
}

static float at_most_n(float x, int s, int c, const float *all)
{
    (void)s, (void)c, (void)all;
    return fminf(x, SAMPLES);
}

static float negated(float x, int s, int c, const float *all)
{
    (void)s, (void)c, (void)all;
    return -x;
}

static float less_mean(float x, int s, int c, const float *all)
{
    float sum = 0;

    (void)s;
    for (int i = 0; i < SAMPLES; i++)
        sum += all[i * COLUMNS + c];
    return x - sum / SAMPLES;
}

static float less_first(float x, int s, int c, const float *all)
{
    (void)s;
    return x - all[c];
}

static float sum_of_all(float x, int s, int c, const float *all)
{
    (void)x, (void)s;
    return less_mean(0, 0, c, all) * -SAMPLES;
}

static float times_columns(float x, int s, int c, const float *all)
{
    (void)s, (void)c, (void)all;
    return x * COLUMNS;
}

static float plus_row(float x, int s, int c, const float *all)
{
    (void)s, (void)all;
    return x + (float)(c + 1);
}

static float plus_three(float x, int s, int c, const float *all)
{
    (void)s, (void)c, (void)all;
    return x + 3;
}

static float plus_third(float x, int s, int c, const float *all)
{
    (void)s, (void)c, (void)all;
    return x + 1.0F / COLUMNS;
}

static float backwards(float x, int s, int c, const float *all)
{
    (void)x;
    return all[s * COLUMNS + COLUMNS - 1 - c];
}

static float last_first(float x, int s, int c, const float *all)
{
    (void)x;
    return all[(SAMPLES - 1 - s) * COLUMNS + COLUMNS - 1 - c];
}

static float overlapping(float x, int s, int c, const float *all)
{
    (void)x;
    return all[2 * s + COLUMNS - 1 - c];
}

static int best_of(const float *row)
{
    int best = 0;

    for (int c = 1; c < COLUMNS; c++)
        best = row[c] > row[best] ? c : best;
    return best;
}

static float less_most(float x, int s, int c, const float *all)
{
    (void)c;
    return x - all[s * COLUMNS + best_of(all + s * COLUMNS)];
}

static float less_shifted(float x, int s, int c, const float *all)
{
    (void)c;
    return x - all[s + best_of(all + s * COLUMNS)];
}

/* The last sample has no column of its number. */
static float less_turned(float x, int s, int c, const float *all)
{
    (void)c;
    return x - (s < COLUMNS ? all[best_of(all + s * COLUMNS) * COLUMNS + s] : 0);
}

static float plus_best(float x, int s, int c, const float *all)
{
    (void)c;
    return x + (float)(s + best_of(all + s * COLUMNS));
}

#define FLOATS                                                                                     \
    "to", 0, FLOAT,                                                                                \
    {                                                                                              \
        0                                                                                          \
    }
#define AXIS(at)                                                                                   \
    "axis", 0, at,                                                                                 \
    {                                                                                              \
        0                                                                                          \
    }
#define NONE                                                                                       \
    NULL, 0, 0,                                                                                    \
    {                                                                                              \
        0                                                                                          \
    }

/* N as [1] whole number and as a float, and copies of a row for each sample. */
#define N_OF_X                                                                                     \
    {"Shape", "x", "shape", NONE}, {"Gather", "shape zero", "n", NONE},                            \
    {                                                                                              \
        "Cast", "n", "nf", FLOATS                                                                  \
    }
#define COPIES                                                                                     \
    {"Shape", "x", "shape", NONE},                                                                 \
    {                                                                                              \
        "Expand", "ones shape", "copies", NONE                                                     \
    }

/* The positions of samples; what GatherND and Gather choose by rows of them and of columns. */
#define POSITIONS                                                                                  \
    {"Shape", "x", "shape", NONE}, {"Gather", "shape scalar", "n", NONE},                          \
    {                                                                                              \
        "Range", "nought n unit", "range", NONE                                                    \
    }
#define CHOSEN                                                                                     \
    {"Concat", "shape one", "wide", AXIS(0)}, {"Expand", "rows wide", "rowed", NONE},              \
        {"Unsqueeze", "back last", "back1", NONE}, {"Expand", "back1 wide", "columned", NONE},     \
        {"Concat", "rowed columned", "places", AXIS(2)},                                           \
    {                                                                                              \
        "GatherND", "x places", "y", NONE                                                          \
    }
#define STRIDED                                                                                    \
    {"Reshape", "x minus", "flat", NONE}, {"Add", "rows back", "places", NONE},                    \
    {                                                                                              \
        "Gather", "flat places", "y", NONE                                                         \
    }

/* The place of each sample's largest element, beside the position of the sample. */
#define BEST                                                                                       \
    POSITIONS, {"Unsqueeze", "range one", "column", NONE},                                         \
    {                                                                                              \
        "ArgMax", "x", "best", AXIS(1)                                                             \
    }
#define LESS                                                                                       \
    {"Reshape", "taken rowwise", "row1", NONE},                                                    \
    {                                                                                              \
        "Sub", "x row1", "y", NONE                                                                 \
    }

static const struct counted CASES[] = {
    {"x times its number of samples", "y", times_n, {N_OF_X, {"Mul", "x nf", "y", NONE}}},
    {"x times Size(x)",
     "y",
     times_size,
     {{"Size", "x", "size", NONE},
      {"Cast", "size", "sizef", FLOATS},
      {"Mul", "x sizef", "y", NONE}}},
    {"x times the sum of ones, one for each sample",
     "sum",
     times_n,
     {{"Shape", "x", "shape", NONE},
      {"Gather", "shape zero", "n", NONE},
      {"ConstantOfShape", "n", "zeros", NONE},
      {"Exp", "zeros", "each", NONE},
      {"ReduceSum", "each", "sum", NONE},
      {"Mul", "x sum", "y", NONE}}},
    {"x times the size of copies",
     "y",
     times_size,
     {COPIES,
      {"Size", "copies", "size", NONE},
      {"Cast", "size", "sizef", FLOATS},
      {"Mul", "x sizef", "y", NONE}}},
    {"x times the first dimension of copies",
     "y",
     times_n,
     {COPIES,
      {"Shape", "copies", "again", NONE},
      {"Gather", "again zero", "n", NONE},
      {"Cast", "n", "nf", FLOATS},
      {"Mul", "x nf", "y", NONE}}},
    {"a softmax over copies",
     "soft",
     by_n,
     {COPIES, {"Softmax", "copies", "soft", AXIS(0)}, {"Add", "x soft", "y", NONE}}},
    {"the number of elements that are not 0",
     "places",
     times_size,
     {COPIES,
      {"NonZero", "copies", "places", NONE},
      {"Size", "places", "twice", NONE},
      {"Cast", "twice", "twicef", FLOATS},
      {"Mul", "x twicef", "z", NONE},
      {"Mul", "z half", "y", NONE}}},
    {"a triangle of copies",
     "triangle",
     upper,
     {COPIES, {"Trilu", "copies", "triangle", NONE}, {"Add", "x triangle", "y", NONE}}},
    {"one row of copies that is replaced",
     "replaced",
     first_only,
     {COPIES,
      {"Sub", "copies copies", "zeros", NONE},
      {"ScatterND", "zeros spot ones", "replaced", NONE},
      {"Add", "x replaced", "y", NONE}}},
    {"copies in rows and columns",
     "product",
     times_n,
     {COPIES,
      {"Transpose", "copies", "turned", NONE},
      {"MatMul", "turned copies", "product", NONE},
      {"Slice", "product zero one zero", "line", NONE},
      {"Mul", "x line", "y", NONE}}},
    {"copies in one row",
     "flat",
     times_size,
     {COPIES,
      {"Reshape", "copies minus", "flat", NONE},
      {"ReduceSum", "flat", "sum", NONE},
      {"Mul", "x sum", "y", NONE}}},
    {"one row more than copies",
     "longer",
     by_n,
     {COPIES,
      {"Pad", "copies pads", "longer", NONE},
      {"ReduceSum", "longer", "sum", NONE},
      {"Div", "sum sum", "whole", NONE},
      {"Shape", "x", "shape2", NONE},
      {"Gather", "shape2 zero", "n", NONE},
      {"Cast", "n", "nf", FLOATS},
      {"Div", "whole nf", "part", NONE},
      {"Add", "x part", "y", NONE}}},
    {"a bound of Clip",
     "y",
     at_most_n,
     {{"Shape", "x", "shape", NONE},
      {"Gather", "shape scalar", "n", NONE},
      {"Cast", "n", "nf", FLOATS},
      {"Clip", "x - nf", "y", NONE}}},
    {"a choice by the number of samples",
     "y",
     negated,
     {{"Shape", "x", "shape", NONE},
      {"Gather", "shape zero", "n", NONE},
      {"Equal", "n one", "alone", NONE},
      {"Neg", "x", "minus_x", NONE},
      {"Where", "alone x minus_x", "y", NONE}}},
    {"the positions of samples",
     "y",
     plus_position,
     {{"Shape", "x", "shape", NONE},
      {"Gather", "shape scalar", "n", NONE},
      {"Range", "nought n unit", "range", NONE},
      {"Cast", "range", "rangef", FLOATS},
      {"Unsqueeze", "rangef one", "column", NONE},
      {"Add", "x column", "y", NONE}}},
    {"the mean of all samples",
     "mean",
     less_mean,
     {{"ReduceMean", "x", "mean", "axes", 1, 0, {0}}, {"Sub", "x mean", "y", NONE}}},
    {"the first sample",
     "first",
     less_first,
     {{"Gather", "x zero", "first", NONE}, {"Sub", "x first", "y", NONE}}},
    {"ones times x",
     "zeros",
     sum_of_all,
     {{"Shape", "x", "shape", NONE},
      {"Gather", "shape zero", "n", NONE},
      {"Concat", "n n", "sides", AXIS(0)},
      {"ConstantOfShape", "sides", "zeros", NONE},
      {"Exp", "zeros", "each", NONE},
      {"MatMul", "each x", "y", NONE}}},
    {"elements that samples choose by other positions",
     "y",
     last_first,
     {POSITIONS,
      {"Sub", "n range", "above", NONE},
      {"Sub", "above one", "other", NONE},
      {"Unsqueeze", "other both", "rows", NONE},
      CHOSEN}},
    {"strides that overlap",
     "y",
     overlapping,
     {POSITIONS,
      {"Add", "range range", "twice", NONE},
      {"Unsqueeze", "twice one", "rows", NONE},
      STRIDED}},
    {"computed places beside positions that are too near",
     "taken",
     less_shifted,
     {BEST,
      {"Add", "column best", "places", NONE},
      {"Reshape", "x minus", "flat", NONE},
      {"Gather", "flat places", "taken", NONE},
      LESS}},
    {"computed places of samples, and positions in them",
     "places",
     less_turned,
     {BEST,
      {"Concat", "best column", "places", AXIS(1)},
      {"GatherND", "x places", "taken", NONE},
      LESS}},
    {"computed places and positions as a value",
     "value",
     plus_best,
     {BEST,
      {"Add", "best column", "places", NONE},
      {"Cast", "places", "value", FLOATS},
      {"Add", "x value", "y", NONE}}},
    /* sizes only */
    {"a computed place of each sample among the elements of all",
     NULL,
     less_most,
     {BEST,
      {"Mul", "columns column", "first", NONE},
      {"Add", "best first", "places", NONE},
      {"Reshape", "x minus", "flat", NONE},
      {"Gather", "flat places", "taken", NONE},
      LESS}},
    {"a computed place of each sample behind its position",
     NULL,
     less_most,
     {BEST,
      {"Concat", "column best", "places", AXIS(1)},
      {"GatherND", "x places", "taken", NONE},
      LESS}},
    {"the same, in the shape of both",
     NULL,
     less_most,
     {BEST,
      {"Max", "column best", "largest", NONE},
      {"Shape", "largest", "wide", NONE},
      {"Expand", "column wide", "rowed", NONE},
      {"Expand", "best wide", "columned", NONE},
      {"Concat", "rowed columned", "places", AXIS(1)},
      {"GatherND", "x places", "taken", NONE},
      LESS}},
    {"elements that each sample chooses by its position",
     NULL,
     backwards,
     {POSITIONS, {"Unsqueeze", "range both", "rows", NONE}, CHOSEN}},
    {"strides within each sample",
     NULL,
     backwards,
     {POSITIONS,
      {"Mul", "range columns", "first", NONE},
      {"Unsqueeze", "first one", "rows", NONE},
      STRIDED}},
    {"a first state that a Gemm takes",
     NULL,
     plus_row,
     {{"Shape", "x", "shape", NONE},
      {"ConstantOfShape", "shape", "state", NONE},
      {"Gemm", "state square row", "next", NONE},
      {"Add", "x next", "y", NONE}}},
    {"x times its columns",
     NULL,
     times_columns,
     {{"Shape", "x", "shape", NONE},
      {"Gather", "shape one", "c", NONE},
      {"Cast", "c", "cf", FLOATS},
      {"Mul", "x cf", "y", NONE}}},
    {"a row for each sample",
     NULL,
     plus_row,
     {{"Shape", "x", "shape", NONE},
      {"Expand", "row shape", "rows", NONE},
      {"Add", "x rows", "y", NONE}}},
    {"the sum of the copies of a sample",
     NULL,
     plus_three,
     {COPIES, {"ReduceSum", "copies one", "sum", NONE}, {"Add", "x sum", "y", NONE}}},
    {"a softmax within the copies of a sample",
     NULL,
     plus_third,
     {COPIES, {"Softmax", "copies", "soft", AXIS(1)}, {"Add", "x soft", "y", NONE}}},
    {"copies that are turned twice",
     NULL,
     plus_row,
     {{"Shape", "x", "shape", NONE},
      {"Expand", "row shape", "rows", NONE},
      {"Transpose", "rows", "turned", NONE},
      {"Unsqueeze", "turned zero", "wide", NONE},
      {"Squeeze", "wide zero", "narrow", NONE},
      {"Transpose", "narrow", "again", NONE},
      {"Add", "x again", "y", NONE}}},
    {"copies of the shape of copies",
     NULL,
     plus_row,
     {COPIES,
      {"Shape", "copies", "again", NONE},
      {"Expand", "row again", "rows", NONE},
      {"Add", "x rows", "y", NONE}}},
    {"the product of copies and a matrix",
     NULL,
     plus_three,
     {COPIES, {"MatMul", "copies square", "product", NONE}, {"Add", "x product", "y", NONE}}},
};

/* ---- the files ---- */

static void add_longs(struct bytes *graph, const char *name, int n, const int64_t *values)
{
    onnx_add_tensor(graph, onnx_longs(name, n, values));
}

static void add_constants(struct bytes *graph)
{
    static const float ROW[] = {1, 2, 3};
    const int64_t one = 1, zero = 0;

    onnx_add_values(graph, "row", FLOAT, 1, (int64_t[]){3}, ROW);
    add_longs(graph, "zero", 1, &zero);
    add_longs(graph, "one", 1, &one);
    add_longs(graph, "minus", 1, (int64_t[]){-1});
    add_longs(graph, "rowwise", 2, (int64_t[]){-1, 1});
    add_longs(graph, "pads", 4, (int64_t[]){0, 0, 1, 0});
    add_longs(graph, "both", 2, (int64_t[]){1, 2});
    add_longs(graph, "last", 1, (int64_t[]){2});
    add_longs(graph, "columns", 1, (int64_t[]){COLUMNS});
    onnx_add_values(graph, "back", INT64, 2, (int64_t[]){1, COLUMNS}, (int64_t[]){2, 1, 0});
    onnx_add_tensor(graph, onnx_floats("ones", 1, 2, (int64_t[]){1, 3}));
    onnx_add_tensor(graph, onnx_floats("square", 1, 2, (int64_t[]){3, 3}));
    onnx_add_tensor(graph, onnx_floats("half", 0.5F, 0, NULL));
    onnx_add_values(graph, "spot", INT64, 2, (int64_t[]){1, 1}, &zero);
    onnx_add_values(graph, "nought", INT64, 0, NULL, &zero);
    onnx_add_values(graph, "unit", INT64, 0, NULL, &one);
    onnx_add_values(graph, "scalar", INT64, 0, NULL, &zero);
}

/* Makes an input of floats whose shape the file does not say. */
static struct bytes unshaped(const char *name)
{
    struct bytes value = {0}, tensor = {0}, any = {0};

    bytes_int(&tensor, 1, FLOAT);
    bytes_put(&any, 1, &tensor);
    bytes_text(&value, 1, name);
    bytes_put(&value, 2, &any);
    return value;
}

/* Writes a network; shaped: the file says the shape of its input. */
static void write_case(const struct counted *c, bool shaped)
{
    struct bytes graph = {0}, value = onnx_value("x", FLOAT, 2, (int64_t[]){0, COLUMNS}), model;

    if (!shaped) {
        bytes_clear(&value);
        value = unshaped("x");
    }

    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    add_constants(&graph);
    for (int i = 0; i < MOST_NODE && c->nodes[i].op; i++) {
        const struct line *l = &c->nodes[i];
        struct bytes node = onnx_node(l->op, l->inputs, l->outputs);

        if (l->attribute && l->n > 0)
            onnx_attribute_ints(&node, l->attribute, l->n, l->list);
        else if (l->attribute)
            onnx_attribute_int(&node, l->attribute, l->value);
        onnx_add_node(&graph, node);
    }
    model = onnx_model(17, &graph);
    if (!bytes_write(&model, path))
        bail_out("cannot write %s", path);
    bytes_clear(&model);
}

/* ---- the checks ---- */

static struct vbs_network *load(const struct vbs_shape *input)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_network_load(&ctx, path, input, &network) == VBS_OK)
        return network;
    printf("# %s\n", vbs_detail(&ctx));
    return NULL;
}

/* Computes the only output for samples that follow each other in x. */
static void compute(const struct vbs_network *network, const float *x, float *y)
{
    int64_t each = vbs_shape_elements(&network->input);
    int last = network->outputs[0].layer;

    for (int64_t s = 0; s * each < MOST; s++) {
        float *tensors[MOST_NODE * 8] = {NULL};
        const float *inputs[4];

        tensors[0] = malloc((size_t)each * sizeof(float));
        if (!tensors[0] || network->n_layers >= MOST_NODE * 8)
            bail_out("a network of %d layers", network->n_layers);
        memcpy(tensors[0], x + s * each, (size_t)each * sizeof(float));
        for (int k = 1; k <= network->n_layers; k++) {
            for (int i = 0; i < network->layers[k].n_inputs && i < 4; i++)
                inputs[i] = tensors[network->layers[k].inputs[i]];
            tensors[k] = reference_layer(network, k, inputs);
        }
        memcpy(y + s * each, tensors[last],
               (size_t)vbs_shape_elements(&network->layers[last].shape) * sizeof(float));
        for (int k = 0; k <= network->n_layers; k++)
            free(tensors[k]);
    }
}

static void check_values(const struct counted *c, const struct vbs_network *network)
{
    float x[MOST], y[MOST];
    double most = 0;

    for (int i = 0; i < MOST; i++)
        x[i] = (float)(i * 5 % 13) - 5.5F;
    compute(network, x, y);
    for (int i = 0; i < MOST; i++)
        most = fmax(most, fabs((double)y[i] - (double)c->want(x[i], i / COLUMNS, i % COLUMNS, x)));
    ok(most < 1e-5, "%s: its outputs (off by %g)", c->what, most);
}

static void check_case(const struct counted *c)
{
    const struct vbs_shape all = {2, {SAMPLES, COLUMNS}};
    struct vbs_network *network;
    char name[100];

    write_case(c, true);
    network = load(NULL);
    if (!ok(network && network->whole == (c->decides != NULL), "%s: samples are %s", c->what,
            c->decides ? "whole inputs" : "independent")) {
        vbs_network_free(network);
        return;
    }
    snprintf(name, sizeof name, "node '%s' ", c->decides ? c->decides : "");
    if (c->decides) {
        ok(network->whole_open && network->input.dim[0] == 1, "%s: of one, unless given", c->what);
        if (!ok(network->whole_why && strncmp(network->whole_why, name, strlen(name)) == 0,
                "%s: decided by %s", c->what, c->decides))
            printf("# %s\n", network->whole_why ? network->whole_why : "nothing");
        vbs_network_free(network);
        network = load(&all);
    }
    if (ok(network != NULL, "%s: it is read", c->what))
        check_values(c, network);
    vbs_network_free(network);
}

/* Writes y = x[n, 2 - c] of so many samples, by indices that the file has as numbers; shift is
 * added to the positions. */
static void write_fixed(int64_t n, int64_t shift)
{
    int64_t places[SAMPLES * COLUMNS * 2];
    struct bytes graph = {0}, value = onnx_value("x", FLOAT, 2, (int64_t[]){n, COLUMNS}), model;

    for (int64_t i = 0; i < n * COLUMNS; i++) {
        places[2 * i] = (i / COLUMNS + shift) % n;
        places[2 * i + 1] = COLUMNS - 1 - i % COLUMNS;
    }
    onnx_add_values(&graph, "places", INT64, 3, (int64_t[]){n, COLUMNS, 2}, places);
    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    onnx_add_node(&graph, onnx_node("GatherND", "x places", "y"));
    model = onnx_model(17, &graph);
    if (!bytes_write(&model, path))
        bail_out("cannot write %s", path);
    bytes_clear(&model);
}

/* Files of a fixed batch have positions of samples as numbers. */
static void check_fixed(void)
{
    static const struct counted fixed = {.what = "positions in a fixed batch", .want = backwards};

    struct vbs_network *network;

    for (int64_t n = 1; n <= SAMPLES; n += SAMPLES - 1) {
        write_fixed(n, 0);
        network = load(NULL);
        if (ok(network && !network->whole, "%s of %d: samples are independent", fixed.what, (int)n))
            check_values(&fixed, network);
        vbs_network_free(network);
    }
    write_fixed(SAMPLES, 1);
    network = load(NULL);
    ok(network && network->whole && !network->whole_open,
       "positions of other samples: they are whole inputs");
    vbs_network_free(network);
}

/* A file need not say the shape of its input: the shape of a sample leaves the samples open, too.
 */
static void check_unknown_shape(void)
{
    const struct vbs_shape sample = {1, {COLUMNS}};
    struct vbs_network *network;

    write_case(&CASES[0], false);
    network = load(&sample);
    ok(network && network->whole && network->whole_open && network->whole_why,
       "an input without a shape: the samples are open where that of one is given");
    vbs_network_free(network);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        check_case(&CASES[i]);
    check_unknown_shape();
    check_fixed();
    unlink(path);
    rmdir(folder);
    return done_testing();
}
