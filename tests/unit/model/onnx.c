/* Networks from ONNX files: nine known ones without weights, small ones in the words of several
 * exporters and versions, computed by the slow definitions; weights that stay in their file. */
#include "vbslab/model.h"

#include "model/onnx/onnx.h"

#include "cases/onnx_bytes.h"
#include "reference/backend/ops.h"
#include "support/tap.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Parameters (without running statistics) and multiply-accumulates as onnx's own shape inference
 * and the shapes of the initialisers give them. */
static const struct {
    const char *name;
    int64_t parameters, macs;
    int n_layers;
} LIGHT[] = {
    {"light_bvlc_alexnet", 60965224, 654560384, 14},
    {"light_densenet121", 8062504, 2834161664, 242},
    {"light_inception_v1", 6998552, 1431556352, 84},
    {"light_inception_v2", 11214888, 2018851840, 94},
    {"light_resnet50", 25557032, 4089184256, 73},
    {"light_shufflenet", 1393320, 124664528, 88},
    {"light_squeezenet", 1235496, 349151936, 39},
    {"light_vgg19", 143667240, 19632062464, 25},
    {"light_zfnet512", 87250536, 1481727008, 14},
};

static struct vbs_network *load(const char *name, const struct vbs_shape *input)
{
    struct vbs_input_choice choice = {.name = NULL};
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    char path[300];

    snprintf(path, sizeof path, "tests/data/onnx/%s.onnx", name);
    if (input)
        choice.shape = *input;
    if (vbs_network_load_as(&ctx, path, &choice, input ? 1 : 0, VBS_PRECISION_FP32, &network) ==
        VBS_OK)
        return network;
    printf("# %s\n", vbs_detail(&ctx));
    return NULL;
}

static int count_ops(const struct vbs_network *network, enum vbs_op op)
{
    int n = 0;

    for (int k = 1; k <= network->n_layers; k++)
        n += network->layers[k].op == op;
    return n;
}

static void check_light(int i)
{
    struct vbs_network *network = load(LIGHT[i].name, NULL);
    int64_t parameters = 0, macs = 0;

    ok(network != NULL, "%s is read", LIGHT[i].name);
    if (!network)
        return;
    for (int k = 1; k <= network->n_layers; k++) {
        parameters += network->layers[k].parameters;
        macs += network->layers[k].macs;
    }
    is_str(network->name, LIGHT[i].name, "its name is the file's");
    is_int(parameters, LIGHT[i].parameters, "its parameters");
    is_int(macs, LIGHT[i].macs, "its multiply-accumulates");
    is_int(network->n_layers, LIGHT[i].n_layers, "its layers");
    is_int(vbs_network_stored(network), 0, "its weights are seeded");
    ok(!network->whole && network->input.n_dims == 3 && network->n_outputs == 1 &&
           vbs_shape_elements(&network->outputs[0].shape) == 1000,
       "one image in, 1000 classes out");
    ok(count_ops(network, VBS_OP_SCALE) + count_ops(network, VBS_OP_BATCHNORM) <=
               2 * count_ops(network, VBS_OP_CONCAT) + 1 &&
           count_ops(network, VBS_OP_TRANSPOSE) == 0,
       "nothing but channels of concats is normalised apart");
    if (strcmp(LIGHT[i].name, "light_shufflenet") == 0)
        is_int(count_ops(network, VBS_OP_SHUFFLE), 16, "its shuffles are one layer each");
    vbs_network_free(network);
}

/* ---- small networks, computed ---- */

#define DEFORMED                                                                                   \
    "conv deformconv conv conv+sigmoid deformconv+relu conv conv deformconv shuffle conv "         \
    "transpose deformconv slice keep add deformconv conv slice slice keep add deformconv concat "  \
    "concat reducemean add"
#define TRANSFORMED                                                                                \
    "dft dft dft dft dft concat dft dft dft concat dft dft dft concat dft dft concat dft dft "     \
    "reducemean add identity"
/* By 0.2 to 2.2, but 1. */
#define RESIZES     TEN_RESIZES TEN_RESIZES
#define TEN_RESIZES "resize resize resize resize resize resize resize resize resize resize "

