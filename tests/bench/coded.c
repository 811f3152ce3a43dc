/*
 * Layers from coded weights beside dense ones of oneDNN, as ratios within one run. Weights have
 * random positions and a codebook of 5 bits, as the published densities of AlexNet and VGG-16 give
 * them. Each layer is run by turns with its dense counterpart, and the least time of many counts.
 *
 *   coded [THREADS]   default 2
 *
 * Limits: an entry needs a multiplication for each position and sample, so that `peak` is the share
 * of what a loop of multiplications in registers reaches; with few samples, reading the weights
 * from memory is the limit.
 */
#include "vbslab/coded_layer.h"

#include <math.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BITS       5
#define INDEX_BITS 4
#define SECONDS    0.8 /* for all ways of one layer and batch */
#define MOST_WAYS  5

static double now_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "coded: %s\n", what);
    exit(1);
}

static void check(dnnl_status_t status, const char *what)
{
    if (status != dnnl_success)
        give_up(what);
}

static void *allocate(size_t n_bytes)
{
    void *memory = aligned_alloc(64, (n_bytes + 127) / 64 * 64);

    if (!memory)
        give_up("no memory");
    memset(memory, 0, n_bytes);
    return memory;
}

/* ---- Threads: those of oneDNN ---- */

extern void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
extern int omp_get_thread_num(void);
extern void omp_set_num_threads(int n);

struct parallel_job {
    void (*body)(void *job, int i);
    void *job;
};

static void run_thread(void *data)
{
    const struct parallel_job *job = data;

    job->body(job->job, omp_get_thread_num());
}

static void in_parallel(int n, void (*body)(void *job, int i), void *job)
{
    struct parallel_job data = {body, job};

    GOMP_parallel(run_thread, &data, (unsigned)n, 0);
}

static bool gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_stride, const float *b,
                 int64_t b_stride, float *c, int64_t c_stride)
{
    return dnnl_sgemm('N', 'N', m, n, k, 1, a, a_stride, b, b_stride, 1, c, c_stride) ==
           dnnl_success;
}

/* ---- The peak ---- */

#define CHAINS 12 /* sums that are added to at the same time */
#define ROUNDS 20000

/* Multiplications and additions of vectors in registers. Vectors of 8 floats: on processors with
 * AVX2; elsewhere the compiler cuts them. */
typedef float eight __attribute__((vector_size(32)));

#if defined(__x86_64__)
__attribute__((target("avx2,fma")))
#endif
static void
multiply_registers(float *result)
{
    eight a = {0}, b = {0}, c = {0}, d = {0}, e = {0}, f = {0}, x = {0};
    eight g = {0}, h = {0}, i = {0}, j = {0}, k = {0}, l = {0};

    x += *result;
    for (int round = 0; round < ROUNDS; round++) {
        a += x * x, b += x * x, c += x * x, d += x * x, e += x * x, f += x * x;
        g += x * x, h += x * x, i += x * x, j += x * x, k += x * x, l += x * x;
#if defined(__x86_64__)
        /* Hides the sums from the compiler, which would add them once. */
        __asm__ volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f), "+x"(x));
        __asm__ volatile("" : "+x"(g), "+x"(h), "+x"(i), "+x"(j), "+x"(k), "+x"(l));
#elif defined(__aarch64__)
        x += 1e-30F * x;
#endif
    }
    a += b + c + d + e + f + g + h + i + j + k + l;
    *result = a[0] + a[7];
}

/* Gives operations a second of one thread. */
static double find_peak(void)
{
    double best_s = INFINITY;

    for (int i = 0; i < 200; i++) {
        float result = 1e-3F;
        double start = now_s(), time_s;

        multiply_registers(&result);
        time_s = now_s() - start;
        best_s = time_s < best_s ? time_s : best_s;
    }
    return 2.0 * CHAINS * 8 * ROUNDS / best_s;
}

/* ---- Weights ---- */

