/*
 * Readers of networks as text and as ONNX, and what export makes of them.
 */
#include "fuzz/readers.h"
#include "fuzz/reading.h"

#include "model/network/network.h"
#include "model/network/parameters.h"
#include "model/network/shape.h"
#include "model/onnx/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SOURCE       "file"
#define MAX_READS    300       /* of parameters of one network */
#define MAX_EACH     64        /* values of one read */
#define MAX_EXPORTED (1 << 17) /* parameters of a network that is exported */

/* Gives the number of values of the parameter of an operator (place 0: the layer's own). */
static int64_t wanted_values(const struct vbs_network *network, int layer, int place,
                             enum vbs_parameter what)
{
    const struct vbs_layer *l = &network->layers[layer];
    int64_t count = 1;

    if (what == VBS_PARAMETER_WEIGHTS)
        return vbs_weight_count(network, layer);
    if (what == VBS_PARAMETER_BIAS)
        return vbs_op_gates(l->op) > 0 ? 2 * l->operand.dim[0] * l->operand.dim[1]
                                       : l->attributes.weighted.out_channels;
    if (what == VBS_PARAMETER_OPERAND)
        return vbs_shape_elements(&l->operand);
    if (place > 0)
        return l->shape.dim[0];
    if (l->op != VBS_OP_LAYER_NORM)
        return l->views[0].dim[0];
    for (int d = l->attributes.norm.axis; d < l->views[0].n_dims; d++)
        count *= l->views[0].dim[d];
    return count;
}

/* Reads a few values from both ends and the middle. */
static const char *read_parameter(const struct vbs_network *network, int layer, int place,
                                  enum vbs_parameter what, int64_t count)
{
    int64_t n = count < MAX_EACH ? count : MAX_EACH;
    const int64_t first[] = {0, (count - n) / 2, count - n};
    float values[MAX_EACH];

    for (int i = 0; i < 3; i++) {
        struct vbs_ctx ctx = {0};
        enum vbs_status status =
            vbs_parameter_values(&ctx, network, layer, place - 1, what, first[i], n, values);
        const char *broken = status == VBS_OK ? NULL : fuzz_failed_well(&ctx, status);

        if (broken)
            return broken;
        if (status != VBS_OK && status != VBS_FORMAT)
            return "values of a file that has not changed can be read, unless not finite";
    }
    return NULL;
}

static const char *read_parameters(const struct vbs_network *network)
{
    const struct vbs_parameters *p = network->parameters;
    int left = MAX_READS;

    for (int k = 1; k <= network->n_layers; k++)
        for (int place = 0; place <= network->layers[k].n_fused; place++)
            for (int what = 0; what < VBS_N_PARAMETERS; what++) {
                const struct vbs_values *stored = p->values[p->first[k] + place].of[what];
                int64_t count = wanted_values(network, k, place, (enum vbs_parameter)what);
                const char *broken;

                if (!stored && (what != VBS_PARAMETER_WEIGHTS || count == 0))
                    continue; /* seeded values are all alike */
                if (stored && (stored->memory || stored->file >= 0) && stored->count != count)
                    return "a parameter has as many values as its layer takes";
                if (left-- == 0)
                    return NULL;
                broken = read_parameter(network, k, place, (enum vbs_parameter)what, count);
                if (broken)
                    return broken;
            }
    return NULL;
}

static const char *check_layer(const struct vbs_network *network, int k)
{
    const struct vbs_layer *l = &network->layers[k];

    if (!vbs_shape_valid(&l->shape) || vbs_network_out_bytes(network, k) <= 0)
        return "layers have valid shapes";
    if (vbs_network_in_bytes(network, k) <= 0)
        return "the bytes of a layer's inputs do not overflow";
    if (l->n_inputs < 1 || l->parameters < 0 || l->macs < 0 || vbs_weight_count(network, k) < 0)
        return "layers have inputs, and counts that do not overflow";
    for (int i = 0; i < l->n_inputs; i++)
        if (l->inputs[i] < 0 || l->inputs[i] >= k || !vbs_shape_valid(&l->views[i]) ||
            vbs_shape_elements(&l->views[i]) !=
                vbs_shape_elements(&network->layers[l->inputs[i]].shape))
            return "layers read what is before them, all of it";
    return NULL;
}