static const struct {
    const char *name;
    const char *layers; /* their words, fused ones behind a + */
} SMALL[] = {
    {"torch_flatten_11", "conv+batchnorm+relu maxpool fc softmax"},
    {"torch_flatten_14", "conv+batchnorm+relu maxpool fc softmax"},
    {"torch_gates", "conv+swish conv+hardswish conv+mish avgpool conv+hardsigmoid mul+gelu shuffle "
                    "avgpool fc logsoftmax"},
    {"keras_nhwc", "transpose conv+clip conv+scale+leakyrelu avgpool fc softmax"},
    {"segment", "conv+elu pad avgpool conv instancenorm prelu deconv pad slice concat slice slice "
                "slice pow max add add resize conv+sigmoid identity concat transpose"},
    {"shrunk", "resize add resize add resize add resize add resize add resize concat"},
    {"outputs", "fc relu identity concat identity concat sub identity identity"},
    {"one_channel", "conv+relu conv+sigmoid concat conv identity"},
    {"whole", "fc transpose matmul softmax+scale reducemax"},
    {"whole_reversed",
     "gather slice+abs remainder sub+clip sub less mul add expand pick sigmoid slice identity"},
    {"normals", "layernorm pad add add fc transpose transpose matmul+linear softmax matmul "
                "transpose transpose instancenorm scale gather+gelu reducel2"},
    {"norms", "pow avgpool+linear+sqrt abs avgpool+linear abs pow avgpool+linear pow pow "
              "avgpool+linear+sqrt pow avgpool+linear+sqrt abs avgpool+linear concat"},
    {"folded", "fc reducesum add"},
    {"functions",
     "conv leakyrelu leakyrelu neg elu add mul conv leakyrelu leakyrelu neg elu add mul concat"},
    {"later", "mish+gelu avgpool pad slice slice concat resize leakyrelu reducel1 mul instancenorm "
              "scale reducelogsumexp"},
    {"lines_11", "topk equal mul topk equal mul topk equal mul fc topk equal concat linear+relu "
                 "reducel1+clip div mul reducel1+clip div mul reducel1+clip div mul reducel2+clip "
                 "div mul reducel2+clip div mul reducel2+clip div mul concat"},
    {"lines_13", "topk equal mul topk equal mul topk equal mul fc topk equal concat linear+relu "
                 "reducel1+clip div mul reducel1+clip div mul reducel1+clip div mul reducel2+clip "
                 "div mul reducel2+clip div mul reducel2+clip div mul concat"},
    {"external", "conv+relu fc"},
    {"quantised",
     "linear+round+linear+clip+linear "
     "conv+relu+linear+round+linear+clip+linear+scale+round+scale+clip+scale+scale fc"},
    {"integers", "linear+round+linear+clip linear conv+linear linear fc+linear linear "
                 "conv+linear+round+linear+clip "
                 "transpose+linear fc+linear+round+linear+clip+linear"},
    {"dynamic", "reducemin+clip reducemax+relu sub+linear+clip div+linear+round+clip div+round "
                "add+clip sub conv linear mul+scale+relu reducemin+clip reducemax+relu "
                "sub+linear+clip div+linear+round+clip div+round add+clip sub fc mul mul"},
    {"blocks", "fc+relu fc+relu slice fc fc"},
    {"contrib", "linear+round+linear+clip linear+leakyrelu+linear+round+linear+clip+linear linear "
                "mul+linear+round+linear+clip linear linear add+linear+round+linear+clip+linear "
                "avgpool+linear+round+linear+clip+linear linear+sigmoid+linear+round+clip+linear "
                "concat+linear+round+linear+clip+linear avgpool+linear+round+linear+clip+linear "
                "fc+linear+round+linear+clip+linear softmax+linear+round+clip+linear"},
    {"nhwc", "linear+round+linear+clip+linear conv+linear+round+linear+clip linear "
             "conv+linear+round+linear+clip linear linear add+linear+round+linear+clip "
             "maxpool+linear linear avgpool+linear+round+linear+clip+linear "
             "concat+linear+round+linear+clip+linear conv+linear+round+linear+clip linear "
             "avgpool+linear+round+linear+clip+linear linear"},
    {"contrib_weights",
     "fc reducemin+clip reducemax+relu sub+linear+clip div+linear+round+clip div+round "
     "add+clip sub fc mul add reducemin+clip reducemax+relu sub+linear+clip "
     "div+linear+round+clip div+round add+clip sub fc mul add"},
    {"contrib_lstm", "reducemin+clip reducemax+relu sub+linear+clip div+linear+round+clip "
                     "div+round add+clip sub mul lstm"},
    {"fused",
     "conv+leakyrelu conv add+clip add+gelu+gelu transpose matmul+linear linear+sigmoid mul "
     "transpose matmul fc+gelu add add layernorm reducemean fc+sigmoid"},
    {"scaler", "scale+scale fc+relu+linear"},
    {"edges", "pad avgpool pad avgpool pad avgpool pad avgpool pad avgpool concat pow+linear "
              "reducel1 mul reducel2 mul reducesumsquare mul reducelogsum mul mul mul mul mul mul "
              "mul concat"},
    {"empty", "relu tanh concat fc identity"},
    {"scales",
     RESIZES RESIZES RESIZES RESIZES RESIZES "resize identity identity identity concat scale"},
    {"whole_numbers",
     "linear remainder sub div remainder sub abs+linear pow+round reciprocal+round sqrt "
     "remainder sub pow+round concat reducesum div remainder sub reducesum div remainder sub "
     "reducel2 remainder sub reducelogsum remainder sub reducelogsumexp remainder sub concat "
     "linear div remainder sub div remainder sub div remainder sub div remainder sub concat "
     "linear linear+floor+linear add linear linear+floor+linear add linear "
     "linear+floor+linear add linear linear+floor+linear add pow linear+floor+linear add "
     "transpose add linear+floor+linear add concat linear linear+floor+linear add min neg "
     "linear+floor+linear add abs linear+floor+linear add pow linear+floor+linear add linear "
     "linear+floor+linear add linear remainder sub linear+floor+linear add neg "
     "linear+floor+linear add concat linear linear+floor+linear add linear "
     "linear+floor+linear add linear linear+floor+linear add concat linear remainder sub+clip "
     "linear remainder sub+clip linear+floor+linear add linear+floor+linear add concat"},
    {"wraps",
     "slice pad slice pad slice slice pad slice pad slice pad slice pad pad pad pad concat "
     "mul identity concat maxpool maxpool maxpool avgpool avgpool avgpool concat identity "
     "identity concat slice resize slice resize slice resize concat"},
    {"sampled_16",
     "conv+linear transpose gridsample gridsample gridsample gridsample gridsample gridsample "
     "gridsample gridsample gridsample gridsample gridsample gridsample gridsample gridsample "
     "gridsample gridsample gridsample gridsample concat conv gridsample slice keep add gridsample "
     "slice keep add gridsample reducesum concat reducemean add"},
    {"sampled_20",
     "conv+linear transpose gridsample gridsample gridsample gridsample gridsample gridsample "
     "gridsample gridsample gridsample gridsample gridsample gridsample gridsample gridsample "
     "gridsample gridsample gridsample gridsample concat conv gridsample slice keep add gridsample "
     "slice keep add gridsample reducesum concat reducemean add"},
    {"deformed_19", DEFORMED},
    {"deformed_22", DEFORMED},
    {"transformed_17", TRANSFORMED},
    {"transformed_20", TRANSFORMED},
    {"framed", "neg concat gather mul dft gather mul dft gather dft slice mul reducemean add"},
    {"noise", "mul add mul add"},
    {"recurrent", "conv transpose lstm gru slice fc+relu logsoftmax"},
    {"reversed", "gather gather slice slice linear reducesum+linear+clip remainder sub sub less "
                 "mul add expand pick add identity concat slice slice slice add"},
    {"sequence", "relu rnn add slice reducemean"},
    {"windows", "transpose layernorm fc transpose transpose transpose matmul add softmax matmul "
                "transpose transpose"},
    {"single", "transpose transpose reducel2+clip expand div transpose transpose reducemean slice "
               "gather fc"},
    {"sparse", "conv fc"},
    {"heads", "fc transpose fc fc transpose transpose matmul softmax matmul transpose fc add slice "
              "slice slice scale+tanh fc add+tanh concat"},
    {"cells", "lstm lstm lstm gru gru rnn concat"},
    {"copies", "pad add add reducemean gather fc"},
    {"control",
     "conv conv+tanh mul conv avgpool conv+linear avgpool conv+linear avgpool concat relu"},
    {"truth",
     "linear reducemean less abs lessorequal sub+abs less mul max keep linear add keep add softmax "
     "linear max keep linear keep add add softmax add linear remainder sub remainder+linear "
     "remainder log lessorequal+linear reciprocal equal max keep linear keep add add remainder sub "
     "equal max max add equal+linear"},
    {"bounds", "conv reducemin+linear reducemax max linear min min add"},
    {"many", "add add"},
    {"index",
     "gather slice concat gather slice+linear concat gather gather keep add keep transpose fc "
     "transpose fc reducemax equal+scale reducemin+linear round reducemin equal mul "
     "reducemax+linear equal equal max+linear mul"},
    {"picked", "linear+round+clip remainder sub pick linear+round+clip remainder sub less+linear "
               "add equal keep reducesum add linear+round+clip remainder sub slice pick"},
    {"largest", "fc sigmoid reducemax topk topk expand pick expand pick topk topk "
                "remainder+linear remainder div remainder sub expand pick add topk"},
    {"chosen", "fc reducemax reducemax equal+scale reducemin+linear take take topk take linear "
               "take reducemin equal mul reducemin+linear reducemax equal+scale reducemin+linear"
               " reducemin equal+scale reducemax+linear concat transpose remainder add remainder"
               " take take pick transpose reducemax reducemax equal mul reducemin+linear take "
               "embed transpose embed remainder+linear remainder concat slice keep add take "
               "concat"},
    {"chosen_one", "fc reducemax reducemax equal+scale reducemin+linear take take take pad+scale "
                   "take take topk slice take concat"},
    {"chosen_four", "fc reducemax reducemax equal+scale reducemin+linear take take concat"},
    {"whole_chosen",
     "reducemean sub reducemax equal+scale reducemin+linear slice+neg take reducemax "
     "equal mul reducemin+linear slice+neg transpose take transpose reducemax equal "
     "mul reducemin+linear slice+neg transpose take transpose reducemin equal mul "
     "reducemin+linear identity concat remainder add remainder take remainder+linear "
     "remainder take take concat"},
    {"shared_choice",
     "slice fc slice take transpose take transpose reducemax reducemax equal+scale "
     "reducemin+linear slice fc take take concat"},
    {"computed_one", "avgpool fc+tanh fc transpose pad gather gather matmul add+relu avgpool "
                     "fc+tanh transpose pad gather gather matmul scale avgpool fc+tanh "
                     "matmul avgpool fc conv add avgpool fc+tanh fc pad gather matmul add "
                     "identity identity identity concat avgpool fc+tanh transpose gather "
                     "transpose gather matmul avgpool fc+tanh fc transpose pad gather gather "
                     "gather matmul add conv slice transpose gather gather matmul transpose "
                     "gather gather matmul avgpool fc+tanh transpose slice keep add gather "
                     "gather matmul avgpool fc+tanh fc transpose gather gather matmul add "
                     "concat"},
    {"computed_four", "avgpool fc+tanh fc transpose pad gather gather matmul add+relu "
                      "transpose gather gather matmul+scale conv slice transpose gather "
                      "gather matmul transpose gather gather matmul concat"},
    {"computed_whole", "slice maxpool transpose gather gather matmul add"},
    {"shared_kernel", "slice+tanh transpose slice gather gather matmul slice add transpose "
                      "gather gather matmul transpose gather gather matmul concat"},
    {"infinite",
     "fc+sigmoid fc+sigmoid fc+sigmoid fc+sigmoid fc+sigmoid fc softmax "
     "layernorm+sigmoid instancenorm scale+sigmoid instancenorm+sigmoid lstm gru gru rnn "
     "concat"},
    {"masks", "conv conv+abs+neg+exp fc softmax relu+scale+sigmoid add+sigmoid exp mul+sigmoid "
              "max+sigmoid div less remainder sub embed add+sigmoid concat"},
    {"products", "transpose sigmoid transpose matmul transpose transpose matmul transpose softmax "
                 "transpose matmul fc add transpose+scale transpose+scale transpose mul keep "
                 "reducesum reducesum add keep reducesum reducesum mul matmul"},
    {"folds", "transpose fc mul add pad expand add"},
    {"images", "conv transpose transpose conv transpose+relu transpose avgpool conv "
               "transpose+sigmoid mul transpose maxpool transpose transpose deconv transpose "
               "transpose conv"},
    {"opset_07", "conv+clip pad slice resize slice slice reducesum mul reducemax softmax"},
    {"opset_09", "conv+clip pad slice resize slice slice reducesum mul reducemax softmax"},
    {"opset_10", "conv+clip pad slice resize slice slice reducesum mul reducemax softmax"},
    {"opset_11", "conv+clip pad slice resize slice slice reducesum mul reducemax softmax"},
    {"opset_13", "conv+clip pad slice resize slice slice reducesum mul reducemax softmax"},
    {"opset_18", "conv+clip pad slice resize slice slice reducesum mul reducemax softmax"},
    {"opset_21", "conv+clip pad slice resize slice slice reducesum mul reducemax softmax"},
    {"opset_22", "conv+clip pad slice resize slice slice reducesum mul reducemax softmax"},
    {"opset_23", "conv+clip pad slice resize slice slice reducesum mul reducemax softmax"},
    {"opset_24", "conv+clip pad slice resize slice slice reducesum mul reducemax softmax"},
    {"old_01",
     "conv+batchnorm prelu pad+leakyrelu+clip maxpool slice slice add sigmoid concat fc softmax"},
    {"old_02",
     "conv+batchnorm prelu pad+leakyrelu+clip maxpool slice slice add sigmoid concat fc softmax"},
    {"old_04",
     "conv+batchnorm prelu pad+leakyrelu+clip maxpool slice slice add sigmoid concat fc softmax"},
    {"old_05",
     "conv+batchnorm prelu pad+leakyrelu+clip maxpool slice slice add sigmoid concat fc softmax"},
    {"old_06",
     "conv+batchnorm prelu pad+leakyrelu+clip maxpool slice slice add sigmoid concat fc softmax"},
    {"old_09",
     "conv+scale prelu pad+leakyrelu+clip maxpool slice slice add sigmoid concat fc softmax"},
};

