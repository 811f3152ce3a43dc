/* Networks with coded weights: files that are written from texts and from ONNX are loaded as the
 * same networks; damaged ones are refused. */
#include "vbslab/model.h"

#include "model/vbz/vbz.h"

#include "support/tap.h"
#include "support/vbz_help.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const MODELS[] = {
    "resnet-56-cifar",
    "tests/data/onnx/torch_flatten_11.onnx",
    "tests/data/onnx/torch_gates.onnx",
    "tests/data/onnx/keras_nhwc.onnx",
    "tests/data/onnx/segment.onnx",
    "tests/data/onnx/outputs.onnx",
    "tests/data/onnx/one_channel.onnx",
    "tests/data/onnx/whole.onnx",
    "tests/data/onnx/normals.onnx",
    "tests/data/onnx/external.onnx",
    "tests/data/onnx/opset_07.onnx",
    "tests/data/onnx/old_01.onnx",
    "tests/data/onnx/light_squeezenet.onnx",
};

static const struct vbz_recipe RECIPES[] = {
    {.density = 0.4, .bits = 4, .options = {VBS_CODING_JOINT, 4, 64, 256}, .any_form = true},
    {.density = 1, .bits = 8, .options = {VBS_CODING_COMP, 5, 7, 13}},
    {.density = 0.2, .bits = 3, .options = {VBS_CODING_BYTES, 8, 1 << 20, 1 << 20}},
};

static float *values_of(const struct vbs_network *network, int layer, int fused,
                        enum vbs_parameter what, int64_t n)
{
    float *values = malloc((size_t)n * sizeof *values);

    if (!values ||
        vbs_parameter_values(NULL, network, layer, fused, what, 0, n, values) != VBS_OK) {
        free(values);
        return NULL;
    }
    return values;
}

static bool same_values(const struct vbs_network *a, const struct vbs_network *b, int layer,
                        int fused, enum vbs_parameter what, int64_t n)
{
    float *left = values_of(a, layer, fused, what, n), *right = values_of(b, layer, fused, what, n);
    bool same = left && right && memcmp(left, right, (size_t)n * sizeof *left) == 0;

    free(left);
    free(right);
    return same;
}

/* Compares all parameters of a layer but its weights. */
static bool same_others(const struct vbs_network *a, const struct vbs_network *b, int k)
{
    const struct vbs_layer *l = &a->layers[k];
    bool weighted = vbs_weight_count(a, k) > 0, same = true;

    if (weighted && l->attributes.weighted.bias)
        same = same_values(a, b, k, -1, VBS_PARAMETER_BIAS, l->attributes.weighted.out_channels);
    if (l->operand.n_dims > 0)
        same = same &&
               same_values(a, b, k, -1, VBS_PARAMETER_OPERAND, vbs_shape_elements(&l->operand));
    for (int f = 0; f < l->n_fused; f++)
        for (int what = VBS_PARAMETER_MEAN; what <= VBS_PARAMETER_BETA; what++)
            if (l->fused[f].op == VBS_OP_BATCHNORM || l->fused[f].op == VBS_OP_SCALE)
                same = same && same_values(a, b, k, f, (enum vbs_parameter)what, l->shape.dim[0]);
    return same;
}

/* Decodes the weights of a layer block by block, without the room's help. */
static bool decodes(const struct vbs_network *network, int k)
{
    const struct vbs_coded *coded = vbs_network_coded(network, k);
    struct vbs_coded_shape s;
    float *all, *block;
    int64_t wrong = 0;

    vbs_coded_describe(coded, &s);
    all = values_of(network, k, -1, VBS_PARAMETER_WEIGHTS, s.n_rows * s.n_columns);
    block = malloc((size_t)(s.block_rows * s.block_columns) * sizeof *block);
    for (int64_t b = 0; all && block && b < s.n_block_rows * s.n_block_columns; b++) {
        int64_t row = b / s.n_block_columns * s.block_rows;
        int64_t column = b % s.n_block_columns * s.block_columns;
        int64_t width =
            s.n_columns - column < s.block_columns ? s.n_columns - column : s.block_columns;

        vbs_coded_block(coded, b, block);
        for (int64_t r = 0; r < s.block_rows && row + r < s.n_rows; r++)
            for (int64_t c = 0; c < width; c++)
                wrong += block[r * width + c] != all[(row + r) * s.n_columns + column + c];
    }
    for (int64_t i = 0; all && i < 50; i++) { /* ranges that begin and end anywhere */
        int64_t n = s.n_rows * s.n_columns, first = i * 7919 % n, count = i * 104729 % (n - first);
        float *some = malloc((size_t)count * sizeof *some + 1);

        wrong += !some ||
                 vbs_parameter_values(NULL, network, k, -1, VBS_PARAMETER_WEIGHTS, first, count,
                                      some) != VBS_OK ||
                 memcmp(some, all + first, (size_t)count * sizeof *some) != 0;
        free(some);
    }
    free(block);
    free(all);
    return all && block && wrong == 0;
}

