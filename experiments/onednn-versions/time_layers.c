/*
 * Times the kernels of every layer of a list with the oneDNN that it is run with, as CSV on the
 * standard output:
 *
 *     time_layers LAYERS BATCH PASSES TYPE
 *
 * LAYERS is a file that layers.awk prints. Each layer has bias and ReLU fused, as in vbslab, and is
 * tried with vbslab's canonical layout (nChw16c, channels padded to 16; the images as they come,
 * nchw) and, for convolutions, with the layouts that the library prefers. A pass runs all layers in
 * order, each with the next of its kernels, so that weights are as cold as in a whole network. Two
 * passes for each kernel warm up; kernels much slower than the best of their kind are then left
 * out; PASSES for each kernel that is left are timed. The time of a run with an involuntary context
 * switch is negative.
 *
 * TYPE is f32, or int8: activations of 8 bits without a sign, weights of 8 bits with one scale for
 * each output channel, one scale for each activation, biases in f32. The canonical layout of int8
 * has the channels last, and pads nothing.
 *
 * It is built once with the headers of oneDNN 2 and once with the headers of oneDNN 3; the second
 * binary runs with any 3.x. Memory that is needed until the end is not freed.
 */
#include "dnnl_versions.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { MAX_LAYERS = 64, MAX_KERNELS = 40, CHANNEL_BLOCK = 16, HUGE_PAGE = 2 << 20 };

/* A kernel is left out when it takes more than slow_ratio times as long as the best of its kind,
 * and slow_slack_us in addition. */
static const double slow_ratio = 1.5, slow_slack_us = 20;

struct layer {
    char network[32], name[64], kind[8];
    int channels, height, width, out_channels, kernel, stride, pad, groups;
    int out_height, out_width;
};

/* One kernel of a layer with its layouts. */
struct kernel {
    char name[80], src_layout[8], dst_layout[8];
    bool any_layout; /* found where the library may choose the layouts */
    bool also_any;   /* a kernel of the canonical layout that the library also chose then */
    bool left_out;
    size_t weight_bytes, scratch_bytes;
    dnnl_primitive_t primitive;
    dnnl_memory_t src, dst, scratch;
    dnnl_exec_arg_t args[8];
    int n_args;
    double warm_us; /* fastest undisturbed run while warming up; 0: all were disturbed */
    double *us;
    int n_us;
};

/* Weights in one layout, shared by all kernels of a layer that take it. */
struct packed {
    od_md md;
    void *data;
};

struct kernels {
    struct kernel all[MAX_KERNELS];
    int n;
    struct packed packed[MAX_KERNELS];
    int n_packed;
};

struct bench {
    struct layer layers[MAX_LAYERS];
    struct kernels *kernels; /* of each layer */
    int n_layers, batch, passes;
    bool int8;
    float *scales; /* of int8: of output channels, or of an activation */
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    void *activations[2]; /* each layer reads one and writes the other, in turn */
    size_t activation_bytes;
    void *scratch;
    size_t scratch_bytes;
    uint32_t random;
};

/* The shapes of a layer's tensors, plain or in the canonical layout. */
struct shapes {
    int n_dims, n_weight_dims;
    dnnl_dims_t src, dst, weights, bias;
};