static void describe(const struct vbs_network *network, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int k = 1; k <= network->n_layers && used < size; k++) {
        const struct vbs_layer *l = &network->layers[k];

        used += (size_t)snprintf(text + used, size - used, "%s%s", k > 1 ? " " : "",
                                 vbs_op_word(l->op));
        for (int i = 0; i < l->n_fused && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "+%s", vbs_op_word(l->fused[i].op));
    }
}

static bool read_pb(const char *name, const char *what, struct vbs_onnx_tensor_file *tensor)
{
    char path[300];

    snprintf(path, sizeof path, "tests/data/onnx/%s_%s.pb", name, what);
    return vbs_onnx_read_tensor(NULL, path, tensor) == VBS_OK;
}

#define MOST_INPUTS 128 /* of a layer; `scales` joins 105 */

/* Computes all tensors of one sample; null: out of memory. */
static float **compute(const struct vbs_network *network, const float *input)
{
    float **tensors = calloc((size_t)network->n_layers + 1, sizeof *tensors);
    size_t bytes = (size_t)vbs_shape_elements(&network->input) * sizeof(float);

    if (!tensors)
        return NULL;
    tensors[0] = malloc(bytes);
    if (tensors[0])
        memcpy(tensors[0], input, bytes);
    for (int k = 1; k <= network->n_layers && tensors[k - 1]; k++) {
        const float *inputs[MOST_INPUTS];

        if (network->layers[k].n_inputs > MOST_INPUTS)
            bail_out("a layer has %d inputs", network->layers[k].n_inputs);
        for (int i = 0; i < network->layers[k].n_inputs; i++)
            inputs[i] = tensors[network->layers[k].inputs[i]];
        tensors[k] = reference_layer(network, k, inputs);
    }
    return tensors;
}