/* Gives whether each layer is read by another one or is an output. */
static bool all_are_read(const struct vbs_network *network)
{
    for (int k = 1; k <= network->n_layers; k++) {
        bool read = false;

        for (int i = 0; i < network->n_outputs && !read; i++)
            read = network->outputs[i].layer == k;
        for (int j = k + 1; j <= network->n_layers && !read; j++)
            for (int i = 0; i < network->layers[j].n_inputs && !read; i++)
                read = network->layers[j].inputs[i] == k;
        if (!read)
            return false;
    }
    return true;
}

static const char *check_network(const struct vbs_network *network)
{
    const char *broken = NULL;

    if (network->n_layers < 1 || network->n_layers > VBS_MAX_LAYERS || network->n_outputs < 1)
        return "a network has layers and outputs";
    for (int k = 1; k <= network->n_layers && !broken; k++)
        broken = check_layer(network, k);
    for (int i = 0; i < network->n_outputs && !broken; i++)
        if (network->outputs[i].layer < 1 || network->outputs[i].layer > network->n_layers)
            broken = "outputs are layers";
    if (!broken && !all_are_read(network))
        broken = "every layer is read by another one or is an output";
    (void)vbs_network_hash(network);
    return broken ? broken : read_parameters(network);
}

const char *fuzz_end_network(const struct vbs_ctx *ctx, enum vbs_status status,
                             struct vbs_network *network)
{
    const char *broken;

    if (status != VBS_OK)
        return fuzz_failed_well(ctx, status);
    broken = check_network(network);
    vbs_network_free(network);
    return broken;
}

static const char *read_text(const char *text, size_t length, const struct vbs_shape *input)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_network_parse(&ctx, SOURCE, text, length, input, &network);

    return fuzz_end_network(&ctx, status, network);
}

/* Opens the files to which files of ONNX may refer: external data, and a tensor of four floats. */
static void open_beside(int files[2])
{
    static const unsigned char TENSOR[] = {0x08, 4, 0x10, 1, 0x22, 16, 0,  0, 128, 63, 0,
                                           0,    0, 0,    0, 0,    0,  64, 0, 0,   0,  0};
    unsigned char external[READERS_EXTERNAL];
    int wanted = atoi(READERS_LOCATION), made = -1;

    for (size_t i = 0; i < sizeof external; i++)
        external[i] = (unsigned char)(i % 4 == 3 ? 63 : i * 37);
    made = fuzz_memory_file(external, sizeof external);
    files[0] = dup2(made, wanted);
    if (made >= 0)
        close(made);
    files[1] = fuzz_memory_file(TENSOR, sizeof TENSOR);
}

/* A file in memory with the files beside it. */
struct files {
    int file, beside[2];
    char path[40], bound[40];
};

static bool open_files(const char *text, size_t length, struct files *files)
{
    files->file = fuzz_memory_file(text, length);
    open_beside(files->beside);
    fuzz_path_of(files->file, files->path);
    fuzz_path_of(files->beside[1], files->bound);
    return files->file >= 0 && files->beside[0] >= 0 && files->beside[1] >= 0;
}

static void close_files(const struct files *files)
{
    const int all[] = {files->file, files->beside[0], files->beside[1]};

    for (int i = 0; i < 3; i++)
        if (all[i] >= 0)
            close(all[i]);
}

