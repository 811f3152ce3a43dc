#include "cases/backend_cases.h"

#include <stdio.h>
#include <string.h>

const struct backend_case backend_cases[] = {
    {"first layer, from a plain image", "input 3x23x23\n"
                                        "conv c out=32 kernel=5 stride=2 pad=2\nrelu r\n"},
    {"3x3 of stride 1, where Winograd applies", "input 32x14x14\n"
                                                "conv c out=64 kernel=3 pad=1\nrelu r\n"},
    {"1x1, where GEMM applies", "input 64x7x7\nconv c out=48 kernel=1\nrelu r\n"},
    {"1x1 of stride 2", "input 32x9x9\nconv c out=64 kernel=1 stride=2\n"},
    {"5x5 on padded channels", "input 24x9x9\nconv c out=20 kernel=5 pad=2\nrelu r\n"},
    {"3x3 on padded channels", "input 20x8x8\nconv c out=30 kernel=3 pad=1\n"},
    {"without bias", "input 16x8x8\nconv c out=16 kernel=3 pad=1 bias=no\n"},
    {"unequal kernel, stride and padding",
     "input 16x12x11\nconv c out=32 kernel=3x5 stride=2x1 pad=0x1:1x3\n"},
    {"dilation", "input 16x13x13\nconv c out=16 kernel=3 dilation=2 pad=2\nrelu r\n"},
    {"two groups of whole blocks", "input 32x9x9\nconv c out=64 kernel=3 pad=1 groups=2\nrelu r\n"},
    {"groups of part blocks", "input 24x7x7\nconv c out=36 kernel=3 pad=1 groups=3\n"},
    {"depthwise", "input 32x11x11\nconv c out=32 kernel=3 stride=2 pad=1 groups=32\nrelu r\n"},
    {"depthwise on padded channels", "input 24x9x9\nconv c out=24 kernel=3 pad=1 groups=24\n"},
    {"depthwise with a multiplier", "input 16x7x7\nconv c out=32 kernel=3 pad=1 groups=16\n"},
    {"from five plain channels", "input 5x9x9\nconv c out=16 kernel=3 pad=1\nrelu r\n"},
    {"to three plain channels", "input 16x9x9\nconv c out=3 kernel=3 pad=1\nrelu r\n"},
    {"from three plain channels to two", "input 3x9x9\nconv c out=2 kernel=3\n"},
    {"from two plain channels to three", "input 2x6x6\nconv c out=3 kernel=3 pad=1\nrelu r\n"},
    {"two groups of four channels", "input 8x7x7\nconv c out=8 kernel=3 groups=2\nrelu r\n"},
    {"one dimension", "input 16x40\nconv c out=32 kernel=5 stride=2 pad=2\nrelu r\n"
                      "maxpool p kernel=3 stride=2\navgpool q kernel=3\nlrn n size=5 alpha=0.1 "
                      "beta=0.75\n"},
    {"three dimensions", "input 3x6x10x10\nconv c out=32 kernel=3 pad=1\nrelu r\n"
                         "maxpool p kernel=1x2x2 stride=1x2x2\nconv d out=20 kernel=3 pad=1\n"
                         "maxpool q kernel=2 stride=2 pad=0x1x1\nlrn n size=5 alpha=0.1 "
                         "beta=0.75\nfc f out=11\n"},
    {"BatchNorm and Scale folded, then ReLU",
     "input 16x8x8\nconv c out=32 kernel=3 pad=1\nbatchnorm b affine=no\nscale s\nrelu r\n"},
    {"BatchNorm folded without bias", "input 16x8x8\nconv c out=20 kernel=1 bias=no\n"
                                      "batchnorm b\ndropout d\nscale s bias=no\n"},
    {"BatchNorm after ReLU", "input 16x8x8\nconv c out=20 kernel=3 pad=1\nrelu r\nbatchnorm b\n"
                             "relu t\n"},
    {"BatchNorm folded into depthwise", "input 24x8x8\nconv c out=24 kernel=3 groups=24 bias=no\n"
                                        "batchnorm b\nrelu r\n"},
    {"fc", "input 100\nfc f out=50\nrelu r\ndropout d\nfc g out=10 bias=no\nsoftmax p\n"},
    {"fc on blocked channels", "input 32x5x5\nfc f out=33\nbatchnorm b\nrelu r\nfc g out=7\n"},
    {"fc on padded channels", "input 20x3x3\nfc f out=9\nrelu r\nscale s\n"},
    {"fc on plain channels", "input 3x4x4\nfc f out=9\n"},
    {"max pools", "input 32x13x13\nmaxpool p kernel=3 stride=2\nmaxpool q kernel=3 stride=2 pad=1\n"
                  "maxpool r kernel=2 stride=2 round=down\n"},
    {"max pool on padded channels", "input 20x9x9\nmaxpool p kernel=3 stride=2\nrelu r\n"},
    {"pools on plain channels", "input 3x8x8\nmaxpool p kernel=3 stride=2\navgpool q kernel=2\n"},
    {"mean pools", "input 32x12x12\navgpool p kernel=3 stride=2 pad=1\n"
                   "avgpool q kernel=3 stride=2 pad=1 count_pad=yes\navgpool g kernel=global\n"
                   "softmax s\n"},
    {"pools padded unevenly", "input 20x10x9\nmaxpool p kernel=3 stride=1 pad=0x2:2x0 round=down\n"
                              "avgpool q kernel=3 stride=2 pad=2x0:1x2 round=down\n"
                              "avgpool s kernel=2 stride=1 pad=0x1:1x0 count_pad=yes round=down\n"},
    {"mean pool with operators behind it",
     "input 20x9x9\navgpool p kernel=3\nbatchnorm b\nscale s\n"
     "relu r\n"},
    {"many operators behind a pool", "input 16x4x4\nmaxpool p kernel=2\nbatchnorm a\nscale b\n"
                                     "batchnorm c\nscale d\nbatchnorm e\nscale f\nbatchnorm g\n"
                                     "scale h\nbatchnorm i\nscale j\nbatchnorm k\nscale l\n"
                                     "batchnorm m\nscale n\nbatchnorm o\nscale q\nrelu r\n"},
    {"LRN", "input 32x6x6\nlrn n size=5 alpha=0.5 beta=0.75\nlrn m size=5 alpha=0.5 beta=0.75 k=2\n"
            "lrn o size=3 alpha=0.3 beta=0.5 k=2\nrelu r\n"},
    {"LRN on padded, plain and flat channels",
     "input 20x6x6\nlrn n size=5 alpha=0.5 beta=0.75\nconv c out=3 kernel=1\n"
     "lrn m size=3 alpha=0.5 beta=0.75\nfc f out=12\nlrn o size=5 alpha=0.5 beta=0.75\n"},
    {"softmax over space", "input 20x5x5\nsoftmax s\n"},
    {"concat of whole blocks", "input 16x6x6\nconv a out=32 kernel=1\nconv b out=16 kernel=1 "
                               "from=input\nconcat x from=a,input,b\nrelu r\n"},
    {"concat with padding at its end", "input 16x6x6\nconv a out=32 kernel=1\nconv b out=24 "
                                       "kernel=1 from=input\nconcat x from=a,b\nbatchnorm n\n"},
    {"concat with padding inside", "input 16x6x6\nconv a out=20 kernel=1\nconv b out=24 kernel=1 "
                                   "from=input\nconcat x from=a,b,input\n"},
    {"concat with padding at its start", "input 16x6x6\nconv a out=20 kernel=1\nconv b out=32 "
                                         "kernel=1 from=input\nconcat x from=a,b\n"},
    {"concat of plain and blocked", "input 3x6x6\nconv a out=16 kernel=1\nconcat x from=input,a\n"
                                    "conv b out=2 kernel=1\nconcat y from=b,input\n"
                                    "concat z from=y\n"},
    {"concat of vectors", "input 10\nfc a out=5\nconcat x from=a,input\nfc f out=4\n"},
    {"add in place, then ReLU", "input 16x6x6\nconv a out=20 kernel=1\nconv b out=20 kernel=3 "
                                "pad=1\nadd s from=a,b\nrelu r\nconv c out=16 kernel=1\n"},
    {"add with operators behind it", "input 16x6x6\nconv a out=16 kernel=1\nadd s from=input,a\n"
                                     "batchnorm b\nrelu r\n"},
    {"add that must not overwrite", "input 16x6x6\nconv a out=16 kernel=1\nconv b out=16 kernel=1\n"
                                    "add s from=a,b\nadd t from=a,b\nadd u from=s,t\n"},
    {"operators that are layers of their own",
     "input 20x6x6\nrelu r from=input\nbatchnorm b from=input\nscale s from=input\n"
     "dropout d from=input\nbatchnorm c affine=no from=input\nconcat x from=r,b,s,d,c,input\n"},
    {"the same on plain channels", "input 3x6x6\nrelu r from=input\nbatchnorm b from=input\n"
                                   "dropout d from=input\nadd s from=r,b\nadd t from=s,d\n"},
    {"an inception block", "input 32x9x9\nconv a out=16 kernel=1\nrelu ar\n"
                           "conv b1 out=24 kernel=1 from=input\nrelu b1r\n"
                           "conv b out=32 kernel=3 pad=1\nrelu br\n"
                           "conv c1 out=16 kernel=1 from=input\nrelu c1r\n"
                           "conv c out=16 kernel=5 pad=2\nrelu cr\n"
                           "maxpool d1 kernel=3 pad=1 from=input\nconv d out=16 kernel=1\nrelu dr\n"
                           "concat x from=ar,br,cr,dr\navgpool g kernel=global\nfc f out=10\n"
                           "softmax p\n"},
    {0},
};