#define CHECK(call)                                                                                \
    do {                                                                                           \
        dnnl_status_t status_ = (call);                                                            \
        if (status_ != dnnl_success)                                                               \
            fail(#call, (int)status_);                                                             \
    } while (0)

static void fail(const char *what, int status)
{
    fprintf(stderr, "time_layers: %s: %d\n", what, status);
    exit(1);
}

/* ---- memory and time ---- */

/* Makes a zeroed buffer, on huge pages where the system has them, because page faults and TLB
 * misses vary from run to run. */
static void *new_buffer(size_t bytes)
{
    size_t whole = (bytes + HUGE_PAGE) / HUGE_PAGE * HUGE_PAGE;
    void *data = aligned_alloc(HUGE_PAGE, whole);

    if (!data)
        fail("no memory", 0);
    madvise(data, whole, MADV_HUGEPAGE);
    memset(data, 0, whole);
    return data;
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static long disturbances(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

static float random_value(struct bench *b) /* in [-1, 1) */
{
    b->random = b->random * 1664525u + 1013904223u;
    return (float)(b->random >> 8) / 8388608.0f - 1;
}

/* ---- layers ---- */

static bool is_fc(const struct layer *y)
{
    return y->kind[0] == 'f';
}

static void read_layers(struct bench *b, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[512];

    if (!file)
        fail(path, 0);
    while (fgets(line, sizeof line, file)) {
        struct layer *y = &b->layers[b->n_layers];

        if (b->n_layers++ == MAX_LAYERS)
            fail("too many layers", MAX_LAYERS);
        if (sscanf(line, "%31s %63s %7s %d %d %d %d %d %d %d %d", y->network, y->name, y->kind,
                   &y->channels, &y->height, &y->width, &y->out_channels, &y->kernel, &y->stride,
                   &y->pad, &y->groups) != 11 ||
            y->stride < 1 || y->groups < 1)
            fail("not a layer", b->n_layers);
        y->out_height = (y->height + 2 * y->pad - y->kernel) / y->stride + 1;
        y->out_width = (y->width + 2 * y->pad - y->kernel) / y->stride + 1;
    }
    fclose(file);
}

static int padded(int channels)
{
    return (channels + CHANNEL_BLOCK - 1) / CHANNEL_BLOCK * CHANNEL_BLOCK;
}

static bool reads_images(const struct layer *y)
{
    return y->channels <= 3;
}

static bool is_whole_blocks(const struct layer *y)
{
    return padded(y->out_channels) == y->out_channels &&
           (reads_images(y) || padded(y->channels) == y->channels);
}

static struct shapes shapes_of(const struct bench *b, const struct layer *y, bool any_layout)
{
    int batch = b->batch;
    bool pads = !b->int8 && !any_layout && !is_fc(y) && y->groups == 1;
    int in = pads && !reads_images(y) ? padded(y->channels) : y->channels;
    int out = pads ? padded(y->out_channels) : y->out_channels;
    struct shapes s = {.n_dims = is_fc(y) ? 2 : 4,
                       .src = {batch, in, y->height, y->width},
                       .dst = {batch, out, y->out_height, y->out_width},
                       .bias = {out}};

    if (y->groups > 1)
        s.weights[s.n_weight_dims++] = y->groups;
    s.weights[s.n_weight_dims++] = out / y->groups;
    s.weights[s.n_weight_dims++] = in / y->groups;
    if (!is_fc(y)) {
        s.weights[s.n_weight_dims++] = y->kernel;
        s.weights[s.n_weight_dims++] = y->kernel;
    }
    return s;
}

static struct od_operands operands_of(const struct bench *b, const struct layer *y,
                                      const struct shapes *s, bool any_layout)
{
    dnnl_format_tag_t canonical = b->int8 ? dnnl_nhwc : dnnl_nChw16c;
    dnnl_format_tag_t dst = is_fc(y) ? dnnl_nc : any_layout ? dnnl_format_tag_any : canonical;
    dnnl_format_tag_t src = is_fc(y) || any_layout || b->int8 || !reads_images(y) ? dst : dnnl_nchw;
    dnnl_data_type_t activation = b->int8 ? dnnl_u8 : dnnl_f32;

    struct od_operands o = {
        .src = od_make(s->n_dims, s->src, activation, src),
        .weights = od_make(s->n_weight_dims, s->weights, b->int8 ? dnnl_s8 : dnnl_f32,
                           dnnl_format_tag_any),
        .bias = od_make(1, s->bias, dnnl_f32, dnnl_a),
        .dst = od_make(s->n_dims, s->dst, activation, dst),
    };

    if (!o.src || !o.weights || !o.bias || !o.dst)
        fail(y->name, 0);
    return o;
}

static const char *layout_of(const struct bench *b, od_md md, int n_dims, const dnnl_dims_t dims)
{
    static const struct {
        dnnl_format_tag_t tag;
        const char *name;
    } tags[] = {
        {dnnl_nchw, "nchw"},     {dnnl_nhwc, "nhwc"},     {dnnl_nChw16c, "nChw16c"},
        {dnnl_nChw8c, "nChw8c"}, {dnnl_nChw4c, "nChw4c"},
    };

    if (n_dims == 2)
        return "nc";
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        od_md other = od_make(n_dims, dims, b->int8 ? dnnl_u8 : dnnl_f32, tags[i].tag);

        if (other && dnnl_memory_desc_equal(other, md))
            return tags[i].name;
    }
    return "other";
}

/* ---- weights ---- */

static float *plain_weights(struct bench *b, const struct shapes *s)
{
    enum { PERIOD = 262139 }; /* a prime, so that all channels differ */
    size_t n = 1;

    for (int i = 0; i < s->n_weight_dims; i++)
        n *= (size_t)s->weights[i];

    float *values = new_buffer(n * sizeof *values);
    float scale = b->int8 ? 127 /* the range of a byte, or what keeps the size of activations */
                          : sqrtf(6.0f * (float)s->bias[0] / (float)n);

    for (size_t i = 0; i < n && i < PERIOD; i++)
        values[i] = scale * random_value(b);
    for (size_t i = PERIOD; i < n; i += PERIOD)
        memcpy(values + i, values, sizeof *values * (n - i < PERIOD ? n - i : PERIOD));
    return values;
}

static void reorder(struct bench *b, od_md from, void *from_data, od_md to, void *to_data)
{
    dnnl_memory_t source, target;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;

    CHECK(dnnl_memory_create(&source, from, b->engine, from_data));
    CHECK(dnnl_memory_create(&target, to, b->engine, to_data));
    CHECK(dnnl_reorder_primitive_desc_create(&desc, from, b->engine, to, b->engine, NULL));
    CHECK(dnnl_primitive_create(&primitive, desc));

    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}};

    CHECK(dnnl_primitive_execute(primitive, b->stream, 2, args));
    CHECK(dnnl_stream_wait(b->stream));
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(desc);
    dnnl_memory_destroy(source);
    dnnl_memory_destroy(target);
}

