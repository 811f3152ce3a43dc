#include "fuzz/readers.h"

#include "base/ctx.h"
#include "base/json.h"
#include "base/toml.h"
#include "reference/place/place_check.h"

#include "vbslab/coded.h"
#include "vbslab/data.h"
#include "vbslab/npy.h"
#include "model/onnx/onnx.h"
#include "model/network/network.h"
#include "model/network/parameters.h"
#include "model/network/shape.h"
#include "model/vbz/layout.h"
#include "model/vbz/vbz.h"
#include "vbslab/place.h"
#include "vbslab/profile.h"
#include "vbslab/replay.h"
#include "vbslab/schedule.h"
#include "vbslab/study.h"
#include "vbslab/sweep.h"
#include "vbslab/units.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SOURCE      "file"
#define MAX_READS   300       /* of parameters of one network */
#define MAX_EACH    64        /* values of one read */
#define MAX_PLACE   64        /* buffers that are placed */
#define MAX_BLOCK   (1 << 22) /* coded weights of a block that is decoded */
#define MAX_WRITTEN 64        /* layers with coded weights of a network that is written anew */
#define MAX_ANEW    (1 << 14) /* weights of a matrix that is coded anew */

#define MAX_EXPORTED (1 << 17) /* parameters of a network that is exported */
#define MAX_EXPANDED 8         /* tasks of a sweep */

#define DATA_PIECES 3 /* files of a data set: classes, labels, images */

#define NPY_LIMIT (1 << 20) /* values that can be of use */

/* ---- promises ---- */

/* Checks a failure: it has a status, and one line of text without control characters. Memory does
 * not run out where files are as small as these, and nobody interrupts. */
static const char *failed_well(const struct vbs_ctx *ctx, enum vbs_status status)
{
    if (status == VBS_NO_MEMORY)
        return "a small file does not ask for all memory";
    if (status == VBS_INTERRUPTED)
        return "nobody interrupts";
    if (ctx->status != status)
        return "the context has the status of the failure";
    if (ctx->detail[0] == '\0')
        return "a failure says why";
    for (const char *c = ctx->detail; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return "the reason of a failure has no control characters";
    return NULL;
}

/* ---- files in memory ---- */

/* Makes a file of these bytes; -1: it cannot be made. */
static int memory_file(const void *data, size_t length)
{
    int file = memfd_create("reader", MFD_CLOEXEC);

    if (file >= 0 && write(file, data, length) != (ssize_t)length) {
        close(file);
        return -1;
    }
    return file;
}

static const char *path_of(int file, char path[40])
{
    snprintf(path, 40, "/proc/self/fd/%d", file);
    return path;
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
    made = memory_file(external, sizeof external);
    files[0] = dup2(made, wanted);
    if (made >= 0)
        close(made);
    files[1] = memory_file(TENSOR, sizeof TENSOR);
}

/* ---- networks ---- */

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
        const char *broken = status == VBS_OK ? NULL : failed_well(&ctx, status);

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

static const char *end_network(const struct vbs_ctx *ctx, enum vbs_status status,
                               struct vbs_network *network)
{
    const char *broken;

    if (status != VBS_OK)
        return failed_well(ctx, status);
    broken = check_network(network);
    vbs_network_free(network);
    return broken;
}

static const char *read_text(const char *text, size_t length, const struct vbs_shape *input)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_network_parse(&ctx, SOURCE, text, length, input, &network);

    return end_network(&ctx, status, network);
}

/* A file in memory with the files beside it. */
struct files {
    int file, beside[2];
    char path[40], bound[40];
};

static bool open_files(const char *text, size_t length, struct files *files)
{
    files->file = memory_file(text, length);
    open_beside(files->beside);
    path_of(files->file, files->path);
    path_of(files->beside[1], files->bound);
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

        broken = end_network(&ctx, status, network);
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
        broken = failed_well(&ctx, status);
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
        return failed_well(ctx, status);
    if (vbs_network_parameters(network) <= MAX_EXPORTED)
        broken = export_network(network);
    vbs_network_free(network);
    return broken;
}

