/*
 * Decodes all blocks of coded weights to dense ones, and nothing else, again and again.
 *
 *   decode MODEL.vbz THREADS SECONDS
 *
 * prints the number of passes, the median and the least time of a pass in microseconds. The weights
 * are those of the network's first layer. Each thread decodes its share of the rows of blocks into
 * one block of its own, as the product does that decodes blocks and multiplies them.
 */
#include <vbslab/vbslab.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST_PASSES  2000
#define LEAST_PASSES 5
#define MOST_THREADS 64

struct share {
    const struct vbs_coded *coded;
    int64_t begin, end; /* blocks */
    float *dense;
    pthread_barrier_t *start, *stop;
    const bool *done;
};

static double now_us(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "decode: %s\n", what);
    exit(1);
}

static void *work(void *data)
{
    struct share *share = data;

    for (;;) {
        pthread_barrier_wait(share->start);
        if (*share->done)
            return NULL;
        for (int64_t block = share->begin; block < share->end; block++)
            vbs_coded_block(share->coded, block, share->dense);
        pthread_barrier_wait(share->stop);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Times passes until the time is over. */
static void time_passes(const struct vbs_coded *coded, int n_threads, double limit_us)
{
    static double times[MOST_PASSES];
    struct share shares[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    pthread_barrier_t start, stop;
    struct vbs_coded_shape shape;
    double began, pass;
    bool done = false;
    int n = 0;

    vbs_coded_describe(coded, &shape);
    pthread_barrier_init(&start, NULL, (unsigned)n_threads + 1);
    pthread_barrier_init(&stop, NULL, (unsigned)n_threads + 1);
    for (int i = 0; i < n_threads; i++) {
        shares[i] = (struct share){
            .coded = coded,
            .begin = shape.n_block_rows * i / n_threads * shape.n_block_columns,
            .end = shape.n_block_rows * (i + 1) / n_threads * shape.n_block_columns,
            .dense = calloc((size_t)(shape.block_rows * shape.block_columns), sizeof(float)),
            .start = &start,
            .stop = &stop,
            .done = &done};
        if (!shares[i].dense || pthread_create(&threads[i], NULL, work, &shares[i]) != 0)
            give_up("no memory or no thread");
    }
    for (began = now_us(); n < MOST_PASSES && (n <= LEAST_PASSES || now_us() - began < limit_us);
         n++) {
        pass = now_us();
        pthread_barrier_wait(&start);
        pthread_barrier_wait(&stop);
        times[n] = now_us() - pass;
    }
    done = true;
    pthread_barrier_wait(&start);
    for (int i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
        free(shares[i].dense);
    }
    /* The first pass touches memory for the first time. */
    qsort(times + 1, (size_t)n - 1, sizeof *times, by_size);
    printf("%d,%.1f,%.1f\n", n - 1, times[1 + (n - 1) / 2], times[1]);
}

int main(int argc, char **argv)
{
    const struct vbs_coded *coded;
    struct vbs_network *network;
    struct vbs_ctx *ctx;
    int n_threads;

    if (argc != 4)
        give_up("usage: decode MODEL.vbz THREADS SECONDS");
    n_threads = atoi(argv[2]);
    if (n_threads < 1 || n_threads > MOST_THREADS)
        give_up("1 to 64 threads");
    ctx = vbs_ctx_new();
    if (vbs_network_load(ctx, argv[1], NULL, &network) != VBS_OK)
        give_up(vbs_detail(ctx));
    coded = vbs_network_coded(network, 1);
    if (!coded)
        give_up("the first layer has no coded weights");
    time_passes(coded, n_threads, 1e6 * atof(argv[3]));
    vbs_network_free(network);
    vbs_ctx_free(ctx);
    return 0;
}
