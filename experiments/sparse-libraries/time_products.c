/*
 * time_products ROWS COLUMNS DENSITY BITS INDEX-BITS THREADS ROUNDS BATCH... - the product of a
 * pruned, quantised matrix with a batch, by vbslab from coded weights and by libraries from
 * compressed rows, one after the other in each round. Prints a line of CSV for each: the fastest
 * and the median time (of one thread that of its processor, which other processes do not add to),
 * the bytes that hold the matrix, and the largest difference from sums in double precision,
 * relative to the largest output. MKL_RT names MKL's library; without it MKL is left out.
 */
#include "vbslab/coded_layer.h"
#include "vbslab/status.h"

#include <dlfcn.h>
#include <math.h>
#include <omp.h>
#include <pthreadpool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xnnpack.h>

#define MAX_ROUNDS 200

void eigen_product(int n_rows, int n_columns, int n, const int *starts, const int *columns,
                   const float *values, const float *input, int batch, float *output, int threads);

/* Everything that is timed reads this. */
static struct {
    int n_rows, n_columns, batch, threads, n;
    float *dense;          /* [rows][columns] */
    int *starts, *columns; /* compressed rows */
    float *values;
    float *plain;  /* [batch][columns] of the input */
    float *input;  /* [columns][batch], as libraries like it best */
    float *output; /* [rows][batch] */
    float *by_row; /* [batch][rows] */
    struct vbs_coded *coded[2];
    struct vbs_coded_plan *plans[2];
    void *weights[2], *workspace[2];
} work;