static const char *export_text(const char *text, size_t length)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_network_parse(&ctx, SOURCE, text, length, NULL, &network);

    return end_exported(&ctx, status, network);
}

static const char *export_model(const char *text, size_t length)
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

static const char *read_network(const char *text, size_t length)
{
    return read_text(text, length, NULL);
}

static const char *read_model(const char *text, size_t length)
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

static const char *read_network_as(const char *text, size_t length)
{
    struct vbs_shape shape;

    take_shape(&text, &length, &shape);
    return read_text(text, length, &shape);
}

static const char *read_model_as(const char *text, size_t length)
{
    struct vbs_shape shape;

    take_shape(&text, &length, &shape);
    return read_onnx(text, length, &shape);
}

static const char *read_tensor(const char *text, size_t length)
{
    struct vbs_onnx_tensor_file tensor;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    struct files files;

    if (open_files(text, length, &files)) {
        enum vbs_status status = vbs_onnx_read_tensor(&ctx, files.path, &tensor);

        if (status != VBS_OK)
            broken = failed_well(&ctx, status);
        else if (tensor.shape.n_dims > VBS_MAX_DIMS || vbs_shape_elements(&tensor.shape) < 0)
            broken = "tensors have few dimensions and elements";
        if (status == VBS_OK)
            free(tensor.values);
    }
    close_files(&files);
    return broken;
}

/* ---- profiles and schedules ---- */

static const char *read_profile(const char *text, size_t length)
{
    struct vbs_profile *profile;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_profile_parse_csv(&ctx, SOURCE, text, length, &profile);

    if (status != VBS_OK)
        return failed_well(&ctx, status);
    vbs_profile_free(profile);
    return NULL;
}

/* A profile of three layers whose weights have two formats; the second layer runs in slices too. */
static const char PROFILE[] =
    "# copy: ram,1000,2\n# copy: ram,2000,3\n"
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
    "in_place,mad_us,low_us,high_us,n_runs,channels,packed_bytes,form,parts\n"
    "1,L1,conv,0,1,default,4,1,1,1,8,0,0,4,4,1,4,8,0,0\n"
    "1,L1,conv,0,2,default,6,2,2,2,8,0,0,6,6,1,4,8,0,0\n"
    "2,L2,conv,1,1,default,4,1,1,4,8,0,0,4,4,1,4,8,0,0\n"
    "2,L2,conv,1,1,halves,5,1,1,4,8,0,0,5,5,1,4,8,0,2\n"
    "2,L2,conv,1,2,default,6,2,2,8,8,0,0,6,6,1,4,16,1,0\n"
    "3,L3,add,1;2,1,default,4,2,1,1,0,0,0,4,4,1,0,0,0,0\n"
    "3,L3,add,1;2,2,default,6,4,2,2,0,0,0,6,6,1,0,0,0,0\n";

static const char *replay(const struct vbs_schedule *schedule)
{
    struct vbs_profile *profile;
    struct vbs_replay *result;
    struct vbs_ctx ctx = {0};
    enum vbs_status status =
        vbs_profile_parse_csv(&ctx, "profile", PROFILE, strlen(PROFILE), &profile);
    const char *broken = NULL;

    if (status != VBS_OK)
        return "the profile that schedules are replayed with is sound";
    status = vbs_replay_run(&ctx, profile, schedule, -1, true, &result);
    if (status == VBS_OK)
        vbs_replay_free(result);
    else
        broken = failed_well(&ctx, status);
    vbs_profile_free(profile);
    return broken;
}

static const char *read_schedule(const char *text, size_t length)
{
    struct vbs_schedule *schedule;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_schedule_parse_json(&ctx, SOURCE, text, length, &schedule);
    const char *broken;

    if (status != VBS_OK)
        return failed_well(&ctx, status);
    broken = replay(schedule);
    vbs_schedule_free(schedule);
    return broken;
}

/* ---- other files ---- */

static const char *read_npy(const char *text, size_t length)
{
    struct vbs_ctx ctx = {0};
    struct vbs_npy npy;
    enum vbs_status status = vbs_npy_parse(&ctx, SOURCE, text, length, NPY_LIMIT, &npy);

    if (status != VBS_OK)
        return failed_well(&ctx, status);
    vbs_npy_clear(&npy);
    return NULL;
}

