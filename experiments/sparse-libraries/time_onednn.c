/*
 * time_onednn ROWS COLUMNS DENSITY BATCH ROUNDS - the product of a sparse matrix in compressed rows
 * with a dense one by oneDNN 3, on as many threads as the process has processors. Prints a line of
 * CSV like time_products. The matrix is random; its values do not matter for the time.
 */
#include <math.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_ROUNDS 200

static void check(dnnl_status_t status, const char *what)
{
    if (status == dnnl_success)
        return;
    fprintf(stderr, "time_onednn: %s: status %d\n", what, (int)status);
    exit(1);
}

static bool one_thread;

static double now(void)
{
    struct timespec time;

    clock_gettime(one_thread ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t state = 88172645463325252U;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

/* Copies into memory number `index` of a memory object. */
static void put(dnnl_memory_t memory, int index, const void *from, size_t n_bytes)
{
    void *to;

    check(dnnl_memory_map_data_v2(memory, &to, index), "map");
    memcpy(to, from, n_bytes);
    check(dnnl_memory_unmap_data_v2(memory, to, index), "unmap");
}

static int by_time(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
    int n_rows, n_columns, batch, n_rounds, n = 0, *starts, *columns;
    double density, ms[MAX_ROUNDS], worst = 0, largest = 0;
    float *values, *input, *output;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_memory_desc_t matrix_md, input_md, output_md;
    dnnl_memory_t matrix, from, to;
    dnnl_primitive_desc_t descriptor;
    dnnl_primitive_t product;
    dnnl_exec_arg_t arguments[3];
    void *allocated[3] = {DNNL_MEMORY_ALLOCATE, DNNL_MEMORY_ALLOCATE, DNNL_MEMORY_ALLOCATE};

    if (argc != 6)
        return 2;
    one_thread = getenv("THREADS") && atoi(getenv("THREADS")) == 1;
    n_rows = atoi(argv[1]);
    n_columns = atoi(argv[2]);
    density = atof(argv[3]);
    batch = atoi(argv[4]);
    n_rounds = atoi(argv[5]) < MAX_ROUNDS ? atoi(argv[5]) : MAX_ROUNDS;
    starts = calloc((size_t)n_rows + 1, sizeof *starts);
    columns = malloc((size_t)(1.2 * density * n_rows * n_columns) * sizeof *columns);
    values = malloc((size_t)(1.2 * density * n_rows * n_columns) * sizeof *values);
    input = malloc((size_t)n_columns * (size_t)batch * sizeof *input);
    for (int r = 0; r < n_rows; r++) {
        for (int c = 0; c < n_columns; c++)
            if (uniform() < density) {
                columns[n] = c;
                values[n++] = (float)uniform() - 0.5F;
            }
        starts[r + 1] = n;
    }
    for (int i = 0; i < n_columns * batch; i++)
        input[i] = (float)uniform() - 0.5F;

    check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
    check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
    check(dnnl_memory_desc_create_with_csr_encoding(&matrix_md, 2, (dnnl_dims_t){n_rows, n_columns},
                                                    dnnl_f32, n, dnnl_s32, dnnl_s32),
          "compressed rows");
    check(dnnl_memory_desc_create_with_tag(&input_md, 2, (dnnl_dims_t){n_columns, batch}, dnnl_f32,
                                           dnnl_ab),
          "input");
    check(dnnl_memory_desc_create_with_tag(&output_md, 2, (dnnl_dims_t){n_rows, batch}, dnnl_f32,
                                           dnnl_ab),
          "output");
    check(dnnl_matmul_primitive_desc_create(&descriptor, engine, matrix_md, input_md, NULL,
                                            output_md, NULL),
          "product");
    check(dnnl_primitive_create(&product, descriptor), "product");
    check(dnnl_memory_create_v2(&matrix, matrix_md, engine, 3, allocated), "memory");
    check(dnnl_memory_create(&from, input_md, engine, DNNL_MEMORY_ALLOCATE), "memory");
    check(dnnl_memory_create(&to, output_md, engine, DNNL_MEMORY_ALLOCATE), "memory");
    put(matrix, 0, values, (size_t)n * sizeof *values);
    put(matrix, 1, columns, (size_t)n * sizeof *columns);
    put(matrix, 2, starts, ((size_t)n_rows + 1) * sizeof *starts);
    put(from, 0, input, (size_t)n_columns * (size_t)batch * sizeof *input);
    arguments[0] = (dnnl_exec_arg_t){DNNL_ARG_SRC, matrix};
    arguments[1] = (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, from};
    arguments[2] = (dnnl_exec_arg_t){DNNL_ARG_DST, to};
    for (int round = -2; round < n_rounds; round++) {
        double begin = now();

        check(dnnl_primitive_execute(product, stream, 3, arguments), "run");
        check(dnnl_stream_wait(stream), "wait");
        if (round >= 0)
            ms[round] = 1e3 * (now() - begin);
    }
    check(dnnl_memory_map_data_v2(to, (void **)&output, 0), "map");
    for (int r = 0; r < n_rows; r += 97)
        for (int s = 0; s < batch; s++) {
            double sum = 0;

            for (int i = starts[r]; i < starts[r + 1]; i++)
                sum += (double)values[i] * input[(size_t)columns[i] * (size_t)batch + (size_t)s];
            worst = fmax(worst, fabs(output[(size_t)r * (size_t)batch + (size_t)s] - sum));
            largest = fmax(largest, fabs(sum));
        }
    qsort(ms, (size_t)n_rounds, sizeof *ms, by_time);
    {
        const char *info;

        check(dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &info), "name");
        fprintf(stderr, "oneDNN %d.%d: %s\n", dnnl_version()->major, dnnl_version()->minor, info);
    }
    printf("%dx%d,%s,%d,%s,oneDNN 3,%.3f,%.3f,%zu,%.1e\n", n_rows, n_columns, argv[3], batch,
           getenv("THREADS") ? getenv("THREADS") : "2", ms[0], ms[n_rounds / 2],
           8 * (size_t)n + 4 * ((size_t)n_rows + 1), worst / largest);
    return 0;
}