static void check_model(const char *model, const struct vbz_recipe *recipe)
{
    char path[] = "/tmp/t_vbz.XXXXXX.vbz";
    int file = mkstemps(path, 4), n_coded = 0, n_wrong = 0;
    struct vbs_network *plain = NULL, *made = NULL;
    struct vbs_ctx ctx = {0};
    bool written = vbs_network_load(&ctx, model, NULL, &plain) == VBS_OK &&
                   vbz_write(&ctx, plain, recipe, path) == VBS_OK;

    if (!ok(written && vbs_network_load(&ctx, path, NULL, &made) == VBS_OK,
            "%s is written as %s and loaded", model, vbs_coding_name(recipe->options.coding)))
        printf("# %s\n", vbs_detail(&ctx));
    for (int k = 1; made && k <= made->n_layers; k++) {
        n_coded += vbs_network_coded(made, k) != NULL;
        if (vbs_network_coded(made, k))
            n_wrong += !decodes(made, k) ||
                       vbs_network_may_code(made, k, VBS_CODING_BYTES) !=
                           (recipe->any_form || recipe->options.coding == VBS_CODING_BYTES);
        n_wrong += !same_others(plain, made, k) ||
                   strcmp(plain->layers[k].name, made->layers[k].name) != 0;
    }
    ok(made && n_wrong == 0 && n_coded > 0 && made->n_layers == plain->n_layers,
       "with %d layers of coded weights and all others as they were", n_coded);
    ok(made && strncmp(made->name, path + 5, strlen(made->name)) == 0 &&
           vbs_network_hash(made) != vbs_network_hash(plain),
       "its name is the file's, its hash is its own");
    vbs_network_free(plain);
    vbs_network_free(made);
    close(file);
    unlink(path);
}

/* ---- files that are damaged ---- */

static const char TEXT[] = "model small\ninput 4x8x8\nconv first out=8 kernel=3\nrelu r\n"
                           "conv second out=6 kernel=3\nfc third out=5\n";

struct image {
    unsigned char *bytes;
    size_t n;
};

static struct image read_image(const char *path)
{
    struct image image = {0};
    FILE *file = fopen(path, "rb");

    if (file && fseek(file, 0, SEEK_END) == 0) {
        image.n = (size_t)ftell(file);
        image.bytes = malloc(image.n);
        rewind(file);
        if (!image.bytes || fread(image.bytes, 1, image.n, file) != image.n)
            image.n = 0;
    }
    if (file)
        fclose(file);
    return image;
}

/* A file in memory, whose name does not end in .vbz. */
struct memory_file {
    int descriptor;
    char path[40];
};

/* Makes the first n bytes of the image the file, and loads it: the status, with the reason in
 * ctx. */
static enum vbs_status load_image(struct vbs_ctx *ctx, const struct memory_file *file,
                                  const struct image *image, size_t n)
{
    struct vbs_network *network = NULL;
    enum vbs_status status;

    *ctx = (struct vbs_ctx){0};
    if (ftruncate(file->descriptor, (off_t)n) != 0 ||
        pwrite(file->descriptor, image->bytes, n, 0) != (ssize_t)n)
        return VBS_N_STATUS;
    status = vbs_vbz_load(ctx, file->path, NULL, &network);
    vbs_network_free(network);
    return status;
}

static uint64_t number_at(const struct image *image, size_t at, int n)
{
    uint64_t value = 0;

    for (int i = n - 1; i >= 0; i--)
        value = value << 8 | image->bytes[at + (size_t)i];
    return value;
}

/* Gives the layer of the section of coded weights that has the byte at, or 0. */
static int layer_at(const struct image *image, size_t at)
{
    for (size_t i = 0; i < number_at(image, 12, 4); i++) {
        size_t entry = 64 + 64 * i;
        uint64_t begin = number_at(image, entry + 8, 8), n = number_at(image, entry + 16, 8);

        if (at >= begin && at < begin + n)
            return (int)number_at(image, entry + 4, 4);
    }
    return 0;
}

static void check_cuts(const struct memory_file *file, const struct image *image)
{
    int n_wrong = 0;
    struct vbs_ctx ctx;

    for (size_t n = 0; n < image->n; n += n < 600 ? 1 : 7)
        n_wrong +=
            load_image(&ctx, file, image, n) != VBS_FORMAT || !strstr(ctx.detail, file->path);
    is_int(n_wrong, 0, "a file that is cut anywhere is refused");
}

static void check_bits(const struct memory_file *file, struct image *image)
{
    static const char *const NAMES[] = {NULL, "'first'", "'second'", "'third'"};
    int n_wrong = 0, n_named = 0;
    struct vbs_ctx ctx;

    for (size_t at = 0; at < image->n; at++) {
        unsigned char before = image->bytes[at];
        int layer = layer_at(image, at);
        enum vbs_status status;

        image->bytes[at] ^= (unsigned char)(1 << at % 8);
        status = load_image(&ctx, file, image, image->n);
        n_wrong += status != VBS_FORMAT && !(status == VBS_UNSUPPORTED && at >= 8 && at < 12);
        n_wrong += layer > 0 && !strstr(ctx.detail, NAMES[layer]);
        n_named += layer > 0;
        image->bytes[at] = before;
    }
    ok(n_wrong == 0 && n_named > 100,
       "a bit that is flipped anywhere is found, and the layer named");
}