/* Reads buffers to place, and places them where this is no long search. */
static const char *read_buffers(const char *text, size_t length)
{
    static const struct vbs_place_options OPTIONS = {
        .struct_size = sizeof(struct vbs_place_options), .step_limit = 20000, .time_limit_s = -1};
    struct vbs_place_result *result;
    struct vbs_place_csv *csv;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_place_csv_parse(&ctx, SOURCE, text, length, &csv);
    const char *broken = NULL;
    int64_t height;

    if (status != VBS_OK)
        return failed_well(&ctx, status);
    if (vbs_place_csv_problem(csv)->n_items <= MAX_PLACE) {
        status = vbs_place_lowest(&ctx, vbs_place_csv_problem(csv), &OPTIONS, &result);
        if (status != VBS_OK)
            broken = failed_well(&ctx, status);
        else
            broken = place_fault(vbs_place_csv_problem(csv), result->offsets, &height);
        if (status == VBS_OK || status == VBS_INFEASIBLE)
            vbs_place_free(result);
    }
    vbs_place_csv_free(csv);
    return broken;
}

static const char *read_sizes(const char *text, size_t length)
{
    char *copy = strndup(text, length);
    struct vbs_byte_range range;
    struct vbs_shape shape;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    int64_t bytes;
    int *batches, n;
    enum vbs_status status;

    if (!copy)
        return NULL;
    status = vbs_parse_bytes(&ctx, copy, &bytes);
    if (status == VBS_OK ? bytes < 0 : (broken = failed_well(&ctx, status)) != NULL)
        broken = broken ? broken : "sizes are not negative";
    status = vbs_parse_byte_range(&ctx, copy, &range);
    for (int i = 1; status == VBS_OK && i < vbs_byte_range_count(&range); i++)
        if (vbs_byte_range_at(&range, i) <= vbs_byte_range_at(&range, i - 1))
            broken = "ranges ascend";
    if (vbs_shape_parse(&ctx, copy, &shape) == VBS_OK && !vbs_shape_valid(&shape))
        broken = "shapes are valid";
    if (vbs_parse_batches(&ctx, copy, &batches, &n) == VBS_OK)
        free(batches);
    free(copy);
    return broken;
}

/* ---- coded weights ---- */

/* Decodes all blocks into memory of exactly their size, so that sanitizers see what is outside. */
static const char *decode_blocks(const struct vbs_coded *coded)
{
    struct vbs_coded_shape shape;
    const char *broken = NULL;

    vbs_coded_describe(coded, &shape);
    for (int64_t b = 0; !broken && b < shape.n_block_rows * shape.n_block_columns; b++) {
        int64_t n_rows = shape.n_rows - b / shape.n_block_columns * shape.block_rows;
        int64_t n_columns = shape.n_columns - b % shape.n_block_columns * shape.block_columns;
        float *dense;

        n_rows = n_rows < shape.block_rows ? n_rows : shape.block_rows;
        n_columns = n_columns < shape.block_columns ? n_columns : shape.block_columns;
        if (n_rows * n_columns > MAX_BLOCK)
            return NULL; /* a block without entries may be as large as it likes */
        dense = malloc((size_t)(n_rows * n_columns) * sizeof *dense);
        if (!dense)
            return NULL;
        vbs_coded_block(coded, b, dense);
        for (int64_t i = 0; i < n_rows * n_columns; i++)
            if (!isfinite(dense[i]))
                broken = "decoded weights are finite";
        free(dense);
    }
    return broken;
}

