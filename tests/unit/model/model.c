/*
 * The built-in networks have the published shapes and counts; fusing, rounding and hashing work on
 * any network.
 */
#include "support/tap.h"
#include "vbslab/model.h"

#include <stdlib.h>

static struct vbs_network *load(const char *model, const char *input)
{
    struct vbs_ctx ctx = {0};
    struct vbs_shape shape;
    struct vbs_network *network = NULL;
    enum vbs_status status = input ? vbs_shape_parse(&ctx, input, &shape) : VBS_OK;

    if (status == VBS_OK)
        status = vbs_network_load(&ctx, model, input ? &shape : NULL, &network);
    if (status != VBS_OK)
        printf("# %s: %s\n", model, vbs_detail(&ctx));
    return status == VBS_OK ? network : NULL;
}

/* Makes a network of these operators behind "model m" and an input. */
static struct vbs_network *parse(const char *input, const char *operators)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL;
    char text[4096];
    int length = snprintf(text, sizeof text, "model m\ninput %s\n%s", input, operators);

    if (vbs_network_parse(&ctx, "text", text, (size_t)length, NULL, &network) != VBS_OK) {
        printf("# %s\n", vbs_detail(&ctx));
        return NULL;
    }
    return network;
}

static int find(const struct vbs_network *network, const char *name)
{
    for (int k = 0; network && k <= network->n_layers; k++)
        if (strcmp(network->layers[k].name, name) == 0)
            return k;
    return -1;
}

/*
 * Parameters are exact. Those of the Caffe models are the sizes of their .caffemodel blobs without
 * running statistics; vgg, alexnet, resnet-50 and googlenet also agree with the ONNX model zoo.
 * Multiply-accumulates are exact too, and must round to the figure that is published.
 */
static const struct {
    const char *name;
    int n_layers;
    int64_t parameters, macs;
    double published_macs, unit;
    const char *source;
} PUBLISHED[] = {
    {"alexnet", 14, 60965224, 724406816, 724, 1e6, "bvlc_alexnet; Netscope 724.41 M"},
    /* 14208 + 614656 + 1180160 + 2 * 2359808 + 75501568 + 16781312 + 4097000; fc6 is 288 MiB, as
     * MMCNN Table 1 has it */
    {"vgg-s", 13, 102908520, 2637708320, 2.64, 1e9, "VGG_CNN_S: 102.9 M parameters"},
    {"vgg-16", 22, 138357544, 15470264320, 15.47, 1e9, "Simonyan 2014, Table 2: 138 M"},
    {"vgg-19", 25, 143667240, 19632062464, 19.63, 1e9, "Simonyan 2014, Table 2: 144 M"},
    {"googlenet", 84, 6998552, 1582671872, 1.58, 1e9, "bvlc_googlenet; Szegedy: 1.5 G"},
    /* gamma and beta counted, running mean and variance not */
    {"resnet-50", 73, 25557032, 3857973248, 3.86, 1e9, "He 2015, Table 1: 3.8 G (truncated)"},
    /* option B; He 2015, Table 6 has 0.85 M for option A, which is 2752 less */
    {"resnet-56-cifar", 87, 855770, 125747840, 125.7, 1e6, "0.86 M and 125.75 M with option B"},
    {"squeezenet-v1.0", 39, 1248424, 861339936, 861.34, 1e6, "Netscope 1.25 M, 861.34 M"},
    /* gamma and beta counted: Keras' 4,231,976 trainable of 4,253,864 */
    {"mobilenet-v1", 30, 4231976, 568740352, 569, 1e6, "Howard 2017, Table 4: 4.2 M, 569 M"},
    /* 27,655,936 in convolutions; 79,991,015 with the 487 classes of Sports-1M */
    {"c3d", 17, 78409573, 38547378176, 38.5, 1e9, "MMAction2: 78.4 M, 38.5 G"},
    /* 785 * 300 + 301 * 100 + 101 * 10 */
    {"lenet-300-100", 4, 266610, 266200, 266, 1e3, "Han 2016, Table 1: 1070 KB"},
    {"lenet-5", 7, 431080, 2293000, 2.293, 1e6, "Han 2016, Table 1: 1720 KB"},
    /* option B; of option A with three channels, He 2015, Table 6 has 0.27 M for 20 layers, which
     * is 2752 - 288 less */
    {"resnet-8", 15, 77754, 9345920, 9.35, 1e6, "option B, one channel"},
    {"resnet-20", 33, 272186, 31021952, 31.0, 1e6, "option B, one channel"},
};