static void check_kinds(const struct memory_file *file, struct image *image)
{
    struct image onnx = read_image("tests/data/onnx/torch_gates.onnx");
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx;

    image->bytes[8]++;
    ok(load_image(&ctx, file, image, image->n) == VBS_UNSUPPORTED &&
           strstr(ctx.detail, "version 2"),
       "a later version is refused");
    image->bytes[8]--;
    ok(load_image(&ctx, file, &onnx, onnx.n) == VBS_FORMAT && strstr(ctx.detail, "compress"),
       "a file of another kind is refused");
    ok(load_image(&ctx, file, image, image->n) == VBS_OK, "it is sound as it was");
    ok(vbs_vbz_load(&ctx, file->path, &(struct vbs_shape){.n_dims = 3, .dim = {4, 9, 9}},
                    &network) == VBS_USAGE &&
           strstr(ctx.detail, "input 4x9x9 does not suit the model"),
       "an input with which the weights do not fit is refused");
    free(onnx.bytes);
}

/* Gives weights of which the sizes, or the layers, are wrong to the writer. */
static void check_writer(struct vbs_network *network, const char *path)
{
    struct vbs_quantised q = {.n_rows = 2, .n_columns = 3, .bits = 1, .n_values = 2};
    struct vbs_coding_options options = {VBS_CODING_COMP, 1, 1, 1};
    struct vbs_layer_weights weights = {.layer = 1};
    volatile sig_atomic_t stop = 1;
    struct vbs_ctx ctx = {0}, stopped = {.cancel = &stop};
    struct vbs_coded *coded = NULL;

    q.codebook = (float[]){0, 1};
    q.indices = (uint16_t[]){0, 1, 0, 1, 0, 1};
    if (vbs_code(&ctx, &q, &options, &coded) != VBS_OK)
        return;
    weights.coded = coded;
    unlink(path);
    ok(vbs_network_write(&ctx, network, &weights, 1, path) == VBS_USAGE &&
           strstr(ctx.detail, "2 x 3 where layer 1 'first' has 8 x 36"),
       "weights of another shape are refused");
    weights.layer = 4;
    ok(vbs_network_write(&ctx, network, &weights, 1, path) == VBS_USAGE, "and those of no layer");
    ok(vbs_network_write(&stopped, network, NULL, 0, path) == VBS_INTERRUPTED &&
           access(path, F_OK) != 0,
       "an interrupted file is none");
    ok(vbs_network_write(&ctx, network, NULL, 0, "/tmp/none/there.vbz") == VBS_IO,
       "a folder that is not there");
    ok(vbs_network_write(&ctx, network, NULL, 0, "/tmp") == VBS_IO, "a folder");
    vbs_coded_free(coded);
}

static void check_damage(void)
{
    static const struct vbz_recipe RECIPE = {
        .density = 0.5, .bits = 3, .options = {VBS_CODING_JOINT, 3, 4, 20}, .any_form = true};
    char path[] = "/tmp/t_vbz.XXXXXX.vbz";
    int file = mkstemps(path, 4);
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    struct memory_file memory = {memfd_create("vbz", 0), ""};
    struct image image;

    snprintf(memory.path, sizeof memory.path, "/proc/self/fd/%d", memory.descriptor);
    if (vbs_network_parse(&ctx, "small", TEXT, strlen(TEXT), NULL, &network) != VBS_OK ||
        vbz_write(&ctx, network, &RECIPE, path) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    image = read_image(path);
    check_cuts(&memory, &image);
    check_bits(&memory, &image);
    check_kinds(&memory, &image);
    close(memory.descriptor);
    check_writer(network, path);
    free(image.bytes);
    vbs_network_free(network);
    close(file);
    unlink(path);
}

/* Measurements of the one must not be taken for those of the other. */
static void check_hash(void)
{
    struct vbz_recipe recipe = RECIPES[0];
    struct vbs_network *networks[4] = {NULL};
    uint64_t hashes[4] = {0};
    int n_equal = 0;

    for (int i = 0; i < 4; i++) {
        if (i == 1)
            recipe.density = 0.39;
        recipe.any_form = i != 2;
        networks[i] = vbz_network("tests/data/onnx/external.onnx", &recipe);
        hashes[i] = networks[i] ? vbs_network_hash(networks[i]) : 0;
        vbs_network_free(networks[i]);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++)
            n_equal += hashes[i] == hashes[j];
    ok(n_equal == 0 && hashes[3] == hashes[1] && hashes[3] != 0,
       "hashes tell other weights and forms, and nothing else, apart");
}

int main(void)
{
    check_damage();
    check_hash();
    for (size_t i = 0; i < sizeof MODELS / sizeof MODELS[0]; i++)
        check_model(MODELS[i], &RECIPES[i % 3]);
    for (size_t i = 0; i < 3; i++)
        check_model("tests/data/onnx/external.onnx", &RECIPES[i]);
    return done_testing();
}
