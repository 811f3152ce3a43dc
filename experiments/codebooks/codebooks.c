/*
 * codebooks normal|laplace ROWS COLUMNS DENSITY INDEX-BITS [FILE] - quantises a pruned random
 * matrix with exact k-means and within larger errors, codes it, and prints a line of CSV for each.
 * FILE gets the weights that are not 0, as floats of 32 bits.
 */
#include "vbslab/coded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state = 88172645463325252U;

static void fail(const char *what)
{
    fprintf(stderr, "codebooks: %s\n", what);
    exit(1);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static double laplace(void)
{
    return (uniform() < 0.5 ? -1 : 1) * log(uniform());
}

static void write_weights(const char *name, const float *weights, size_t n)
{
    FILE *file = fopen(name, "wb");

    if (!file)
        fail("cannot write the file");
    for (size_t i = 0; i < n; i++)
        if (weights[i] != 0)
            fwrite(&weights[i], sizeof *weights, 1, file);
    if (fclose(file) != 0)
        fail("cannot write the file");
}

/* The ratio of the matrix in floats to its coded weights. */
static double ratio(const struct vbs_quantised *quantised, enum vbs_coding coding, int index_bits)
{
    const struct vbs_coding_options options = {coding, index_bits, 128, 128};
    struct vbs_coded *coded;
    size_t n_bytes;

    if (vbs_code(NULL, quantised, &options, &coded) != VBS_OK)
        fail("cannot code");
    (void)vbs_coded_bytes(coded, &n_bytes);
    vbs_coded_free(coded);
    return (double)(quantised->n_rows * quantised->n_columns) * sizeof(float) / (double)n_bytes;
}

static void show(const char *name, const float *weights, int64_t n_rows, int64_t n_columns,
                 int bits, double excess, int index_bits)
{
    double error = 0, power = 0, entropy = 0, n_nonzero = 0, *counts, seconds = now();
    struct vbs_quantised quantised;

    if (vbs_quantise_within(NULL, weights, n_rows, n_columns, bits, excess, &quantised) != VBS_OK)
        fail("cannot quantise");
    seconds = now() - seconds;
    counts = calloc((size_t)quantised.n_values, sizeof *counts);
    for (int64_t i = 0; i < n_rows * n_columns; i++) {
        double difference = weights[i] - (double)quantised.codebook[quantised.indices[i]];

        error += difference * difference;
        power += (double)weights[i] * weights[i];
        counts[quantised.indices[i]] += weights[i] != 0;
        n_nonzero += weights[i] != 0;
    }
    for (int v = 1; v < quantised.n_values; v++)
        entropy += counts[v] > 0 ? counts[v] / n_nonzero * log2(n_nonzero / counts[v]) : 0;
    printf("%s,%g,%d,%g,%d,%.4e,%.4f,%.3f,%.3f,%.2f\n", name,
           n_nonzero / (double)(n_rows * n_columns), bits, excess, quantised.n_values - 1,
           error / power, entropy, ratio(&quantised, VBS_CODING_COMP, index_bits),
           ratio(&quantised, VBS_CODING_JOINT, index_bits), seconds);
    fflush(stdout);
    free(counts);
    vbs_quantised_clear(&quantised);
}

int main(int argc, char **argv)
{
    static const double EXCESSES[] = {0, 0.02, 0.1, 0.3, 1, 3};
    int64_t n_rows, n_columns;
    float *weights;

    if (argc != 6 && argc != 7)
        fail("arguments: normal|laplace rows columns density index-bits [file]");
    n_rows = atoll(argv[2]);
    n_columns = atoll(argv[3]);
    weights = malloc((size_t)(n_rows * n_columns) * sizeof *weights);
    if (!weights)
        fail("memory is out");
    for (int64_t i = 0; i < n_rows * n_columns; i++)
        weights[i] = (float)(strcmp(argv[1], "normal") == 0 ? normal() : laplace());
    if (vbs_prune(NULL, weights, n_rows * n_columns, atof(argv[4])) != VBS_OK)
        fail("cannot prune");
    if (argc == 7)
        write_weights(argv[6], weights, (size_t)(n_rows * n_columns));
    for (int bits = 4; bits <= 8; bits += bits == 6 ? 2 : 1)
        for (int e = 0; e < 6; e++)
            show(argv[1], weights, n_rows, n_columns, bits, EXCESSES[e], atoi(argv[5]));
    free(weights);
    return 0;
}