static void free_tensors(const struct vbs_network *network, float **tensors)
{
    for (int k = 0; tensors && k <= network->n_layers; k++)
        free(tensors[k]);
    free(tensors);
}

/* Gives the largest difference of sample number s from the outputs in the file, relative to 1. */
static double difference(const char *name, const struct vbs_network *network, int s,
                         float *const *tensors)
{
    double most = 0;

    for (int i = 0; i < network->n_outputs; i++) {
        int64_t n = vbs_shape_elements(&network->outputs[i].shape);
        const float *got = tensors[network->outputs[i].layer];
        struct vbs_onnx_tensor_file want;
        char what[20];

        snprintf(what, sizeof what, "out%d", i);
        if (!got || !read_pb(name, what, &want))
            return INFINITY;
        for (int64_t k = 0; k < n; k++) {
            double d = fabs((double)got[k] - want.values[s * n + k]);

            most = d <= most ? most : isnan(d) ? INFINITY : d;
        }
        free(want.values);
    }
    return most;
}

static void check_small(int i)
{
    const char *name = SMALL[i].name;
    struct vbs_network *network = load(name, NULL);
    struct vbs_onnx_tensor_file input = {.values = NULL};
    double most = 0;
    char text[2000];

    ok(network && read_pb(name, "in", &input), "%s is read", name);
    if (network && input.values) {
        int64_t each = vbs_shape_elements(&network->input);

        describe(network, text, sizeof text);
        is_str(text, SMALL[i].layers, "its layers");
        ok(vbs_network_stored(network) > 0, "its weights are the file's");
        ok(network->whole == (strcmp(name, "whole") == 0 || strcmp(name, "whole_reversed") == 0 ||
                              strcmp(name, "whole_chosen") == 0 ||
                              strcmp(name, "computed_whole") == 0 || strcmp(name, "bounds") == 0),
           "its samples");
        for (int s = 0; s < vbs_shape_elements(&input.shape) / each; s++) {
            float **tensors = compute(network, input.values + s * each);

            most = fmax(most, tensors ? difference(name, network, s, tensors) : INFINITY);
            free_tensors(network, tensors);
        }
        ok(most < 1e-4, "its outputs are those of onnx's definitions (%.1g)", most);
    }
    free(input.values);
    vbs_network_free(network);
}