static void *packed_weights(struct bench *b, struct kernels *kernels, od_md md,
                            const struct shapes *s)
{
    for (int i = 0; i < kernels->n_packed; i++)
        if (dnnl_memory_desc_equal(kernels->packed[i].md, md))
            return kernels->packed[i].data;

    dnnl_format_tag_t tag = s->n_weight_dims == 2   ? dnnl_ab
                            : s->n_weight_dims == 4 ? dnnl_abcd
                                                    : dnnl_abcde;
    float *plain = plain_weights(b, s);
    void *data = new_buffer(dnnl_memory_desc_get_size(md));

    reorder(b, od_make(s->n_weight_dims, s->weights, dnnl_f32, tag), plain, md, data);
    free(plain);
    kernels->packed[kernels->n_packed++] = (struct packed){md, data};
    return data;
}

/* ---- the kernels of a layer ---- */

/* Whether a kernel is one of those that were never the fastest in a trial with AlexNet at batch 1.
 */
static bool is_dominated(const struct layer *y, const char *kernel)
{
    return strncmp(kernel, "ref", 3) == 0 || strstr(kernel, "sse41") ||
           (!is_fc(y) && strstr(kernel, "avx2")) ||
           (!is_fc(y) && y->kernel > 1 && strstr(kernel, "gemm"));
}

/* Whether the layer has this kernel already, perhaps found for the canonical layout. */
static bool is_known(const struct layer *y, struct kernels *kernels, const struct kernel *kernel)
{
    bool known = false;

    for (int i = 0; i < kernels->n; i++) {
        struct kernel *other = &kernels->all[i];

        if (strcmp(other->name, kernel->name) != 0 ||
            strcmp(other->src_layout, kernel->src_layout) != 0 ||
            strcmp(other->dst_layout, kernel->dst_layout) != 0)
            continue;
        if (other->any_layout == kernel->any_layout) {
            known = true;
        } else if (kernel->any_layout && is_whole_blocks(y)) {
            other->also_any = true;
            known = true;
        }
    }
    return known;
}