/* Gives the next number of a sequence that looks random (xorshift: Marsaglia, 2003). */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Positions at random; values of a bell curve, which a codebook of equal steps cuts. */
static void make_weights(int64_t n_rows, int64_t n_columns, double density,
                         struct vbs_quantised *quantised)
{
    const int n_values = 1 << BITS, n_below = n_values / 2;
    uint64_t state = 88172645463325252U;

    *quantised = (struct vbs_quantised){
        .n_rows = n_rows, .n_columns = n_columns, .bits = BITS, .n_values = n_values};
    quantised->codebook = allocate((size_t)n_values * sizeof(float));
    quantised->indices = allocate((size_t)(n_rows * n_columns) * sizeof(uint16_t));
    for (int i = 1; i < n_values; i++)
        quantised->codebook[i] = 0.01F * (float)(i <= n_below ? i - n_below - 1 : i - n_below);
    for (int64_t i = 0; i < n_rows * n_columns; i++) {
        uint64_t random = next_random(&state);
        double sum = 0;

        if ((double)(uint32_t)random >= density * 4294967296.0)
            continue;
        for (int k = 32; k < 56; k += 8)
            sum += (double)(random >> k & 255) / 255;
        quantised->indices[i] = (uint16_t)(1 + (int)(sum / 3 * (n_values - 2)));
    }
}

/* ---- Layers ---- */

/* One way to compute a layer. */
struct way {
    const char *name;
    struct vbs_coded *coded; /* null: oneDNN */
    struct vbs_coded_plan *plan;
    void *weights, *workspace;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arguments[3];
    double best_s;
};

struct subject {
    struct vbs_coded_layer layer; /* without the weights */
    struct vbs_quantised quantised;
    float *input, *output, *dense;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct way ways[MOST_WAYS];
    int n_ways;
};

static void add_coded(struct subject *subject, const char *name, enum vbs_coding coding,
                      enum vbs_coded_method method, int threads)
{
    struct way *way = &subject->ways[subject->n_ways++];
    struct vbs_coding_options options = {.coding = coding, .index_bits = INDEX_BITS};
    struct vbs_coded_layer layer = subject->layer;
    const void *bytes;
    size_t n_bytes;
    int64_t window = 1;

    for (int d = 0; d < layer.n_spatial; d++)
        window *= layer.kernel[d];
    vbs_coded_choose_blocks(coding, subject->quantised.n_rows, subject->quantised.n_columns, window,
                            &options);
    *way = (struct way){.name = name, .best_s = INFINITY};
    if (vbs_code(NULL, &subject->quantised, &options, &way->coded) != VBS_OK)
        give_up("coding failed");
    layer.coded = way->coded;
    layer.method = method;
    layer.gemm = gemm;
    layer.threads = threads;
    layer.parallel = in_parallel;
    if (vbs_coded_plan_new(NULL, &layer, &way->plan) != VBS_OK)
        give_up("planning failed");
    bytes = vbs_coded_bytes(way->coded, &n_bytes);
    way->weights = allocate(n_bytes);
    memcpy(way->weights, bytes, n_bytes);
    way->workspace = allocate((size_t)vbs_coded_plan_workspace(way->plan));
}

/* Puts memory of a primitive's own layout behind one argument. */
static dnnl_memory_t argument_of(struct subject *subject, const_dnnl_primitive_desc_t description,
                                 dnnl_query_t what, void *memory)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(description, what, 0);
    dnnl_memory_t argument;

    if (!memory)
        memory = allocate(dnnl_memory_desc_get_size(md));
    check(dnnl_memory_create(&argument, md, subject->engine, memory), "memory of oneDNN");
    return argument;
}

static void add_primitive(struct subject *subject, const char *name, const_dnnl_op_desc_t operation)
{
    struct way *way = &subject->ways[subject->n_ways++];
    dnnl_primitive_desc_t description;

    *way = (struct way){.name = name, .best_s = INFINITY};
    if (dnnl_primitive_desc_create(&description, operation, NULL, subject->engine, NULL) !=
        dnnl_success) {
        subject->n_ways--;
        return;
    }
    check(dnnl_primitive_create(&way->primitive, description), name);
    way->arguments[0] = (dnnl_exec_arg_t){
        DNNL_ARG_SRC, argument_of(subject, description, dnnl_query_src_md, subject->input)};
    way->arguments[1] = (dnnl_exec_arg_t){
        DNNL_ARG_WEIGHTS, argument_of(subject, description, dnnl_query_weights_md, NULL)};
    way->arguments[2] = (dnnl_exec_arg_t){
        DNNL_ARG_DST, argument_of(subject, description, dnnl_query_dst_md, subject->output)};
    dnnl_primitive_desc_destroy(description);
}