/* Decodes all blocks into one matrix of n weights. */
static float *decode_matrix(const struct vbs_coded *coded, const struct vbs_coded_shape *shape)
{
    int64_t n = shape->n_rows * shape->n_columns;
    float *dense = malloc((size_t)n * sizeof *dense), *block = malloc((size_t)n * sizeof *block);

    for (int64_t b = 0; dense && block && b < shape->n_block_rows * shape->n_block_columns; b++) {
        int64_t row = b / shape->n_block_columns * shape->block_rows;
        int64_t column = b % shape->n_block_columns * shape->block_columns;
        int64_t width = shape->n_columns - column;

        width = width < shape->block_columns ? width : shape->block_columns;
        vbs_coded_block(coded, b, block);
        for (int64_t r = 0; r < shape->block_rows && row + r < shape->n_rows; r++)
            memcpy(&dense[(row + r) * shape->n_columns + column], &block[r * width],
                   (size_t)width * sizeof *dense);
    }
    free(block);
    return dense;
}

/* Codes a small matrix in the next form with other blocks; its weights stay what they are. */
static const char *code_anew(const struct vbs_coded *coded)
{
    struct vbs_coded_shape shape, other_shape;
    struct vbs_coded *other = NULL;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    struct vbs_coding_options options = {.index_bits = 3, .block_rows = 5, .block_columns = 11};
    enum vbs_status status;

    vbs_coded_describe(coded, &shape);
    if (shape.n_columns > MAX_ANEW / shape.n_rows)
        return NULL;
    options.coding = (enum vbs_coding)((shape.coding + 1) % VBS_N_CODINGS);
    status = vbs_coded_recode(&ctx, coded, &options, &other);
    if (status == VBS_OK) {
        float *before = decode_matrix(coded, &shape), *after;

        vbs_coded_describe(other, &other_shape);
        after = decode_matrix(other, &other_shape);
        if (before && after &&
            memcmp(before, after, (size_t)(shape.n_rows * shape.n_columns) * sizeof *before) != 0)
            broken = "weights that are coded anew are the same";
        free(before);
        free(after);
    } else if (status != VBS_USAGE) /* too many bits for pairs */
        broken = "coded weights are coded anew";
    vbs_coded_free(other);
    return broken;
}

static const char *read_coded(const char *text, size_t length)
{
    struct vbs_coded *coded = NULL;
    struct vbs_ctx ctx = {0};
    const char *broken;
    void *bytes = malloc(length + 1); /* aligned */
    enum vbs_status status;

    if (!bytes)
        return NULL;
    memcpy(bytes, text, length);
    status = vbs_coded_open(&ctx, bytes, length, &coded);
    broken = status == VBS_OK ? decode_blocks(coded) : failed_well(&ctx, status);
    if (status == VBS_OK && !broken)
        broken = code_anew(coded);
    vbs_coded_free(coded);
    free(bytes);
    return broken;
}

/* ---- networks with coded weights ---- */

static void take_digest(const unsigned char *bytes, uint64_t n, const unsigned char *more,
                        uint64_t n_more, unsigned char *digest)
{
    struct vbs_sha256 hash;

    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, bytes, n);
    vbs_sha256_add(&hash, more, n_more);
    vbs_sha256_end(&hash, digest);
}

/* Makes what a hostile file would have right: places of sections, zeros between, and checksums. */
static void repair(unsigned char *bytes, uint64_t length)
{
    struct vbs_vbz_header header;
    uint64_t end;

    if (length < sizeof header)
        return;
    memcpy(&header, bytes, sizeof header);
    header.n_sections %= 16;
    header.n_bytes = length;
    end = sizeof header + header.n_sections * sizeof(struct vbs_vbz_section);
    if (end > length)
        return;
    for (uint32_t i = 0; i < header.n_sections; i++) {
        unsigned char *at = bytes + sizeof header + i * sizeof(struct vbs_vbz_section);
        struct vbs_vbz_section section;
        uint64_t left;

        memcpy(&section, at, sizeof section);
        section.offset = vbs_vbz_aligned(end);
        if (section.offset > length)
            return;
        left = length - section.offset;
        memset(bytes + end, 0, section.offset - end);
        if (section.n_bytes > left || i + 1 == header.n_sections)
            section.n_bytes = left;
        take_digest(bytes + section.offset, section.n_bytes, NULL, 0, section.digest);
        memcpy(at, &section, sizeof section);
        end = section.offset + section.n_bytes;
    }
    take_digest((const unsigned char *)&header, offsetof(struct vbs_vbz_header, digest),
                bytes + sizeof header, header.n_sections * sizeof(struct vbs_vbz_section),
                header.digest);
    memcpy(bytes, &header, sizeof header);
}

