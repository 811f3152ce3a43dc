/*
 * The overhead of a step: a chain of small convolutions, executed, beside its primitives of oneDNN
 * alone, which are called in a loop with all arguments set, and beside its arithmetic. All by turns
 * in one run; the least time of many counts.
 */
#include "bench/bench.h"
#include "base/ctx.h"

#include <math.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS 16
#define SIDE     4
#define STEPS    20
#define BATCH    2
#define TURNS    200
#define RUNS     50 /* of a turn */
#define VALUES   (BATCH * CHANNELS * SIDE * SIDE)

static void check(dnnl_status_t status, const char *what)
{
    if (status != dnnl_success)
        bench_fail(what, &(struct vbs_ctx){0});
}

/* This function is from libgomp, on which oneDNN runs. It is declared here because only gcc has
 * omp.h. */
extern void omp_set_num_threads(int n);

/* ---- the primitive alone ---- */

struct alone {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_memory_t memories[3];
    dnnl_exec_arg_t args[3];
};

static dnnl_memory_desc_t described(int n, const dnnl_dim_t *dims, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t md;

    check(dnnl_memory_desc_init_by_tag(&md, n, dims, dnnl_f32, tag), "describing a tensor");
    return md;
}

/* Makes the primitive that a step of the chain runs on one thread: a convolution of 1x1 with ReLU.
 */
static void alone_init(struct alone *a)
{
    const dnnl_dims_t data = {BATCH, CHANNELS, SIDE, SIDE}, filters = {CHANNELS, CHANNELS, 1, 1};
    const dnnl_dims_t ones = {1, 1}, zeros = {0};
    static const dnnl_query_t queries[] = {dnnl_query_src_md, dnnl_query_weights_md,
                                           dnnl_query_dst_md};
    static const int ids[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_memory_desc_t tensor, weights;
    dnnl_convolution_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t ops;

    check(dnnl_engine_create(&a->engine, dnnl_cpu, 0), "starting oneDNN");
    check(dnnl_stream_create(&a->stream, a->engine, dnnl_stream_default_flags), "starting oneDNN");
    tensor = described(4, data, dnnl_nChw16c);
    weights = described(4, filters, dnnl_format_tag_any);
    check(dnnl_post_ops_create(&ops), "making attributes");
    check(dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0), "making attributes");
    check(dnnl_primitive_attr_create(&attr), "making attributes");
    check(dnnl_primitive_attr_set_post_ops(attr, ops), "making attributes");
    check(dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_direct,
                                             &tensor, &weights, NULL, &tensor, ones, zeros, zeros),
          "describing a convolution");
    check(dnnl_primitive_desc_create(&pd, &desc, attr, a->engine, NULL), "making a convolution");
    check(dnnl_primitive_create(&a->primitive, pd), "making a convolution");
    for (int i = 0; i < 3; i++) {
        const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, queries[i], 0);

        check(dnnl_memory_create(&a->memories[i], md, a->engine, DNNL_MEMORY_ALLOCATE),
              "making a tensor");
        a->args[i] = (dnnl_exec_arg_t){ids[i], a->memories[i]};
    }
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    dnnl_post_ops_destroy(ops);
}

static void alone_clear(struct alone *a)
{
    dnnl_primitive_destroy(a->primitive);
    for (int i = 0; i < 3; i++)
        dnnl_memory_destroy(a->memories[i]);
    dnnl_stream_destroy(a->stream);
    dnnl_engine_destroy(a->engine);
}

/* Gives the nanoseconds of a call. */
static double alone_ns(const struct alone *a)
{
    double start = bench_now_s();

    for (int i = 0; i < RUNS * STEPS; i++) {
        check(dnnl_primitive_execute(a->primitive, a->stream, 3, a->args), "a convolution");
        check(dnnl_stream_wait(a->stream), "a convolution");
    }
    return 1e9 * (bench_now_s() - start) / (RUNS * STEPS);
}

/* ---- the chain ---- */

struct chain {
    struct measured made;
    struct vbs_exec *exec;
};

static void write_chain(const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file)
        bench_fail(path, &(struct vbs_ctx){0});
    fprintf(file, "model steps\ninput %dx%dx%d\n", CHANNELS, SIDE, SIDE);
    for (int i = 0; i < STEPS; i++)
        fprintf(file, "conv c%d out=%d kernel=1\nrelu r%d\n", i, CHANNELS, i);
    if (fclose(file) != 0)
        bench_fail(path, &(struct vbs_ctx){0});
}

static void chain_init(struct chain *c, int threads)
{
    static const char *const path = "build/bench-steps.net";
    static const int batches[] = {1, BATCH};
    const struct vbs_simple_options options = {.struct_size = sizeof options,
                                               .request = BATCH,
                                               .memory_bytes = 1 << 20,
                                               .planner = "fbs",
                                               .threads = threads};
    struct vbs_ctx ctx = {0};

    write_chain(path);
    bench_measure_threads(path, "onednn", batches, 2, 2, threads, &c->made);
    if (vbs_simple_prepare(&ctx, c->made.network, c->made.profile, &options, NULL, &c->exec) !=
        VBS_OK)
        bench_fail(path, &ctx);
    vbs_exec_set_times_only(c->exec, true);
}

static void chain_clear(struct chain *c)
{
    vbs_exec_free(c->exec);
    bench_release(&c->made);
}

/* Gives the nanoseconds of a step: computing alone, and as a share of the whole call, in which the
 * input is converted too. */
static void chain_ns(const struct chain *c, double *run_ns, double *call_ns)
{
    static float values[VALUES];
    struct vbs_ctx ctx = {0};
    double start = bench_now_s(), us = INFINITY;

    for (int i = 0; i < RUNS; i++) {
        struct vbs_exec_report report;

        if (vbs_exec_run(&ctx, c->exec, values, NULL, &report) != VBS_OK)
            bench_fail("running", &ctx);
        us = fmin(us, report.compute_us);
    }
    *call_ns = 1e9 * (bench_now_s() - start) / (RUNS * STEPS);
    *run_ns = 1e3 * us / STEPS;
}

void bench_steps(void)
{
    printf("The overhead of a step: %d convolutions of 1x1, %d channels, %dx%d, batch %d\n\n",
           STEPS, CHANNELS, SIDE, SIDE, BATCH);
    printf("%7s %12s %12s %12s %12s\n", "threads", "oneDNN ns", "step ns", "call ns", "step ratio");
    for (int threads = 1; threads <= 2; threads++) {
        struct alone alone;
        struct chain chain = {0};
        double alone_least = INFINITY, run_least = INFINITY, call_least = INFINITY;

        omp_set_num_threads(1);
        alone_init(&alone);
        chain_init(&chain, threads);
        for (int i = 0; i < TURNS; i++) {
            double run_ns, call_ns;

            omp_set_num_threads(1);
            alone_least = fmin(alone_least, alone_ns(&alone));
            chain_ns(&chain, &run_ns, &call_ns);
            run_least = fmin(run_least, run_ns);
            call_least = fmin(call_least, call_ns);
        }
        printf("%7d %12.0f %12.0f %12.0f %12.2f\n", threads, alone_least, run_least, call_least,
               run_least / alone_least);
        chain_clear(&chain);
        alone_clear(&alone);
    }
}