static dnnl_memory_t add_arg(struct bench *b, struct kernel *kernel, int arg, od_md md, void *data)
{
    dnnl_memory_t memory;

    CHECK(dnnl_memory_create(&memory, md, b->engine, data));
    kernel->args[kernel->n_args++] = (dnnl_exec_arg_t){arg, memory};
    return memory;
}

static void at_least(size_t *size, size_t needed)
{
    if (*size < needed)
        *size = needed;
}

/* Adds the scales of int8, where the version takes them when a kernel runs. */
static void add_scales(struct bench *b, struct kernel *kernel, int n_channels)
{
    for (int i = 0; i < OD_N_SCALES; i++) {
        dnnl_dims_t n = {od_scale_args[i].by_channel ? n_channels : 1};

        add_arg(b, kernel, od_scale_args[i].arg, od_make(1, n, dnnl_f32, dnnl_a), b->scales);
    }
}

/* Adds a kernel; true where it was added, and then `desc` must stay allocated. */
static bool add_kernel(struct bench *b, int layer, struct kernel kernel, dnnl_primitive_desc_t desc,
                       const struct shapes *s)
{
    const struct layer *y = &b->layers[layer];
    struct kernels *kernels = &b->kernels[layer];
    od_md src = dnnl_primitive_desc_query_md(desc, dnnl_query_src_md, 0);
    od_md dst = dnnl_primitive_desc_query_md(desc, dnnl_query_dst_md, 0);
    od_md weights = dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    od_md bias = dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 1);
    od_md scratch = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);

    strcpy(kernel.src_layout, layout_of(b, src, s->n_dims, s->src));
    strcpy(kernel.dst_layout, layout_of(b, dst, s->n_dims, s->dst));
    if (is_known(y, kernels, &kernel) ||
        dnnl_primitive_create(&kernel.primitive, desc) != dnnl_success)
        return false;
    if (kernels->n == MAX_KERNELS)
        fail("too many kernels", MAX_KERNELS);

    kernel.weight_bytes = dnnl_memory_desc_get_size(weights);
    kernel.scratch_bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
    at_least(&b->activation_bytes, dnnl_memory_desc_get_size(src));
    at_least(&b->activation_bytes, dnnl_memory_desc_get_size(dst));
    at_least(&b->scratch_bytes, kernel.scratch_bytes);
    kernel.src = add_arg(b, &kernel, DNNL_ARG_SRC, src, NULL);
    kernel.dst = add_arg(b, &kernel, DNNL_ARG_DST, dst, NULL);
    add_arg(b, &kernel, DNNL_ARG_WEIGHTS, weights, packed_weights(b, kernels, weights, s));
    add_arg(b, &kernel, DNNL_ARG_BIAS, bias, new_buffer(dnnl_memory_desc_get_size(bias)));
    if (kernel.scratch_bytes)
        kernel.scratch = add_arg(b, &kernel, DNNL_ARG_SCRATCHPAD, scratch, NULL);
    if (b->int8)
        add_scales(b, &kernel, (int)s->bias[0]);
    kernel.us = new_buffer(sizeof *kernel.us * (size_t)b->passes * MAX_KERNELS);
    kernels->all[kernels->n++] = kernel;
    return true;
}