static void check_outputs(void)
{
    struct vbs_network *network = load("outputs", NULL);
    static const char *const NAMES[] = {"gemm_3", "relu_5", "wide", "y", "same"};
    bool named = network && network->n_outputs == 5;

    for (int i = 0; named && i < 5; i++)
        named &= strcmp(network->outputs[i].name, NAMES[i]) == 0;
    ok(named, "outputs have the file's names and order");
    ok(network && network->outputs[2].shape.n_dims == 2 &&
           network->layers[network->outputs[2].layer].shape.n_dims == 1,
       "an output is seen in the file's shape");
    vbs_network_free(network);
}

/* ---- input shapes ---- */

static void check_shapes(void)
{
    const struct vbs_shape larger = {3, {3, 227, 227}}, wrong = {3, {3, 100, 100}},
                           flat = {2, {224, 224}};
    struct vbs_network *network = load("light_squeezenet", &larger);
    struct vbs_ctx ctx = {0};

    ok(network && vbs_shape_elements(&network->input) == 3 * 227 * 227 &&
           network->layers[1].shape.dim[1] == 113,
       "another input shape, where nothing is fixed");
    vbs_network_free(network);
    network = NULL;
    ok(vbs_network_load(&ctx, "tests/data/onnx/light_zfnet512.onnx", &wrong, &network) == VBS_USAGE,
       "an input shape that the file's constants do not allow is the caller's mistake");
    is_str(
        vbs_detail(&ctx),
        "input 3x100x100 does not suit the model: tests/data/onnx/light_zfnet512.onnx: node 'n15' "
        "(Reshape): 2048 elements do not fit the new shape",
        "and said where");
    ok(vbs_network_load(&ctx, "tests/data/onnx/light_zfnet512.onnx", &flat, &network) == VBS_USAGE,
       "so are too few dimensions");
}