#define N_PUBLISHED ((int)(sizeof PUBLISHED / sizeof PUBLISHED[0]))

static void check_totals(const struct vbs_network *network, int i)
{
    int64_t parameters = 0, macs = 0;
    double published = PUBLISHED[i].published_macs * PUBLISHED[i].unit;

    for (int k = 1; k <= network->n_layers; k++) {
        parameters += network->layers[k].parameters;
        macs += network->layers[k].macs;
    }
    is_int(parameters, PUBLISHED[i].parameters, PUBLISHED[i].source);
    is_int(macs, PUBLISHED[i].macs, PUBLISHED[i].source);
    ok(fabs((double)macs - published) < 0.005 * published, "%s: multiply-accumulates as published",
       network->name);
    is_int(network->n_layers, PUBLISHED[i].n_layers, "layers after fusion");
}

static void check_published(void)
{
    is_int(vbs_model_count(), N_PUBLISHED, "as many built-in networks as published counts");
    for (int i = 0; i < N_PUBLISHED; i++) {
        struct vbs_network *network = load(PUBLISHED[i].name, NULL);

        is_str(vbs_model_name(i), PUBLISHED[i].name,
               "built-in networks stand in their documented order");
        if (!ok(network != NULL, "%s loads", PUBLISHED[i].name))
            continue;
        is_str(network->name, PUBLISHED[i].name, "and is called so");
        ok(strlen(network->about) > 10, "and says what it is");
        check_totals(network, i);
        vbs_network_free(network);
    }
}

/* The columns are the model, its input or null, a layer, and the shape of its output. */
static const char *const SHAPES[][4] = {
    {"alexnet", NULL, "conv1", "96x55x55"},
    {"alexnet", NULL, "norm1", "96x55x55"},
    {"alexnet", NULL, "pool1", "96x27x27"},
    {"alexnet", NULL, "pool5", "256x6x6"},
    {"alexnet", "3x224x224", "pool5", "256x6x6"}, /* 54 27 13 6, only because pools round up */
    {"vgg-s", NULL, "pool1", "96x37x37"},
    {"vgg-s", NULL, "conv2", "256x33x33"},
    {"vgg-s", NULL, "pool2", "256x17x17"},
    {"vgg-s", NULL, "pool5", "512x6x6"},
    {"vgg-16", NULL, "pool5", "512x7x7"},
    {"vgg-19", NULL, "conv5_4", "512x14x14"},
    {"googlenet", NULL, "conv1/7x7_s2", "64x112x112"},
    {"googlenet", NULL, "pool1/3x3_s2", "64x56x56"},
    {"googlenet", NULL, "pool1/norm1", "64x56x56"},
    {"googlenet", NULL, "conv2/3x3_reduce", "64x56x56"},
    {"googlenet", NULL, "conv2/3x3", "192x56x56"},
    {"googlenet", NULL, "pool2/3x3_s2", "192x28x28"},
    {"googlenet", NULL, "inception_3a/output", "256x28x28"},
    {"googlenet", NULL, "inception_3b/output", "480x28x28"},
    {"googlenet", NULL, "inception_4e/output", "832x14x14"},
    {"googlenet", NULL, "inception_5b/output", "1024x7x7"},
    {"googlenet", NULL, "pool5/7x7_s1", "1024x1x1"},
    {"googlenet", NULL, "loss3/classifier", "1000"},
    {"resnet-50", NULL, "pool1", "64x56x56"},
    {"resnet-50", NULL, "res2c", "256x56x56"},
    {"resnet-50", NULL, "res3a_branch2a", "128x28x28"}, /* the stride is in the 1x1 */
    {"resnet-50", NULL, "res5c", "2048x7x7"},
    {"resnet-50", NULL, "pool5", "2048x1x1"},
    {"resnet-56-cifar", NULL, "stage1/block9/add", "16x32x32"},
    {"resnet-56-cifar", NULL, "stage3/block1/shortcut", "64x8x8"},
    {"squeezenet-v1.0", NULL, "conv1", "96x111x111"},
    {"squeezenet-v1.0", NULL, "fire9/concat", "512x13x13"},
    {"squeezenet-v1.0", NULL, "conv10", "1000x15x15"},
    {"squeezenet-v1.0", NULL, "pool10", "1000x1x1"},
    {"mobilenet-v1", NULL, "conv2_1/dw", "32x112x112"},
    {"mobilenet-v1", NULL, "conv6/sep", "1024x7x7"},
    {"c3d", NULL, "pool1", "64x16x56x56"},
    {"c3d", NULL, "pool5", "512x1x4x4"}, /* 7 rounds up to 4 */
    {"c3d", "3x16x224x224", "pool5", "512x1x7x7"},
    {"c3d", "3x32x224x224", "pool5", "512x2x7x7"},
    {"c3d", "3x16x320x240", "pool5", "512x1x10x8"},
};