static void add_product(struct subject *subject)
{
    const dnnl_dim_t batch = subject->layer.batch, rows = subject->quantised.n_rows,
                     columns = subject->quantised.n_columns;
    const dnnl_dims_t in = {batch, columns}, weights = {rows, columns}, out = {batch, rows};
    dnnl_memory_desc_t mds[3];
    dnnl_inner_product_desc_t operation;

    check(dnnl_memory_desc_init_by_tag(&mds[0], 2, in, dnnl_f32, dnnl_ab), "input");
    check(dnnl_memory_desc_init_by_tag(&mds[1], 2, weights, dnnl_f32, dnnl_format_tag_any),
          "weights");
    check(dnnl_memory_desc_init_by_tag(&mds[2], 2, out, dnnl_f32, dnnl_ab), "output");
    check(dnnl_inner_product_forward_desc_init(&operation, dnnl_forward_inference, &mds[0], &mds[1],
                                               NULL, &mds[2]),
          "inner product");
    add_primitive(subject, "dense", &operation);
}

static void add_convolution(struct subject *subject, const char *name, dnnl_alg_kind_t algorithm)
{
    const struct vbs_coded_layer *layer = &subject->layer;
    const dnnl_dim_t batch = layer->batch, size = layer->in_size[0];
    const dnnl_dims_t in = {batch, layer->input.channels, size, size};
    const dnnl_dims_t weights = {layer->output.channels, layer->input.channels, layer->kernel[0],
                                 layer->kernel[0]};
    const dnnl_dims_t out = {batch, layer->output.channels, size, size}, stride = {1, 1};
    const dnnl_dims_t padding = {layer->pad_low[0], layer->pad_low[0]};
    dnnl_format_tag_t tag = layer->input.block == 8 ? dnnl_nChw8c : dnnl_nChw16c;
    dnnl_memory_desc_t mds[3];
    dnnl_convolution_desc_t operation;

    check(dnnl_memory_desc_init_by_tag(&mds[0], 4, in, dnnl_f32, tag), "input");
    check(dnnl_memory_desc_init_by_tag(&mds[1], 4, weights, dnnl_f32, dnnl_format_tag_any),
          "weights");
    check(dnnl_memory_desc_init_by_tag(&mds[2], 4, out, dnnl_f32, tag), "output");
    check(dnnl_convolution_forward_desc_init(&operation, dnnl_forward_inference, algorithm, &mds[0],
                                             &mds[1], NULL, &mds[2], stride, padding, padding),
          "convolution");
    add_primitive(subject, name, &operation);
}

static void run_way(const struct subject *subject, struct way *way)
{
    double start = now_s(), time_s;

    if (way->plan) {
        if (!vbs_coded_plan_run(way->plan, way->weights, subject->input, subject->output,
                                way->workspace))
            give_up("a layer failed");
    } else {
        check(dnnl_primitive_execute(way->primitive, subject->stream, 3, way->arguments),
              way->name);
        check(dnnl_stream_wait(subject->stream), way->name);
    }
    time_s = now_s() - start;
    way->best_s = time_s < way->best_s ? time_s : way->best_s;
}