/* Gives whether all blocks are small enough to be decoded. */
static bool has_small_blocks(const struct vbs_network *network)
{
    for (int k = 1; k <= network->n_layers; k++) {
        const struct vbs_coded *coded = vbs_network_coded(network, k);
        struct vbs_coded_shape shape = {0};

        if (coded)
            vbs_coded_describe(coded, &shape);
        if (shape.block_rows * shape.block_columns > MAX_BLOCK)
            return false;
    }
    return true;
}

/* Writes a network that was read anew, and loads that. */
static const char *write_again(const struct vbs_network *network)
{
    struct vbs_layer_weights weights[MAX_WRITTEN];
    char path[] = "/dev/shm/fuzz_vbz.XXXXXX"; /* a disk would be slow */
    int file = mkstemp(path), n = 0;
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    for (int k = 1; k <= network->n_layers && n < MAX_WRITTEN; k++)
        if (vbs_network_coded(network, k))
            weights[n++] = (struct vbs_layer_weights){
                .layer = k, .coded = vbs_network_coded(network, k), .any_form = true};
    if (file < 0 || n == MAX_WRITTEN) /* cannot be tried */
        status = VBS_OK;
    else
        status = vbs_network_write(&ctx, network, weights, n, path);
    if (file >= 0)
        close(file);
    unlink(path);
    return status == VBS_OK ? NULL : "a network that was read can be written";
}

static const char *read_vbz(const char *text, size_t length)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    unsigned char *bytes = malloc(length + 1);
    const char *broken = NULL;
    char path[40];
    int file;

    if (!bytes)
        return NULL;
    memcpy(bytes, text, length);
    repair(bytes, length);
    file = memory_file(bytes, length);
    free(bytes);
    if (file >= 0) {
        enum vbs_status status = vbs_vbz_load(&ctx, path_of(file, path), NULL, &network);

        if (status == VBS_OK && length % 8 == 0)
            broken = write_again(network);
        if (!broken && status == VBS_OK && !has_small_blocks(network))
            vbs_network_free(network);
        else if (!broken)
            broken = end_network(&ctx, status, network);
        close(file);
    }
    return broken;
}

/* ---- folders of images ---- */

/* The files of a format, in the order in which the input has them. */
static const char *const DATA_FILES[][DATA_PIECES] = {
    {"classes.txt", "train-labels-idx1-ubyte", "train-images-idx3-ubyte"},
    {"classes.txt", "train-labels.npy", "train-images.npy"},
    {"classes.txt", "train-labels.npy", "train-images-nhwc.npy"},
    {"batches.meta.txt", "", "data_batch_1.bin"},
};

static void data_path(const char *folder, const char *name, const char *end, char path[96])
{
    snprintf(path, 96, "%s/%s%s", folder, name, end);
}

static bool put_data(const char *folder, const char *name, const char *end, const char *bytes,
                     size_t n)
{
    char path[96];
    FILE *file;
    bool put;

    data_path(folder, name, end, path);
    file = fopen(path, "wb");
    put = file && (n == 0 || fwrite(bytes, 1, n, file) == n);
    if (file && fclose(file) != 0)
        put = false;
    return put;
}

/* Writes the files of a data set: classes, labels, images, each but the last behind two bytes of
 * its length. A file without bytes is left out. The five files of CIFAR-10 are the same. */
static bool put_pieces(const char *folder, int format, const char *end, const char *text,
                       size_t length)
{
    for (int i = 0; i < DATA_PIECES; i++) {
        size_t n = length;

        if (i + 1 < DATA_PIECES) {
            if (length < 2)
                return false;
            n = (unsigned char)text[0] | (size_t)(unsigned char)text[1] << 8;
            text += 2;
            length -= 2;
            n = n < length ? n : length;
        }
        if (n > 0 && DATA_FILES[format][i][0] &&
            !put_data(folder, DATA_FILES[format][i], i == 0 ? "" : end, text, n))
            return false;
        for (int k = 2; format == 3 && i == 2 && k <= 5; k++) {
            char name[32];

            snprintf(name, sizeof name, "data_batch_%d.bin", k);
            if (!put_data(folder, name, "", text, n))
                return false;
        }
        text += n;
        length -= n;
    }
    return true;
}