static void check_shapes(void)
{
    for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0]; i++) {
        const char *const *row = SHAPES[i];
        struct vbs_network *network = load(row[0], row[1]);
        char buffer[64] = "", name[200];
        int k = find(network, row[2]);

        if (k >= 0)
            vbs_shape_format(&network->layers[k].shape, buffer, sizeof buffer);
        snprintf(name, sizeof name, "%s %s: shape of %s", row[0], row[1] ? row[1] : "", row[2]);
        is_str(buffer, row[3], name);
        vbs_network_free(network);
    }
}

static void check_fc_follows_input(void)
{
    struct vbs_network *network = load("c3d", "3x32x224x224");
    int k = find(network, "fc6-1");

    if (ok(k > 0, "c3d has fc6-1 for longer and larger clips")) {
        is_int(network->layers[k].parameters, INT64_C(512) * 2 * 7 * 7 * 4096 + 4096,
               "and its weights follow the clip");
        is_int(vbs_network_in_bytes(network, 1), INT64_C(4) * 3 * 32 * 224 * 224,
               "the first layer reads the clip");
        is_int(vbs_network_out_bytes(network, 0), INT64_C(4) * 3 * 32 * 224 * 224,
               "layer 0 is the clip");
    }
    vbs_network_free(network);
}

static void check_op_words(void)
{
    is_str(vbs_op_word(VBS_OP_POOL_AVG), "avgpool", "operators have the words of the list");
    is_str(vbs_op_word(VBS_N_OPS), "input", "the input has a word too");
}

/* Gives the inputs of layer k, such as "1,2". */
static const char *inputs(const struct vbs_network *network, int k, char *buffer, size_t size)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (int i = 0; i < network->layers[k].n_inputs && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%d", i ? "," : "",
                                 network->layers[k].inputs[i]);
    return buffer;
}

static void check_fuses_chain(void)
{
    struct vbs_network *network = parse("4x8x8", "conv c out=6 kernel=3 bias=no\n"
                                                 "batchnorm b affine=no\n"
                                                 "scale s\n"
                                                 "relu r\n"
                                                 "dropout d\n"
                                                 "maxpool p kernel=2 stride=2\n");
    const struct vbs_layer *layer = network ? &network->layers[1] : NULL;

    if (!ok(network && network->n_layers == 2, "a chain of in-place operators joins the layer"))
        return;
    is_int(layer->n_fused, 4, "all of them");
    ok(layer->fused[0].op == VBS_OP_BATCHNORM && layer->fused[1].op == VBS_OP_SCALE &&
           layer->fused[2].op == VBS_OP_RELU && layer->fused[3].op == VBS_OP_DROPOUT,
       "in order");
    is_str(layer->fused[2].name, "r", "with their names");
    is_int(layer->fused[1].parameters, 12, "and parameters: factor and term per channel");
    is_int(layer->parameters, 4 * 9 * 6 + 12, "which count for the layer");
    is_int(network->layers[2].inputs[0], 1, "who reads the last of the chain reads the layer");
    vbs_network_free(network);
}

static void check_fuses_everywhere(void)
{
    struct vbs_network *network = parse("4x8x8", "maxpool p kernel=2\n"
                                                 "relu r1\n"
                                                 "conv a out=4 kernel=1\n"
                                                 "conv b out=4 kernel=1 from=r1\n"
                                                 "add s from=a,b\n"
                                                 "relu r2\n"
                                                 "concat t from=r2,r1\n"
                                                 "relu r3\n");
    if (ok(network && network->n_layers == 5, "relu joins pools, adds and concats too")) {
        char buffer[32];

        is_str(inputs(network, 4, buffer, sizeof buffer), "2,3", "the add reads both branches");
        is_str(inputs(network, 5, buffer, sizeof buffer), "4,1",
               "several readers of the last of a chain do not hinder fusion");
    }
    vbs_network_free(network);
}