/* ---- weights that stay in their file ---- */

#define FAR_BYTES ((int64_t)400 << 20)

static long resident_kib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Writes a file of a fully-connected layer [25600, 4096] whose weights are a hole in the file
 * except for the last one, which is 2. */
static bool write_large(const char *path)
{
    struct bytes graph = {0}, model = {0}, value = onnx_value("x", 1, 2, (int64_t[]){0, 25600});
    struct bytes node = onnx_node("MatMul", "x w", "y"), import = {0}, tensor;
    const float last = 2;
    FILE *file;
    bool written;

    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", 1, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    bytes_put(&graph, ONNX_NODE, &node);
    tensor = onnx_tensor("w", 1, 2, (int64_t[]){25600, 4096});
    bytes_varint(&tensor, 9 << 3 | 2);
    bytes_varint(&tensor, (uint64_t)FAR_BYTES);
    bytes_varint(&graph, ONNX_INITIALIZER << 3 | 2);
    bytes_varint(&graph, tensor.length + (uint64_t)FAR_BYTES);
    bytes_add(&graph, tensor.data, tensor.length);
    bytes_int(&import, 2, 13);
    bytes_put(&model, 8, &import);
    bytes_varint(&model, 7 << 3 | 2);
    bytes_varint(&model, graph.length + (uint64_t)FAR_BYTES);
    bytes_add(&model, graph.data, graph.length);
    file = fopen(path, "wb");
    written = file && fwrite(model.data, 1, model.length, file) == model.length &&
              fseeko(file, FAR_BYTES - (off_t)sizeof last, SEEK_CUR) == 0 &&
              fwrite(&last, sizeof last, 1, file) == 1;
    bytes_clear(&tensor);
    bytes_clear(&graph);
    bytes_clear(&model);
    return (!file || fclose(file) == 0) && written;
}