const struct backend_case *backend_case(const char *name)
{
    for (int i = 0; backend_cases[i].name; i++)
        if (strcmp(backend_cases[i].name, name) == 0)
            return &backend_cases[i];
    return NULL;
}

enum vbs_status backend_case_network(struct vbs_ctx *ctx, const struct backend_case *c,
                                     struct vbs_network **network)
{
    char text[2000];

    snprintf(text, sizeof text, "model case\n%s", c->text);
    return vbs_network_parse(ctx, c->name, text, strlen(text), NULL, network);
}

/* Makes n seeded values; null: out of memory. */
static const struct vbs_values *seeded(struct vbs_source *source, int seed, int64_t n)
{
    struct vbs_values *values = vbs_source_alloc(source, 1, sizeof *values);
    float *memory = vbs_source_alloc(source, (size_t)n, sizeof *memory);

    if (!values || !memory)
        return NULL;
    vbs_tensor_values(1000 + seed, 0, n, memory);
    for (int64_t i = 0; i < n; i++)
        memory[i] = 1 + memory[i] / 2;
    *values = (struct vbs_values){
        .name = "seeded", .element = VBS_F32, .count = n, .memory = memory, .file = -1};
    return values;
}

/* Adds the values that node lacks. */
static bool add_values(struct vbs_source *source, const struct vbs_shape *input,
                       struct vbs_node *node)
{
    static const enum vbs_parameter pair[] = {VBS_PARAMETER_GAMMA, VBS_PARAMETER_BETA};
    bool norm = node->op == VBS_OP_INSTANCE_NORM || node->op == VBS_OP_LAYER_NORM;
    int64_t n = 1;
    bool made = true;