static void check_keeps_apart(void)
{
    struct vbs_network *network = parse("4x8x8", "relu r\ndropout d\nconv c out=4 kernel=1\n");

    ok(network && network->n_layers == 2 && network->layers[1].op == VBS_OP_RELU &&
           network->layers[1].n_fused == 1,
       "relu on the network's input is a layer, and fuses in turn");
    vbs_network_free(network);

    network = parse("4x8x8", "conv c out=4 kernel=1\nrelu r\nadd s from=c,r\n");
    ok(network && network->n_layers == 3 && network->layers[2].op == VBS_OP_RELU,
       "relu on a tensor that others read is a layer");
    vbs_network_free(network);

    network = parse("4x8x8", "conv c out=4 kernel=1\nrelu r1\nrelu r2 from=c\nadd s from=r1,r2\n");
    ok(network && network->n_layers == 4, "two in-place operators on one tensor are two layers");
    vbs_network_free(network);

    network = parse("4x8x8", "conv c out=4 kernel=1\nbatchnorm b from=input\n");
    ok(network && network->n_layers == 2 && network->layers[2].parameters == 8,
       "batchnorm on the input is a layer with gamma and beta");
    vbs_network_free(network);
}

static void check_later_fuses(void)
{
    struct vbs_network *network = parse("4x8x8", "conv a out=4 kernel=1\n"
                                                 "conv b out=4 kernel=1 from=input\n"
                                                 "relu ra from=a\n"
                                                 "relu rb from=b\n"
                                                 "add s from=ra,rb\n");
    char buffer[32];

    if (ok(network && network->n_layers == 3, "in-place operators may stand away from their layer"))
        is_str(inputs(network, 3, buffer, sizeof buffer), "1,2", "and are found there");
    vbs_network_free(network);
}

static void check_attributes(void)
{
    struct vbs_network *network =
        parse("3x4x9x10", "conv c out=8 kernel=1x3x2 stride=1x2x1 pad=0x0x1:0x1x0 dilation=1x2x1\n"
                          "avgpool p kernel=2 count_pad=yes\n"
                          "avgpool g kernel=global\n");
    const union vbs_attributes *conv;
    const struct vbs_window *window;
    char buffer[64];

    if (!ok(network && network->n_layers == 3, "sizes are given for each dimension"))
        return;
    conv = &network->layers[1].attributes;
    window = &conv->weighted.window;
    is_str(vbs_shape_format(&network->layers[1].shape, buffer, sizeof buffer), "8x4x3x10",
           "and the shape follows");
    ok(window->kernel[1] == 3 && window->stride[1] == 2 && window->dilation[1] == 2 &&
           window->pad_low[1] == 0 && window->pad_high[1] == 1 && window->pad_low[2] == 1 &&
           window->pad_high[2] == 0 && conv->weighted.groups == 1 && conv->weighted.bias,
       "attributes are as written");
    ok(network->layers[2].attributes.pool.pad_counts &&
           network->layers[2].attributes.pool.window.dilation[2] == 1,
       "and those of a pool");
    is_int(network->layers[3].attributes.pool.window.kernel[0], 3,
           "a global kernel is the input's depth");
    is_int(network->layers[3].attributes.pool.window.kernel[2], 9, "and its width");
    vbs_network_free(network);
}

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Counts the positions of a window by going through them, by the rules of models/README.md. */
static int64_t slow_positions(int64_t in, int64_t extent, int64_t stride, int64_t low, int64_t high,
                              bool up)
{
    int64_t n = 0, end = in + low + high;

    for (int64_t start = 0; start < end; start += stride) {
        bool fits = start + extent <= end;
        bool begins_inside = start < in + low && (start == 0 || start - stride + extent < end);

        n += up ? begins_inside : fits;
    }
    return n;
}

static void check_windows(void)
{
    uint64_t state = 1;
    int wrong = 0, checked = 0, refused = 0;

    for (int i = 0; i < 3000; i++) {
        int in = 1 + (int)(next(&state) % 14), kernel = 1 + (int)(next(&state) % 5);
        int stride = 1 + (int)(next(&state) % 4), low = (int)(next(&state) % 3);
        int high = (int)(next(&state) % 3);
        bool up = next(&state) % 2;
        bool possible = kernel <= in + low + high && low < kernel && high < kernel;
        char shape[40], line[120];
        struct vbs_network *network = NULL;
        struct vbs_ctx ctx = {0};

        snprintf(shape, sizeof shape, "model m\ninput 1x%d\n", in);
        snprintf(line, sizeof line, "%smaxpool p kernel=%d stride=%d pad=%d:%d round=%s\n", shape,
                 kernel, stride, low, high, up ? "up" : "down");
        if (vbs_network_parse(&ctx, "t", line, strlen(line), NULL, &network) != VBS_OK) {
            wrong += possible;
            refused++;
        } else {
            const struct vbs_layer *pool = &network->layers[1];
            int64_t out = pool->shape.dim[1];
            int64_t padded = in + pool->attributes.pool.window.pad_low[0] +
                             pool->attributes.pool.window.pad_high[0];

            wrong += !possible || out != slow_positions(in, kernel, stride, low, high, up) ||
                     (padded - kernel) / stride + 1 != out ||
                     pool->attributes.pool.window.pad_high[0] >= kernel;
            checked++;
        }
        if (wrong == 1)
            printf("# %s", line);
        vbs_network_free(network);
    }
    ok(wrong == 0 && checked > 1000 && refused > 100,
       "windows of pools as counted one by one (%d sizes, %d refused, seed 1)", checked, refused);
}