static void check_lazy(void)
{
    char path[] = "/tmp/t_onnx.XXXXXX.onnx";
    int file = mkstemps(path, 5);
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    float row[25600];
    long before;
    bool loaded;

    if (file < 0 || !write_large(path)) {
        skip("a file of 400 MiB", "no room for it");
    } else {
        before = resident_kib();
        loaded = vbs_network_load(&ctx, path, NULL, &network) == VBS_OK;
        ok(loaded && resident_kib() - before < 8192,
           "loading a file of 400 MiB takes %ld KiB of memory", resident_kib() - before);
        ok(loaded &&
               vbs_parameter_values(&ctx, network, 1, -1, VBS_PARAMETER_WEIGHTS,
                                    (int64_t)4095 * 25600, 25600, row) == VBS_OK &&
               row[25599] == 2 && row[25598] == 0,
           "and its weights are read where they are, transposed");
        vbs_network_free(network);
    }
    if (file >= 0)
        close(file);
    unlink(path);
}

/* Loads a chain of nodes of these names. */
static struct vbs_network *load_named(const char *const *names, int n)
{
    char path[] = "/tmp/t_onnx.XXXXXX.onnx", inputs[20] = "x", outputs[20];
    int file = mkstemps(path, 5);
    struct bytes graph = onnx_usual_graph(), model;
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    for (int i = 0; i < n; i++) {
        struct bytes node;

        snprintf(outputs, sizeof outputs, i + 1 < n ? "v%d" : "y", i);
        node = onnx_node("MaxPool", inputs, outputs);
        onnx_attribute_ints(&node, "kernel_shape", 2, (int64_t[]){1, 1});
        bytes_text(&node, 3, names[i]);
        onnx_add_node(&graph, node);
        strcpy(inputs, outputs);
    }
    model = onnx_model(13, &graph);
    if (file < 0 || !bytes_write(&model, path) ||
        vbs_network_load(&ctx, path, NULL, &network) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    bytes_clear(&model);
    if (file >= 0)
        close(file);
    unlink(path);
    return network;
}

static void check_layer_names(void)
{
    static char longest[400];
    const char *const names[] = {"input", "pool", "pool",      "pool",  "a\x1b[2Jb", "\xff\xfe",
                                 "",      "n12",  "p\xc3\xa4", longest, longest};
    const char *const want[] = {"input.1", "pool", "pool.3",    "pool.4", "a_[2Jb", "__",
                                "v6",      "n12",  "p\xc3\xa4", NULL,     NULL};
    const int n = sizeof names / sizeof names[0];
    struct vbs_network *network;
    bool unique = true;

    memset(longest, 'l', sizeof longest - 1);
    network = load_named(names, n);
    ok(network && network->n_layers == n, "layers of any names");
    for (int k = 1; network && k <= n; k++) {
        if (want[k - 1])
            is_str(network->layers[k].name, want[k - 1], "a layer's name");
        unique &= strlen(network->layers[k].name) < VBS_MAX_NAME;
        for (int i = 1; i < k; i++)
            unique &= strcmp(network->layers[i].name, network->layers[k].name) != 0;
    }
    ok(unique, "all differ, and none is too long");
    vbs_network_free(network);
}

/* Arrays stay in the file, of initialisers and of Constant nodes in any order, and every layer has
 * its own. */
static void check_scattered(void)
{
    static const float VALUES[] = {1.5f, 2.5f, 3.5f, 4.5f};
    const int64_t dims[] = {16, 3, 3, 3}, wide[] = {16, 16, 3, 3};
    char path[] = "/tmp/t_onnx.XXXXXX.onnx";
    int file = mkstemps(path, 5), n_wrong = 0;
    struct bytes graph = onnx_usual_graph(), model;
    struct bytes a = onnx_node("Constant", "", "a"), c = onnx_node("Constant", "", "c");
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    if (file >= 0)
        close(file);
    onnx_attribute_text(&a, "note", "the value is the second attribute");
    onnx_attribute_tensor(&a, "value", onnx_floats("", VALUES[0], 4, dims));
    onnx_attribute_tensor(&c, "value", onnx_floats("", VALUES[2], 4, wide));
    onnx_add_node(&graph, onnx_node("Conv", "x a", "p"));
    onnx_add_node(&graph, a);
    onnx_add_tensor(&graph, onnx_floats("d", VALUES[3], 4, wide));
    onnx_add_node(&graph, onnx_node("Conv", "p b", "q"));
    onnx_add_node(&graph, onnx_node("Conv", "q c", "r"));
    onnx_add_tensor(&graph, onnx_floats("b", VALUES[1], 4, wide));
    onnx_add_node(&graph, c);
    for (int i = 0; i < 3; i++)
        bytes_int(&graph, 99, i); /* left out */
    {
        struct bytes pads = onnx_node("Conv", "r d", "y");

        onnx_attribute_ints(&pads, "pads", 4, (int64_t[]){1, 1, 1, 1});
        onnx_add_node(&graph, pads);
    }
    model = onnx_model(13, &graph);
    ok(bytes_write(&model, path) && vbs_network_load(&ctx, path, NULL, &network) == VBS_OK &&
           network->n_layers == 4,
       "arrays in nodes and initialisers are read");
    bytes_clear(&model);
    for (int k = 1; network && k <= 4; k++) {
        float values[3];
        int64_t n = vbs_weight_count(network, k);

        if (vbs_parameter_values(&ctx, network, k, -1, VBS_PARAMETER_WEIGHTS, n - 3, 3, values) !=
                VBS_OK ||
            values[0] != VALUES[k - 1] || values[2] != VALUES[k - 1])
            n_wrong++;
    }
    ok(network && n_wrong == 0, "each layer has the weights that it names");
    vbs_network_free(network);
    unlink(path);
}

static void check_names(void)
{
    static const struct {
        const char *path, *name;
    } CASES[] = {{"a/b/net.onnx", "net"},
                 {"net.onnx", "net"},
                 {"x.onnx.onnx", "x.onnx"},
                 {"a\tb.onnx", "a_b"}};
    char name[VBS_MAX_NAME];

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        is_str(vbs_network_file_name(CASES[i].path, name), CASES[i].name, "the name of a file");
}

int main(void)
{
    for (size_t i = 0; i < sizeof LIGHT / sizeof LIGHT[0]; i++)
        check_light((int)i);
    for (size_t i = 0; i < sizeof SMALL / sizeof SMALL[0]; i++)
        check_small((int)i);
    check_outputs();
    check_shapes();
    check_lazy();
    check_scattered();
    check_names();
    check_layer_names();
    return done_testing();
}