static dnnl_primitive_attr_t new_attr(const struct bench *b, const struct layer *y)
{
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t ops;

    CHECK(dnnl_primitive_attr_create(&attr));
    CHECK(dnnl_post_ops_create(&ops));
    CHECK(od_append_relu(ops));
    CHECK(dnnl_primitive_attr_set_post_ops(attr, ops));
    CHECK(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    if (b->int8)
        CHECK(od_set_scales(attr, y->groups > 1, y->out_channels, b->scales));
    return attr;
}

static void add_kernels(struct bench *b, int layer, bool any_layout, dnnl_alg_kind_t algorithm)
{
    const struct layer *y = &b->layers[layer];
    struct shapes s = shapes_of(b, y, any_layout);
    struct od_operands operands = operands_of(b, y, &s, any_layout);
    struct od_window window = {
        .strides = {y->stride, y->stride}, .low = {y->pad, y->pad}, .high = {y->pad, y->pad}};
    dnnl_primitive_attr_t attr = new_attr(b, y);
    struct od_kernels kernels;
    dnnl_status_t status =
        is_fc(y) ? od_begin_fc(&kernels, b->engine, &operands, attr)
                 : od_begin_conv(&kernels, b->engine, algorithm, &operands, &window, attr);

    if (status != dnnl_success)
        return; /* for example Winograd, where the library has none */
    for (; status == dnnl_success; status = od_next(&kernels)) {
        dnnl_primitive_desc_t desc = od_get(&kernels);
        struct kernel kernel = {.any_layout = any_layout};
        const char *name = NULL;

        if (!desc)
            fail("no memory", 0);
        CHECK(dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, (void *)&name));
        snprintf(kernel.name, sizeof kernel.name, "%s", name);
        if (is_dominated(y, kernel.name) || !add_kernel(b, layer, kernel, desc, &s))
            dnnl_primitive_desc_destroy(desc);
    }
    od_end(&kernels);
}

/* Fills a buffer for activations with values that are not negative. */
static void fill(struct bench *b, void *data)
{
    for (size_t i = 0; b->int8 && i < b->activation_bytes; i++)
        ((uint8_t *)data)[i] = (uint8_t)(fabsf(random_value(b)) * 255);
    for (size_t i = 0; !b->int8 && i < b->activation_bytes / sizeof(float); i++)
        ((float *)data)[i] = fabsf(random_value(b));
}

static void prepare(struct bench *b)
{
    enum { MAX_CHANNELS = 1 << 16 };

    CHECK(dnnl_engine_create(&b->engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&b->stream, b->engine, dnnl_stream_default_flags));
    b->scales = new_buffer(sizeof *b->scales * MAX_CHANNELS);
    for (int i = 0; i < MAX_CHANNELS; i++)
        b->scales[i] = 1.0f / 1024; /* leaves most sums in the range of a byte */
    b->kernels = new_buffer(sizeof *b->kernels * (size_t)b->n_layers);
    for (int l = 0; l < b->n_layers; l++) {
        add_kernels(b, l, false, dnnl_convolution_direct);
        if (!is_fc(&b->layers[l])) {
            add_kernels(b, l, false, dnnl_convolution_winograd);
            add_kernels(b, l, true, dnnl_convolution_direct);
            add_kernels(b, l, true, dnnl_convolution_winograd);
        }
        if (b->kernels[l].n == 0)
            fail(b->layers[l].name, 0);
    }
    for (int i = 0; i < 2; i++) {
        b->activations[i] = new_buffer(b->activation_bytes);
        fill(b, b->activations[i]);
    }
    b->scratch = new_buffer(b->scratch_bytes);
}

/* ---- timing ---- */

/* Microseconds of one run; negative when it was disturbed. */
static double run(struct bench *b, int layer, struct kernel *kernel)
{
    CHECK(dnnl_memory_set_data_handle(kernel->src, b->activations[layer % 2]));
    CHECK(dnnl_memory_set_data_handle(kernel->dst, b->activations[(layer + 1) % 2]));
    if (kernel->scratch)
        CHECK(dnnl_memory_set_data_handle(kernel->scratch, b->scratch));

    long before = disturbances();
    double began = now_us();

    CHECK(dnnl_primitive_execute(kernel->primitive, b->stream, kernel->n_args, kernel->args));
    CHECK(dnnl_stream_wait(b->stream));

    double us = now_us() - began;

    return disturbances() == before ? us : -us;
}

static int n_left(const struct kernels *kernels)
{
    int n = 0;

    for (int i = 0; i < kernels->n; i++)
        n += !kernels->all[i].left_out;
    return n;
}

static int most_left(const struct bench *b)
{
    int most = 0;

    for (int l = 0; l < b->n_layers; l++)
        if (n_left(&b->kernels[l]) > most)
            most = n_left(&b->kernels[l]);
    return most;
}

static struct kernel *nth_left(struct kernels *kernels, int n)
{
    int i = 0;