/* Runs all ways by turns, then prints them. */
static void compare(struct subject *subject, const char *name, double peak, int threads)
{
    const struct vbs_coded_layer *layer = &subject->layer;
    double start = now_s();

    for (int round = 0; round < 3 || now_s() - start < SECONDS; round++)
        for (int i = 0; i < subject->n_ways; i++)
            run_way(subject, &subject->ways[i]);
    printf("%-16s %5d", name, layer->batch);
    for (int i = 0; i < subject->n_ways; i++) {
        const struct way *way = &subject->ways[i];
        struct vbs_coded_shape shape;

        printf(" | %s %.2f ms", way->name, 1e3 * way->best_s);
        if (!way->coded)
            continue;
        vbs_coded_describe(way->coded, &shape);
        printf(" x%.2f %.0f%%", subject->ways[0].best_s / way->best_s,
               200.0 * (double)(shape.n_nonzero * layer->output.n_positions * layer->batch) /
                   way->best_s / peak / threads);
    }
    printf("\n");
    fflush(stdout);
}

static void ways_clear(struct subject *subject)
{
    for (int w = 0; w < subject->n_ways; w++) {
        struct way *way = &subject->ways[w];

        vbs_coded_plan_free(way->plan);
        vbs_coded_free(way->coded);
        free(way->weights);
        free(way->workspace);
        for (int a = 0; way->primitive && a < 3; a++) {
            void *memory;

            check(dnnl_memory_get_data_handle(way->arguments[a].memory, &memory), "memory");
            if (way->arguments[a].arg == DNNL_ARG_WEIGHTS)
                free(memory);
            dnnl_memory_destroy(way->arguments[a].memory);
        }
        if (way->primitive)
            dnnl_primitive_destroy(way->primitive);
    }
    subject->n_ways = 0;
}

static struct vbs_coded_tensor tensor(int64_t channels, int64_t n_positions, int64_t block)
{
    return (struct vbs_coded_tensor){.channels = channels,
                                     .stored_channels = channels,
                                     .n_positions = n_positions,
                                     .block = block,
                                     .block_stride = block * n_positions,
                                     .channel_stride = 1,
                                     .position_stride = block,
                                     .sample_stride = channels * n_positions};
}

static void fill_input(struct subject *subject)
{
    const struct vbs_coded_layer *layer = &subject->layer;
    size_t n_in = (size_t)(layer->input.sample_stride * layer->batch);
    uint64_t state = 1;

    subject->input = allocate(n_in * sizeof(float));
    subject->output =
        allocate((size_t)(layer->output.sample_stride * layer->batch) * sizeof(float));
    for (size_t i = 0; i < n_in; i++)
        subject->input[i] = 0.01F * (float)(next_random(&state) % 200) - 1;
}

static void bench_products(struct subject *subject, double peak, int threads)
{
    static const int BATCHES[] = {1, 16, 64, 128};
    const int64_t n_rows = 4096, n_columns = 9216;

    make_weights(n_rows, n_columns, 0.09, &subject->quantised);
    for (size_t b = 0; b < sizeof BATCHES / sizeof BATCHES[0]; b++) {
        subject->layer = (struct vbs_coded_layer){.batch = BATCHES[b],
                                                  .groups = 1,
                                                  .input = tensor(n_columns, 1, n_columns),
                                                  .output = tensor(n_rows, 1, n_rows)};
        fill_input(subject);
        add_product(subject);
        add_coded(subject, "bytes", VBS_CODING_BYTES, VBS_CODED_SPARSE, threads);
        add_coded(subject, "joint", VBS_CODING_JOINT, VBS_CODED_SPARSE, threads);
        add_coded(subject, "comp", VBS_CODING_COMP, VBS_CODED_SPARSE, threads);
        add_coded(subject, "joint, gemm", VBS_CODING_JOINT, VBS_CODED_DENSE, threads);
        compare(subject, "alexnet fc6 9%", peak, threads);
        ways_clear(subject);
        free(subject->input);
        free(subject->output);
    }
    vbs_quantised_clear(&subject->quantised);
}