static uint64_t hash(const char *input, const char *operators)
{
    struct vbs_network *network = parse(input, operators);
    uint64_t result = network ? vbs_network_hash(network) : 0;

    ok(network != NULL, "network for a hash parses");
    vbs_network_free(network);
    return result;
}

static void check_hash(void)
{
    static const char *const OTHERS[][3] = {
        {"input shape", "3x8x9",
         "conv c out=4 kernel=3 pad=1\nrelu r\nlrn n size=5 alpha=1 beta=0.75\n"},
        {"output channels", "3x8x8",
         "conv c out=5 kernel=3 pad=1\nrelu r\nlrn n size=5 alpha=1 beta=0.75\n"},
        {"kernel", "3x8x8", "conv c out=4 kernel=1\nrelu r\nlrn n size=5 alpha=1 beta=0.75\n"},
        {"padding", "3x8x8",
         "conv c out=4 kernel=3 pad=2\nrelu r\nlrn n size=5 alpha=1 beta=0.75\n"},
        {"bias", "3x8x8",
         "conv c out=4 kernel=3 pad=1 bias=no\nrelu r\nlrn n size=5 alpha=1 beta=0.75\n"},
        {"no in-place operator", "3x8x8",
         "conv c out=4 kernel=3 pad=1\nlrn n size=5 alpha=1 beta=0.75\n"},
        {"another in-place operator", "3x8x8",
         "conv c out=4 kernel=3 pad=1\ndropout r\nlrn n size=5 alpha=1 beta=0.75\n"},
        {"LRN size", "3x8x8",
         "conv c out=4 kernel=3 pad=1\nrelu r\nlrn n size=3 alpha=1 beta=0.75\n"},
        {"LRN k", "3x8x8",
         "conv c out=4 kernel=3 pad=1\nrelu r\nlrn n size=5 alpha=1 beta=0.75 k=2\n"},
        {"edges", "3x8x8",
         "conv c out=4 kernel=3 pad=1\nrelu r\nlrn n size=5 alpha=1 beta=0.75 from=input\n"},
    };
    uint64_t one = hash("3x8x8", "conv c out=4 kernel=3 pad=1\nrelu r\n"
                                 "lrn n size=5 alpha=1 beta=0.75\n");

    ok(one == hash("3x8x8", "# other names and words\nconv x kernel=3x3 pad=1:1 stride=1 out=4\n\n"
                            "relu y from=x\nlrn z k=1.0 beta=0.75 alpha=1e0 size=5 # same\n"),
       "names, comments and defaults written out do not change the hash");
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        ok(one != hash(OTHERS[i][1], OTHERS[i][2]), "hash tells apart: %s", OTHERS[i][0]);
    /* Stored measurements are found by this hash: raise HASH_VERSION when it has to change. */
    ok(one == UINT64_C(0x66cc6edd414c98f9), "hash is the one that stores hold (%#llx)",
       (unsigned long long)one);
}

static void check_hashes_of_all(void)
{
    int equal = 0;

    for (int i = 0; i < vbs_model_count(); i++) {
        struct vbs_network *a = load(vbs_model_name(i), NULL),
                           *again = load(vbs_model_name(i), NULL);

        equal += !a || !again || vbs_network_hash(a) != vbs_network_hash(again);
        for (int j = 0; j < i; j++) {
            struct vbs_network *b = load(vbs_model_name(j), NULL);

            equal += !a || !b || vbs_network_hash(a) == vbs_network_hash(b);
            vbs_network_free(b);
        }
        vbs_network_free(a);
        vbs_network_free(again);
    }
    is_int(equal, 0, "built-in networks have hashes of their own");
}

int main(void)
{
    check_op_words();
    check_published();
    check_shapes();
    check_fc_follows_input();
    check_fuses_chain();
    check_fuses_everywhere();
    check_keeps_apart();
    check_later_fuses();
    check_attributes();
    check_windows();
    check_hash();
    check_hashes_of_all();
    vbs_network_free(NULL);
    return done_testing();
}
