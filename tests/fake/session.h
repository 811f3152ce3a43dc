/*
 * A session whose layers take scripted times, a sink that records, and a clock that only moves
 * when a layer runs: measuring can be tested to the sample, without a library and without waiting.
 *
 * Every run checks its arguments: all bytes of src are those that the layer which makes it wrote in
 * this pass; and it writes all bytes of dst and ws.
 */
#ifndef TESTS_FAKE_SESSION_H
#define TESTS_FAKE_SESSION_H

#include "base/ctx.h"
#include "profile/measure/measure.h"

#define FAKE_LAYERS     64
#define FAKE_BATCHES    4
#define FAKE_ALGORITHMS 3
#define FAKE_KERNELS    (FAKE_LAYERS * FAKE_BATCHES * FAKE_ALGORITHMS)
#define FAKE_RUNS       256   /* of one kernel in the sink */
#define FAKE_CALLS      65536 /* remembered */

struct fake_runs {
    double times_us[FAKE_RUNS];
    int rounds[FAKE_RUNS];
    int n;
    int n_stored; /* the first of them are an earlier process's */
};

struct fake {
    struct vbs_session session; /* first: the session points here */
    struct vbs_profile_layer layers[FAKE_LAYERS + 1];
    int inputs[FAKE_LAYERS + 1][3];
    char names[FAKE_LAYERS + 1][16];
    struct vbs_kernel kernels[FAKE_KERNELS];
    int n_batches, n_algorithms;
    uint64_t geometry[FAKE_LAYERS + 1]; /* all different at first */

    /* The script. */
    double base_us[FAKE_KERNELS];
    double sigma;                               /* of the lognormal noise */
    double (*disturb)(struct fake *, int call); /* gives the factor of this call's time; or null */
    bool (*preempt)(struct fake *, int call);   /* gives whether another process ran during the
                                                   call; or null */
    double clock_factor;                        /* seconds that pass for each second timed */
    int die_at, cancel_at, nan_at;              /* calls, counted from 0; -1: never */
    int fail_alloc;                             /* which allocation fails; -1: none */
    int fail_add;                               /* which sample the sink refuses; -1: none */

    /* What happened. */
    gsl_rng *rng;
    double now_s;
    int64_t n_preemptions;
    int n_calls;
    short calls[FAKE_CALLS]; /* kernels */
    int n_allocs, n_frees, n_fills;
    int64_t allocated_bytes;
    int n_wrong; /* pointers, contents or orders that broke a promise */
    int n_added;
    bool left_out[FAKE_KERNELS];
    volatile sig_atomic_t cancel;
    struct vbs_ctx ctx;
    struct vbs_sample_sink sink;
    struct vbs_measure_clock clock;
    struct fake_runs runs[FAKE_KERNELS];
};

/*
 * Makes a session of n_layers: a chain in which every fourth layer also reads the third before it
 * and every fifth is in place. Batches 1, 2, 4, 8; algorithm a of layer k takes (100 + k)(1 + a /
 * 5) us a sample and (2 - a) * 1000 bytes of scratch. No noise. Bails out when memory is out.
 */
struct fake *fake_new(int n_layers, int n_batches, int n_algorithms);
void fake_free(struct fake *fake);

int fake_kernel(const struct fake *fake, int layer, int batch_index, int algorithm);

enum vbs_status fake_measure(struct fake *fake, const struct vbs_measure_options *options,
                             struct vbs_measure_report *report);

/* Begins as after the end of the process: calls and clock begin anew, and the sink's samples are
 * stored. */
void fake_restart(struct fake *fake);

int fake_fewest_runs(const struct fake *fake);
int fake_most_runs(const struct fake *fake);

/* Runs all layers once at a batch in the given buffers; the checks of run count. */
void fake_pass(struct fake *fake, const struct vbs_pass_buffers *buffers, int batch_index);

#endif