static void bench_convolutions(struct subject *subject, double peak, int threads)
{
    static const struct {
        const char *name;
        int64_t in, out, size, kernel;
        double density;
    } LAYERS[] = {{"alexnet conv3", 256, 384, 13, 3, 0.35},
                  {"vgg conv4_2", 512, 512, 28, 3, 0.27},
                  {"vgg conv5_2", 512, 512, 14, 3, 0.10}};

    for (size_t i = 0; i < sizeof LAYERS / sizeof LAYERS[0]; i++) {
        int64_t size = LAYERS[i].size, kernel = LAYERS[i].kernel;
        char name[64];

        make_weights(LAYERS[i].out, LAYERS[i].in * kernel * kernel, LAYERS[i].density,
                     &subject->quantised);
        subject->layer = (struct vbs_coded_layer){.batch = 16,
                                                  .groups = 1,
                                                  .input = tensor(LAYERS[i].in, size * size, 8),
                                                  .output = tensor(LAYERS[i].out, size * size, 8),
                                                  .n_spatial = 2,
                                                  .in_size = {size, size},
                                                  .out_size = {size, size},
                                                  .kernel = {kernel, kernel},
                                                  .stride = {1, 1},
                                                  .dilation = {1, 1},
                                                  .pad_low = {kernel / 2, kernel / 2}};
        fill_input(subject);
        add_convolution(subject, "direct", dnnl_convolution_direct);
        add_convolution(subject, "winograd", dnnl_convolution_winograd);
        add_coded(subject, "bytes", VBS_CODING_BYTES, VBS_CODED_SPARSE, threads);
        add_coded(subject, "joint", VBS_CODING_JOINT, VBS_CODED_SPARSE, threads);
        snprintf(name, sizeof name, "%s %.0f%%", LAYERS[i].name, 100 * LAYERS[i].density);
        compare(subject, name, peak, threads);
        ways_clear(subject);
        free(subject->input);
        free(subject->output);
        vbs_quantised_clear(&subject->quantised);
    }
}

/* Dense floats a second that one thread decodes block by block. */
static void bench_decoding(struct subject *subject)
{
    const int64_t n_rows = 4096, n_columns = 9216;

    make_weights(n_rows, n_columns, 0.09, &subject->quantised);
    printf("decoding fc6 to dense blocks, one thread:");
    for (int coding = 0; coding < VBS_N_CODINGS; coding++) {
        struct vbs_coding_options options = {.coding = (enum vbs_coding)coding,
                                             .index_bits = INDEX_BITS};
        double best_s = INFINITY;
        struct vbs_coded *coded;
        struct vbs_coded_shape shape;
        float *dense;

        vbs_coded_choose_blocks(options.coding, n_rows, n_columns, 1, &options);
        if (vbs_code(NULL, &subject->quantised, &options, &coded) != VBS_OK)
            give_up("coding failed");
        vbs_coded_describe(coded, &shape);
        dense = allocate((size_t)(shape.block_rows * shape.block_columns) * sizeof *dense);
        for (int round = 0; round < 10; round++) {
            double start = now_s(), time_s;

            for (int64_t b = 0; b < shape.n_block_rows * shape.n_block_columns; b++)
                vbs_coded_block(coded, b, dense);
            time_s = now_s() - start;
            best_s = time_s < best_s ? time_s : best_s;
        }
        printf(" %s %.1f GB/s", vbs_coding_name(options.coding),
               (double)(n_rows * n_columns) * sizeof(float) / best_s / 1e9);
        free(dense);
        vbs_coded_free(coded);
    }
    printf("\n");
    vbs_quantised_clear(&subject->quantised);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    struct subject subject = {0};
    double peak = find_peak();

    threads = threads > 0 ? threads : 2;
    omp_set_num_threads(threads);
    check(dnnl_engine_create(&subject.engine, dnnl_cpu, 0), "engine");
    check(dnnl_stream_create(&subject.stream, subject.engine, dnnl_stream_default_flags), "stream");
    printf("Layers from coded weights, %d threads. x: times as fast as the first way; %%: share of "
           "the "
           "peak,\nwhich is %.1f GFLOP/s a thread.\n\n",
           threads, peak / 1e9);
    bench_products(&subject, peak, threads);
    bench_convolutions(&subject, peak, threads);
    bench_decoding(&subject);
    dnnl_stream_destroy(subject.stream);
    dnnl_engine_destroy(subject.engine);
    return 0;
}