static const char *read_onnx(const char *text, size_t length, const struct vbs_shape *input)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    struct files files;

    if (open_files(text, length, &files)) {
        const struct vbs_onnx_binding binding = {.input = 1, .path = files.bound};
        enum vbs_status status =
            vbs_onnx_load(&ctx, files.path, input, &binding, input != NULL, &network);

        broken = fuzz_end_network(&ctx, status, network);
    }
    close_files(&files);
    return broken;
}

/* Exports a network that was read, and reads it again. */
static const char *export_network(const struct vbs_network *network)
{
    char path[] = "/dev/shm/fuzz_export.XXXXXX.onnx"; /* a disk would be slow */
    int file = mkstemps(path, 5);
    struct vbs_network *again = NULL;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    enum vbs_status status;

    if (file < 0)
        return NULL;
    close(file);
    status = vbs_network_export(&ctx, network, path);
    if (status != VBS_OK)
        broken = fuzz_failed_well(&ctx, status);
    else if (vbs_network_load_as(&ctx, path, NULL, 0, VBS_PRECISION_FP32, &again) != VBS_OK)
        broken = "a network that was exported can be read";
    else if (vbs_network_hash(again) != vbs_network_plain_hash(network))
        broken = "a network that was exported is read as the same network";
    vbs_network_free(again);
    unlink(path);
    return broken;
}

/* Exports the network, if it was read and is small, and frees it. */
static const char *end_exported(const struct vbs_ctx *ctx, enum vbs_status status,
                                struct vbs_network *network)
{
    const char *broken = NULL;

    if (status != VBS_OK)
        return fuzz_failed_well(ctx, status);
    if (vbs_network_parameters(network) <= MAX_EXPORTED)
        broken = export_network(network);
    vbs_network_free(network);
    return broken;
}

const char *fuzz_export_text(const char *text, size_t length)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_network_parse(&ctx, SOURCE, text, length, NULL, &network);

    return end_exported(&ctx, status, network);
}

const char *fuzz_export_model(const char *text, size_t length)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    struct files files;

    if (open_files(text, length, &files)) {
        enum vbs_status status = vbs_onnx_load(&ctx, files.path, NULL, NULL, 0, &network);

        broken = end_exported(&ctx, status, network);
    }
    close_files(&files);
    return broken;
}

const char *fuzz_read_network(const char *text, size_t length)
{
    return read_text(text, length, NULL);
}

const char *fuzz_read_model(const char *text, size_t length)
{
    return read_onnx(text, length, NULL);
}

/* Reads the shape before a file from the beginning of a text. */
static void take_shape(const char **text, size_t *length, struct vbs_shape *shape)
{
    *shape = (struct vbs_shape){.n_dims = 0};
    if (*length == 0)
        return;
    shape->n_dims = (unsigned char)**text % (VBS_MAX_DIMS + 1);
    ++*text, --*length;
    for (int d = 0; d<shape->n_dims && * length> 0; d++, ++*text, --*length)
        shape->dim[d] = (unsigned char)**text;
}

const char *fuzz_read_network_as(const char *text, size_t length)
{
    struct vbs_shape shape;

    take_shape(&text, &length, &shape);
    return read_text(text, length, &shape);
}

const char *fuzz_read_model_as(const char *text, size_t length)
{
    struct vbs_shape shape;

    take_shape(&text, &length, &shape);
    return read_onnx(text, length, &shape);
}

const char *fuzz_read_tensor(const char *text, size_t length)
{
    struct vbs_onnx_tensor_file tensor;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    struct files files;

    if (open_files(text, length, &files)) {
        enum vbs_status status = vbs_onnx_read_tensor(&ctx, files.path, &tensor);

        if (status != VBS_OK)
            broken = fuzz_failed_well(&ctx, status);
        else if (tensor.shape.n_dims > VBS_MAX_DIMS || vbs_shape_elements(&tensor.shape) < 0)
            broken = "tensors have few dimensions and elements";
        if (status == VBS_OK)
            free(tensor.values);
    }
    close_files(&files);
    return broken;
}
