/* Networks with coded weights: files that are written from texts and from ONNX are loaded as the
 * same networks; damaged ones are refused. */
#include "vbslab/model.h"

#include "support/tap.h"
#include "support/vbz_help.h"

#include <stdlib.h>
#include <sys/stat.h>
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

int main(void)
{
    for (size_t i = 0; i < sizeof MODELS / sizeof MODELS[0]; i++)
        check_model(MODELS[i], &RECIPES[i % 3]);
    for (size_t i = 0; i < 3; i++)
        check_model("tests/data/onnx/external.onnx", &RECIPES[i]);
    return done_testing();
}