static void fail(const char *what)
{
    fprintf(stderr, "time_products: %s\n", what);
    exit(1);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(work.threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *allocate(size_t n_bytes)
{
    void *memory = aligned_alloc(64, (n_bytes + 127) / 64 * 64);

    if (!memory)
        fail("memory is out");
    memset(memory, 0, n_bytes);
    return memory;
}

static uint64_t state = 88172645463325252U;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static float normal(void)
{
    return (float)(sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()));
}

/* ---- vbslab ---- */

static void in_parallel(int n, void (*body)(void *job, int i), void *job)
{
#pragma omp parallel for num_threads(work.threads) schedule(static, 1)
    for (int i = 0; i < n; i++)
        body(job, i);
}

static void make_plan(int which, const struct vbs_quantised *quantised, enum vbs_coding coding,
                      int index_bits)
{
    const struct vbs_coding_options options = {coding, index_bits, 64, 1024};
    struct vbs_coded_layer layer = {
        .batch = work.batch,
        .groups = 1,
        .threads = work.threads,
        .parallel = in_parallel,
        .input = {work.n_columns, work.n_columns, 1, work.n_columns, 0, 1, 1, work.n_columns},
        .output = {work.n_rows, work.n_rows, 1, work.n_rows, 0, 1, 1, work.n_rows}};
    struct vbs_ctx *ctx = vbs_ctx_new();
    const void *bytes;
    size_t n_bytes;

    if (vbs_code(ctx, quantised, &options, &work.coded[which]) != VBS_OK)
        fail(vbs_detail(ctx));
    layer.coded = work.coded[which];
    if (vbs_coded_plan_new(ctx, &layer, &work.plans[which]) != VBS_OK)
        fail(vbs_detail(ctx));
    bytes = vbs_coded_bytes(work.coded[which], &n_bytes);
    work.weights[which] = allocate(n_bytes);
    memcpy(work.weights[which], bytes, n_bytes);
    vbs_ctx_free(ctx);
    work.workspace[which] = allocate((size_t)vbs_coded_plan_workspace(work.plans[which]));
}

static void run_plan(int which)
{
    if (!vbs_coded_plan_run(work.plans[which], work.weights[which], work.plain, work.by_row,
                            work.workspace[which]))
        fail("a plan did not run");
}

static void run_bytes(void)
{
    run_plan(0);
}

static void run_joint(void)
{
    run_plan(1);
}

/* ---- MKL: its interface of C, from its manual ---- */

struct mkl_descr {
    int type, mode, diag;
};

static struct {
    int (*create)(void **matrix, int base, int n_rows, int n_columns, int *starts, int *ends,
                  int *columns, float *values);
    int (*hint)(void *matrix, int operation, struct mkl_descr descr, int layout, int n, int calls);
    int (*hint_vector)(void *matrix, int operation, struct mkl_descr descr, int calls);
    int (*optimize)(void *matrix);
    int (*product)(int operation, float alpha, void *matrix, struct mkl_descr descr, int layout,
                   const float *input, int n, int input_stride, float beta, float *output,
                   int output_stride);
    int (*vector)(int operation, float alpha, void *matrix, struct mkl_descr descr,
                  const float *input, float beta, float *output);
    void (*sgemm)(int layout, int a, int b, int m, int n, int k, float alpha, const float *x,
                  int x_stride, const float *y, int y_stride, float beta, float *z, int z_stride);
    void (*set_threads)(int n);
    void *matrix;
} mkl;

static const struct mkl_descr GENERAL = {20, 40, 50};

#define LOAD(member, symbol)                                                                       \
    do {                                                                                           \
        void *found = dlsym(library, symbol);                                                      \
                                                                                                   \
        if (!found)                                                                                \
            fail("MKL has no " symbol);                                                            \
        memcpy(&mkl.member, &found, sizeof found);                                                 \
    } while (0)

static bool open_mkl(void)
{
    const char *name = getenv("MKL_RT");
    void *library = name ? dlopen(name, RTLD_NOW | RTLD_GLOBAL) : NULL;

    if (!library)
        return false;
    mkl.matrix = NULL;
    LOAD(create, "mkl_sparse_s_create_csr");
    LOAD(hint, "mkl_sparse_set_mm_hint");
    LOAD(hint_vector, "mkl_sparse_set_mv_hint");
    LOAD(optimize, "mkl_sparse_optimize");
    LOAD(product, "mkl_sparse_s_mm");
    LOAD(vector, "mkl_sparse_s_mv");
    LOAD(sgemm, "cblas_sgemm");
    LOAD(set_threads, "MKL_Set_Num_Threads");
    mkl.set_threads(work.threads);
    if (mkl.create(&mkl.matrix, 0, work.n_rows, work.n_columns, work.starts, work.starts + 1,
                   work.columns, work.values) != 0 ||
        (work.batch > 1 ? mkl.hint(mkl.matrix, 10, GENERAL, 101, work.batch, 1000)
                        : mkl.hint_vector(mkl.matrix, 10, GENERAL, 1000)) != 0 ||
        mkl.optimize(mkl.matrix) != 0)
        fail("MKL refuses the matrix");
    return true;
}

static void run_mkl(void)
{
    int status = work.batch > 1
                     ? mkl.product(10, 1, mkl.matrix, GENERAL, 101, work.input, work.batch,
                                   work.batch, 0, work.output, work.batch)
                     : mkl.vector(10, 1, mkl.matrix, GENERAL, work.input, 0, work.output);

    if (status != 0)
        fail("MKL's product failed");
}

static void run_dense(void)
{
    mkl.sgemm(101, 111, 111, work.n_rows, work.batch, work.n_columns, 1, work.dense, work.n_columns,
              work.input, work.batch, 0, work.output, work.batch);
}

/* ---- Eigen and XNNPACK ---- */

static void run_eigen(void)
{
    eigen_product(work.n_rows, work.n_columns, work.n, work.starts, work.columns, work.values,
                  work.input, work.batch, work.output, work.threads);
}

static xnn_operator_t xnn_operator;
static pthreadpool_t pool;

/* A convolution of 1 x 1, whose positions are the samples: XNNPACK keeps its weights sparse. */
static bool open_xnnpack(void)
{
    if (!pool && work.threads > 1)
        pool = pthreadpool_create((size_t)work.threads);
    if (xnn_initialize(NULL) != xnn_status_success ||
        xnn_create_convolution2d_nchw_f32(0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, (size_t)work.n_columns,
                                          (size_t)work.n_rows, (size_t)work.n_columns,
                                          (size_t)work.n_rows, work.dense, NULL, -INFINITY,
                                          INFINITY, 0, &xnn_operator) != xnn_status_success ||
        xnn_setup_convolution2d_nchw_f32(xnn_operator, 1, 1, (size_t)work.batch, work.input,
                                         work.output, pool) != xnn_status_success)
        return false;
    return true;
}

static void run_xnnpack(void)
{
    if (xnn_run_operator(xnn_operator, pool) != xnn_status_success)
        fail("XNNPACK's product failed");
}

/* ---- all of them ---- */

static void make_matrix(struct vbs_quantised *quantised, double density, int bits)
{
    size_t n = (size_t)work.n_rows * (size_t)work.n_columns;
    struct vbs_ctx *ctx = vbs_ctx_new();
    int at = 0;

    work.dense = allocate(n * sizeof(float));
    for (size_t i = 0; i < n; i++)
        work.dense[i] = normal() / 100;
    if (vbs_prune(ctx, work.dense, (int64_t)n, density) != VBS_OK ||
        vbs_quantise(ctx, work.dense, work.n_rows, work.n_columns, bits, quantised) != VBS_OK)
        fail(vbs_detail(ctx));
    vbs_ctx_free(ctx);
    for (size_t i = 0; i < n; i++) {
        work.dense[i] = quantised->codebook[quantised->indices[i]];
        work.n += quantised->indices[i] != 0;
    }
    work.starts = allocate(((size_t)work.n_rows + 1) * sizeof(int));
    work.columns = allocate((size_t)work.n * sizeof(int));
    work.values = allocate((size_t)work.n * sizeof(float));
    for (int r = 0; r < work.n_rows; r++) {
        for (int c = 0; c < work.n_columns; c++) {
            float value = work.dense[(size_t)r * (size_t)work.n_columns + (size_t)c];

            if (value != 0) {
                work.columns[at] = c;
                work.values[at++] = value;
            }
        }
        work.starts[r + 1] = at;
    }
}

static void make_batch(void)
{
    size_t n = (size_t)work.n_columns * (size_t)work.batch;

    work.plain = allocate(n * sizeof(float));
    work.input = allocate(n * sizeof(float));
    work.output = allocate((size_t)work.n_rows * (size_t)work.batch * sizeof(float));
    work.by_row = allocate((size_t)work.n_rows * (size_t)work.batch * sizeof(float));
    for (int s = 0; s < work.batch; s++)
        for (int c = 0; c < work.n_columns; c++)
            work.input[(size_t)c * (size_t)work.batch + (size_t)s] =
                work.plain[(size_t)s * (size_t)work.n_columns + (size_t)c] = normal();
}

struct method {
    const char *name;
    void (*run)(void);
    size_t n_bytes;
    bool by_row; /* the output is by_row */
    double ms[MAX_ROUNDS];
    double difference;
};

/* The largest difference of a method's output from the sums in double precision of some rows. */
static double difference(const struct method *method)
{
    double worst = 0, largest = 0;

    for (int r = 0; r < work.n_rows; r += 97)
        for (int s = 0; s < work.batch; s++) {
            double sum = 0;
            float found = method->by_row ? work.by_row[(size_t)s * (size_t)work.n_rows + (size_t)r]
                                         : work.output[(size_t)r * (size_t)work.batch + (size_t)s];

            for (int i = work.starts[r]; i < work.starts[r + 1]; i++)
                sum += (double)work.values[i] *
                       work.plain[(size_t)s * (size_t)work.n_columns + (size_t)work.columns[i]];
            worst = fmax(worst, fabs(found - sum));
            largest = fmax(largest, fabs(sum));
        }
    return worst / largest;
}

static int by_time(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Fills methods with those that there are, and gives their number. */
static int list_methods(struct method *methods)
{
    size_t csr = 8 * (size_t)work.n + 4 * ((size_t)work.n_rows + 1), n_bytes[2];
    size_t dense = 4 * (size_t)work.n_rows * (size_t)work.n_columns;
    bool has_mkl = open_mkl();
    int n = 0;

    for (int i = 0; i < 2; i++)
        (void)vbs_coded_bytes(work.coded[i], &n_bytes[i]);
    methods[n++] = (struct method){"vbslab bytes", run_bytes, n_bytes[0], true, {0}, 0};
    methods[n++] = (struct method){"vbslab joint", run_joint, n_bytes[1], true, {0}, 0};
    if (has_mkl)
        methods[n++] = (struct method){"MKL", run_mkl, csr, false, {0}, 0};
    methods[n++] = (struct method){"Eigen", run_eigen, csr, false, {0}, 0};
    if (open_xnnpack())
        methods[n++] = (struct method){"XNNPACK", run_xnnpack, csr, false, {0}, 0};
    if (has_mkl)
        methods[n++] = (struct method){"MKL dense", run_dense, dense, false, {0}, 0};
    return n;
}

static void time_batch(const struct vbs_quantised *quantised, const char *density, int index_bits,
                       int n_rounds)
{
    struct method methods[6];
    int n;

    make_batch();
    make_plan(0, quantised, VBS_CODING_BYTES, 8);
    make_plan(1, quantised, VBS_CODING_JOINT, index_bits);
    n = list_methods(methods);
    for (int m = 0; m < n; m++) {
        methods[m].run();
        methods[m].difference = difference(&methods[m]);
    }
    for (int round = 0; round < n_rounds; round++)
        for (int m = 0; m < n; m++) {
            double begin = now();

            methods[m].run();
            methods[m].ms[round] = 1e3 * (now() - begin);
        }
    for (int m = 0; m < n; m++) {
        qsort(methods[m].ms, (size_t)n_rounds, sizeof(double), by_time);
        printf("%dx%d,%s,%d,%d,%s,%.3f,%.3f,%zu,%.1e\n", work.n_rows, work.n_columns, density,
               work.batch, work.threads, methods[m].name, methods[m].ms[0],
               methods[m].ms[n_rounds / 2], methods[m].n_bytes, methods[m].difference);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct vbs_quantised quantised = {0};
    int n_rounds;

    if (argc < 9)
        fail("arguments: rows columns density bits index-bits threads rounds batch...");
    work.n_rows = atoi(argv[1]);
    work.n_columns = atoi(argv[2]);
    work.threads = atoi(argv[6]);
    n_rounds = atoi(argv[7]) < MAX_ROUNDS ? atoi(argv[7]) : MAX_ROUNDS;
    omp_set_num_threads(work.threads);
    make_matrix(&quantised, atof(argv[3]), atoi(argv[4]));
    for (int i = 8; i < argc; i++) {
        work.batch = atoi(argv[i]);
        time_batch(&quantised, argv[3], atoi(argv[5]), n_rounds);
    }
    vbs_quantised_clear(&quantised);
    return 0;
}