static void remove_data(const char *folder, int format, const char *end)
{
    char path[96], name[32];

    for (int i = 0; i < DATA_PIECES; i++) {
        data_path(folder, DATA_FILES[format][i], i == 0 ? "" : end, path);
        unlink(path);
    }
    for (int k = 2; format == 3 && k <= 5; k++) {
        snprintf(name, sizeof name, "data_batch_%d.bin", k);
        data_path(folder, name, "", path);
        unlink(path);
    }
    rmdir(folder);
}

/* Reads labels, names and the last image of a data set, varied. */
static const char *use_dataset(const struct vbs_dataset *dataset)
{
    const struct vbs_data_info *info = vbs_dataset_info(dataset);
    struct vbs_variation variation = {.seed = 1, .mirror = true, .max_shift = 3};
    int64_t n = (int64_t)info->channels * info->height * info->width;
    int last = info->n_images - 1;
    float *image;

    if (info->n_images < 1 || n < 1 || n > VBS_DATA_MAX_PIXELS || info->n_classes < 1 ||
        info->largest_label >= info->n_classes)
        return "a data set has images, pixels and classes";
    for (int i = 0; i < info->n_images; i++)
        if (vbs_dataset_label(dataset, i) < 0 || vbs_dataset_label(dataset, i) >= info->n_classes)
            return "labels are classes";
    for (int k = 0; vbs_dataset_class(dataset, 0) && k < info->n_classes; k++)
        if (vbs_dataset_class(dataset, k)[0] == '\0')
            return "classes that have names have all of them";
    image = malloc((size_t)n * sizeof *image);
    if (!image)
        return NULL;
    vbs_dataset_images(dataset, &last, 1, NULL, &variation, image);
    for (int64_t p = 0; p < n; p++)
        if (!isfinite(image[p])) {
            free(image);
            return "pixels are finite";
        }
    free(image);
    return NULL;
}

static const char *read_split(const char *folder, enum vbs_split split, enum vbs_status *status)
{
    struct vbs_dataset *dataset;
    struct vbs_ctx ctx = {0};
    const char *broken;

    *status = vbs_dataset_open(&ctx, folder, split, NULL, &dataset);
    if (*status != VBS_OK)
        return failed_well(&ctx, *status);
    broken = use_dataset(dataset);
    vbs_dataset_free(dataset);
    return broken;
}

static const char *read_folder(const char *folder)
{
    struct vbs_normalise normalise, again;
    struct vbs_ctx ctx = {0};
    enum vbs_status status, other, measured;
    char text[VBS_NORMALISE_SIZE];
    const char *broken = read_split(folder, VBS_SPLIT_TRAIN, &status);

    if (!broken)
        broken = read_split(folder, VBS_SPLIT_VALIDATION, &other);
    if (broken)
        return broken;
    if (other == VBS_OK && status != VBS_OK)
        return "where images can be set aside, there are others";
    measured = vbs_normalise_measure(&ctx, folder, &normalise);
    if (measured != status)
        return "images that can be read have a mean, and no others";
    if (measured == VBS_OK &&
        vbs_normalise_parse(&ctx, SOURCE, vbs_normalise_format(&normalise, text, sizeof text),
                            &again) != VBS_OK)
        return "a mean and a deviation that are written can be read";
    return NULL;
}

static const char *read_data(const char *text, size_t length)
{
    char folder[] = "/dev/shm/fuzz_data.XXXXXX";
    const char *broken = NULL, *end;
    int format;

    if (length < 1 || !mkdtemp(folder))
        return NULL;
    format = text[0] & 3;
    end = text[0] & 4 && format < 3 ? ".gz" : "";
    if (put_pieces(folder, format, end, text + 1, length - 1))
        broken = read_folder(folder);
    remove_data(folder, format, end);
    return broken;
}