    while (kernels->all[i].left_out || n-- > 0)
        i++;
    return &kernels->all[i];
}

static void warm_up(struct bench *b)
{
    int n_passes = 2 * most_left(b);

    for (int pass = 0; pass < n_passes; pass++)
        for (int l = 0; l < b->n_layers; l++) {
            struct kernel *kernel = &b->kernels[l].all[pass % b->kernels[l].n];
            double us = run(b, l, kernel);

            if (us > 0 && (kernel->warm_us == 0 || us < kernel->warm_us))
                kernel->warm_us = us;
        }
}

/* The kind of a kernel: canonical or any layout, direct or Winograd. */
static int kind_of(const struct kernel *kernel)
{
    return kernel->any_layout * 2 + !!strstr(kernel->name, "wino");
}

static void leave_out_slow(struct kernels *kernels)
{
    double best[4] = {INFINITY, INFINITY, INFINITY, INFINITY};

    for (int i = 0; i < kernels->n; i++) {
        const struct kernel *kernel = &kernels->all[i];

        if (kernel->warm_us > 0)
            best[kind_of(kernel)] = fmin(best[kind_of(kernel)], kernel->warm_us);
    }
    best[2] = fmin(best[2], best[0]); /* the canonical layout counts among the free ones */
    for (int i = 0; i < kernels->n; i++)
        kernels->all[i].left_out =
            kernels->all[i].warm_us > slow_ratio * best[kind_of(&kernels->all[i])] + slow_slack_us;
}

static void time_all(struct bench *b)
{
    warm_up(b);
    for (int l = 0; l < b->n_layers; l++)
        leave_out_slow(&b->kernels[l]);

    int n_passes = b->passes * most_left(b);

    for (int pass = 0; pass < n_passes; pass++)
        for (int l = 0; l < b->n_layers; l++) {
            struct kernel *kernel = nth_left(&b->kernels[l], pass % n_left(&b->kernels[l]));

            kernel->us[kernel->n_us++] = run(b, l, kernel);
        }
}

/* ---- results ---- */

static void print_kernel(const struct bench *b, int layer, const struct kernel *kernel)
{
    const dnnl_version_t *v = dnnl_version();
    const struct layer *y = &b->layers[layer];

    printf("%d.%d.%d,%s,%s,%d,%d,%s,%s,%s,%s,%s,%s,%d,%zu,%zu,%d,", v->major, v->minor, v->patch,
           b->int8 ? "int8" : "f32", y->network, b->batch, layer, y->name, y->kind,
           kernel->any_layout ? "any" : "home", kernel->name, kernel->src_layout,
           kernel->dst_layout, kernel->also_any, kernel->weight_bytes, kernel->scratch_bytes,
           kernel->left_out);
    if (kernel->left_out)
        printf("%.1f", kernel->warm_us);
    for (int i = 0; i < kernel->n_us; i++)
        printf("%s%.1f", i > 0 ? " " : "", kernel->us[i]);
    putchar('\n');
}

int main(int argc, char **argv)
{
    struct bench b = {.random = 1};

    b.batch = argc == 5 ? atoi(argv[2]) : 0;
    b.passes = argc == 5 ? atoi(argv[3]) : 0;
    b.int8 = argc == 5 && strcmp(argv[4], "int8") == 0;
    if (b.batch < 1 || b.passes < 1 || (!b.int8 && strcmp(argv[4], "f32") != 0)) {
        fputs("usage: time_layers LAYERS BATCH PASSES f32|int8\n", stderr);
        return 2;
    }
    if (dnnl_version()->major != DNNL_VERSION_MAJOR)
        fail("built for another oneDNN than", dnnl_version()->major);
    read_layers(&b, argv[1]);
    prepare(&b);
    time_all(&b);
    puts("version,type,network,batch,layer,name,kind,layouts,kernel,src,dst,also_any,weight_bytes,"
         "scratch_bytes,dropped,samples_us");
    for (int l = 0; l < b.n_layers; l++)
        for (int i = 0; i < b.kernels[l].n; i++)
            print_kernel(&b, l, &b.kernels[l].all[i]);
    return fflush(stdout) != 0;
}