    if (node->op == VBS_OP_INSTANCE_NORM)
        n = input->dim[0];
    for (int d = node->attributes.norm.axis; node->op == VBS_OP_LAYER_NORM && d < input->n_dims;
         d++)
        n *= input->dim[d];
    for (int i = 0; norm && node->attributes.norm.affine && i < 2; i++) {
        node->values[pair[i]] = seeded(source, i, n);
        made = made && node->values[pair[i]];
    }
    if (node->operand.n_dims > 0 && !node->values[VBS_PARAMETER_OPERAND] &&
        vbs_op_gates(node->op) == 0) {
        node->values[VBS_PARAMETER_OPERAND] = seeded(source, 7, vbs_shape_elements(&node->operand));
        made = made && node->values[VBS_PARAMETER_OPERAND];
    }
    return made;
}

static enum vbs_status add_nodes(struct vbs_ctx *ctx, const struct operator_case *c,
                                 struct vbs_source *source, struct vbs_builder *builder)
{
    enum vbs_status status = VBS_OK;

    for (const struct vbs_node *n = c->nodes; n->name && status == VBS_OK; n++) {
        struct vbs_node node = *n;

        const struct vbs_shape *input =
            node.views ? &node.views[0] : vbs_builder_shape(builder, node.inputs[0]);

        status =
            add_values(source, input, &node) ? vbs_builder_add(ctx, builder, &node) : VBS_NO_MEMORY;
    }
    return status;
}

enum vbs_status operator_case_network(struct vbs_ctx *ctx, const struct operator_case *c,
                                      struct vbs_network **network)
{
    struct vbs_builder *builder = NULL;
    struct vbs_source *source;
    int line;
    enum vbs_status status;

    status = vbs_builder_new(ctx, c->name, "", &c->input, &builder);
    if (status != VBS_OK)
        return status;
    source = vbs_source_new();
    status = source ? vbs_builder_source(ctx, builder, source) : VBS_NO_MEMORY;
    if (status == VBS_OK)
        status = add_nodes(ctx, c, source, builder);
    if (status == VBS_OK)
        status = vbs_builder_finish(ctx, builder, network, &line);
    vbs_builder_free(builder);
    return status;
}