/* ---- TOML ---- */

static const char *read_toml(const char *text, size_t length)
{
    struct vbs_text printed = {0};
    struct vbs_ctx ctx = {0};
    json_t *root;
    enum vbs_status status = vbs_toml_parse(&ctx, SOURCE, text, length, &root);
    const char *broken = NULL;

    if (status != VBS_OK)
        return failed_well(&ctx, status);
    vbs_text_add_json(&printed, root, JSON_COMPACT);
    if (!json_is_object(root) || printed.failed)
        broken = "TOML becomes an object that can be printed";
    vbs_text_clear(&printed);
    json_decref(root);
    return broken;
}

/* ---- descriptions of studies and sweeps ---- */

static const char *read_study(const char *text, size_t length)
{
    int file = memory_file(text, length);
    struct vbs_study *study = NULL;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    char path[40];
    enum vbs_status status;

    if (file < 0)
        return NULL;
    status = vbs_study_read(&ctx, path_of(file, path), &study);
    if (status != VBS_OK)
        broken = failed_well(&ctx, status);
    else if (!vbs_study_name(study)[0] || vbs_study_trials(study) < 1)
        broken = "a study has a name and trials";
    vbs_study_free(study);
    close(file);
    return broken;
}

/* Expands the first and the last tasks of a sweep. */
static const char *expand_tasks(struct vbs_sweep *sweep)
{
    int64_t n = vbs_sweep_info(sweep)->n_tasks;
    const char *broken = NULL;

    for (int64_t i = 0; i < n && i < MAX_EXPANDED && !broken; i++) {
        int64_t index = i % 2 ? n - 1 - i / 2 : i / 2;
        struct vbs_sweep_task task = {0};
        struct vbs_ctx ctx = {0};
        enum vbs_status status = vbs_sweep_expand(&ctx, sweep, index, &task);

        if (status != VBS_OK)
            broken = failed_well(&ctx, status);
        else if (!task.words[0])
            broken = "a task has words";
        vbs_sweep_task_clear(&task);
    }
    return broken;
}

static const char *read_sweep(const char *text, size_t length)
{
    int file = memory_file(text, length);
    struct vbs_sweep *sweep = NULL;
    struct vbs_ctx ctx = {0};
    const char *broken = NULL;
    char path[40];
    enum vbs_status status;

    if (file < 0)
        return NULL;
    status = vbs_sweep_load(&ctx, path_of(file, path), &sweep);
    broken = status == VBS_OK ? expand_tasks(sweep) : failed_well(&ctx, status);
    vbs_sweep_free(sweep);
    close(file);
    return broken;
}

/* ---- all readers ---- */

static const struct reader {
    const char *name;
    const char *(*run)(const char *text, size_t length);
} READERS[] = {
    {"profile (CSV)", read_profile},
    {"schedule (JSON)", read_schedule},
    {"network (text)", read_network},
    {"values (npy)", read_npy},
    {"network (ONNX)", read_model},
    {"buffers (CSV)", read_buffers},
    {"network (ONNX) as", read_model_as},
    {"tensor (ONNX)", read_tensor},
    {"network (text) as", read_network_as},
    {"sizes", read_sizes},
    {"coded weights", read_coded},
    {"network (.vbz)", read_vbz},
    {"folder of images", read_data},
    {"TOML", read_toml},
    {"study (TOML)", read_study},
    {"sweep (TOML)", read_sweep},
    {"exported network (text)", export_text},
    {"exported network (ONNX)", export_model},
};

static const struct reader *reader_of(const unsigned char *data, size_t size)
{
    size_t n = sizeof READERS / sizeof READERS[0];

    return &READERS[size > 0 ? (unsigned char)(data[0] - '0') % n : 0];
}

const char *readers_name(const unsigned char *data, size_t size)
{
    return reader_of(data, size)->name;
}

const char *readers_run(const unsigned char *data, size_t size)
{
    return reader_of(data, size)->run((const char *)data + (size > 0), size - (size > 0));
}
