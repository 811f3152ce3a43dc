/*
 * Measuring kernels on rows: each gets its runs, finds the rows of its inputs in the middle of the
 * sample where the layers before it have written them, and is timed after these layers. Its time is
 * the mean of the steps of a sample, of which the first one takes longer.
 */
#include "support/bail_out.h"
#include "support/tap.h"

#include "profile/measure/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_LAYERS  4
#define N_KERNELS 11
#define MAX_CALLS 100000
#define COLD_US   90 /* what the first run of a turn takes longer */

/* The network: an input of 9 rows of 4 bytes; "conv" reads the row above and below, "pool" two rows
 * for each of its own, "relu" is in place, and "fc" reads all of them. */
static const struct vbs_reach CONV[] = {{1, 1, -1, 1}}, POOL[] = {{2, 1, 0, 1}},
                              SAME[] = {{1, 1, 0, 0}};
static const int INPUTS[] = {0, 1, 2, 3};
static const struct vbs_profile_layer LAYERS[N_LAYERS + 1] = {
    {.name = "", .kind = "", .out_bytes = 36, .rows = 9},
    {.name = "conv",
     .kind = "conv",
     .n_inputs = 1,
     .inputs = &INPUTS[0],
     .in_bytes = 36,
     .out_bytes = 72,
     .rows = 9,
     .reaches = CONV},
    {.name = "pool",
     .kind = "pool",
     .n_inputs = 1,
     .inputs = &INPUTS[1],
     .in_bytes = 72,
     .out_bytes = 32,
     .rows = 4,
     .reaches = POOL},
    {.name = "relu",
     .kind = "relu",
     .n_inputs = 1,
     .inputs = &INPUTS[2],
     .in_bytes = 32,
     .out_bytes = 32,
     .in_place = true,
     .rows = 4,
     .reaches = SAME},
    {.name = "fc",
     .kind = "fc",
     .n_inputs = 1,
     .inputs = &INPUTS[3],
     .in_bytes = 32,
     .out_bytes = 8},
};

/* A kernel, and the ranges of bytes of the first sample that it must be given, counted by hand. */
static const struct scripted {
    struct vbs_kernel kernel;
    int src, dst; /* offsets */
    int n_steps;  /* of a sample, where each turn is two runs of this kernel; else 0 */
} SCRIPT[N_KERNELS] = {
    {{.layer = 1, .batch = 1, .algorithm = "a"}, 0, 0, 0},
    /* Rows 4 of 9, which read rows 3 to 5 of 4 bytes each, and write 8 bytes. */
    {{.layer = 1, .batch = 1, .algorithm = "a", .rows = 1}, 12, 32, 0},
    {{.layer = 1, .batch = 1, .algorithm = "b", .rows = 1, .ws_bytes = 64}, 12, 32, 0},
    {{.layer = 1, .batch = 1, .algorithm = "a", .rows = 4}, 12, 32, 3},
    {{.layer = 2, .batch = 1, .algorithm = "a"}, 0, 0, 0},
    /* Row 2 of 4, which reads rows 4 and 5 of 8 bytes each. */
    {{.layer = 2, .batch = 1, .algorithm = "a", .rows = 1}, 32, 16, 0},
    {{.layer = 2, .batch = 1, .algorithm = "a", .rows = 2}, 32, 16, 0},
    {{.layer = 3, .batch = 1, .algorithm = "a"}, 0, 0, 0},
    {{.layer = 3, .batch = 1, .algorithm = "a", .rows = 1}, 16, 16, 4},
    {{.layer = 3, .batch = 1, .algorithm = "a", .rows = 2}, 16, 16, 2},
    {{.layer = 4, .batch = 1, .algorithm = "a"}, 0, 0, 0},
};

struct striped {
    struct vbs_session session; /* first */
    struct vbs_kernel kernels[N_KERNELS];
    int n_runs[N_KERNELS], n_calls_of[N_KERNELS];
    int n_calls, calls[MAX_CALLS];
    char *tensors[N_LAYERS + 1]; /* where whole samples lay */
    int n_wrong;
    double now_s;
    struct vbs_ctx ctx;
};

static struct striped *of(struct vbs_session *session)
{
    return (struct striped *)session;
}

static void *allocate(struct vbs_session *session, int64_t bytes)
{
    (void)session;
    return malloc((size_t)bytes);
}

static void release(struct vbs_session *session, void *memory)
{
    (void)session;
    free(memory);
}

static enum vbs_status fill(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                            void *memory)
{
    (void)ctx;
    memset(memory, 0, (size_t)(LAYERS[tensor].out_bytes * n));
    of(session)->tensors[tensor] = memory;
    return VBS_OK;
}

static enum vbs_status run(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                           const struct vbs_operands *operands, double *time_us)
{
    struct striped *s = of(session);
    const struct vbs_kernel *k = &SCRIPT[kernel].kernel;
    const struct vbs_profile_layer *layer = &LAYERS[k->layer];
    int input = layer->inputs[0];
    char *src = (char *)(uintptr_t)operands->src[0], *dst = operands->dst;

    (void)ctx;
    if (k->rows == 0)
        s->tensors[k->layer] = dst;
    s->n_wrong += !s->tensors[input] || !s->tensors[k->layer] ||
                  src != s->tensors[input] + SCRIPT[kernel].src ||
                  dst != s->tensors[k->layer] + SCRIPT[kernel].dst ||
                  (layer->in_place && src != dst) || !operands->ws != (k->ws_bytes == 0);
    if (s->n_calls < MAX_CALLS)
        s->calls[s->n_calls++] = kernel;
    *time_us = 10 + kernel;
    if (SCRIPT[kernel].n_steps > 0 && s->n_calls_of[kernel]++ % 2 == 0)
        *time_us += COLD_US;
    s->now_s += *time_us * 1e-6;
    return VBS_OK;
}

static enum vbs_status stored(struct vbs_ctx *ctx, void *self, int kernel, const double **times_us,
                              int *n_times)
{
    (void)ctx, (void)self, (void)kernel, (void)times_us;
    *n_times = 0;
    return VBS_OK;
}

static enum vbs_status add(struct vbs_ctx *ctx, void *self, int kernel, int round, double time_us)
{
    struct striped *s = self;
    int n = SCRIPT[kernel].n_steps;

    (void)ctx, (void)round;
    s->n_wrong += fabs(time_us - 10 - kernel - (n > 0 ? (double)COLD_US / n : 0)) > 1e-9;
    s->n_runs[kernel]++;
    return VBS_OK;
}

static double now_s(void *self)
{
    return ((struct striped *)self)->now_s;
}

static int64_t no_preemptions(void *self)
{
    (void)self;
    return 0;
}

static struct striped *striped_new(void)
{
    static const struct vbs_session_ops OPS = {
        .alloc = allocate, .free = release, .run = run, .fill = fill};
    struct striped *s = calloc(1, sizeof *s);

    if (!s)
        bail_out("out of memory");
    for (int i = 0; i < N_KERNELS; i++)
        s->kernels[i] = SCRIPT[i].kernel;
    s->session = (struct vbs_session){.ops = &OPS,
                                      .n_layers = N_LAYERS,
                                      .layers = LAYERS,
                                      .n_kernels = N_KERNELS,
                                      .kernels = s->kernels,
                                      .provenance.model = "striped"};
    return s;
}

static enum vbs_status measure(struct striped *s)
{
    const struct vbs_sample_sink sink = {.self = s, .stored = stored, .add = add};
    const struct vbs_measure_clock clock = {
        .now_s = now_s, .n_preemptions = no_preemptions, .self = s};
    const struct vbs_measure_options options = {
        .struct_size = sizeof options, .time_limit_s = 1e6, .seed = 1};
    struct vbs_measure_report report;

    return vbs_measure_by_clock(&s->ctx, &s->session, &options, &sink, &clock, &report);
}

/* Counts the passes by one row that the calls have: conv, conv, pool, conv, pool, relu, conv, pool,
 * relu, and nothing of fc. */
static int count_passes_of_one_row(const struct striped *s, int *n_wrong)
{
    static const int ORDER[] = {1, 1, 2, 1, 2, 3, 1, 2, 3};
    int n = 0, at = 0;

    for (int i = 0; i < s->n_calls; i++) {
        const struct vbs_kernel *k = &SCRIPT[s->calls[i]].kernel;

        if (k->rows != 1) {
            *n_wrong += at != 0;
            continue;
        }
        *n_wrong += k->layer != ORDER[at];
        at = (at + 1) % 9;
        n += at == 0;
    }
    return n;
}

static void stripes_run_among_their_layers(void)
{
    struct striped *s = striped_new();
    int fewest = 1 << 30, n_wrong = 0, n_passes;

    is_int(measure(s), VBS_OK, "a session with stripes is measured");
    is_int(s->n_wrong, 0,
           "kernels are given the rows that they read and write, and have the mean time of steps");
    for (int i = 0; i < N_KERNELS; i++)
        fewest = s->n_runs[i] < fewest ? s->n_runs[i] : fewest;
    ok(fewest >= 5, "each kernel has 5 runs at least (%d)", fewest);
    n_passes = count_passes_of_one_row(s, &n_wrong);
    ok(n_passes >= 11 && n_wrong == 0,
       "passes of one row run the layers before each one again (%d passes, %d calls out of order)",
       n_passes, n_wrong);
    free(s);
}

static void sessions_out_of_order_are_refused(void)
{
    struct striped *s = striped_new();

    s->kernels[2].rows = 4;
    s->kernels[3].rows = 1;
    is_int(measure(s), VBS_LIBRARY, "kernels of one number of rows that are no neighbours");
    ok(strstr(s->ctx.detail, "kernel 3 is out of order"), "are named: %s", s->ctx.detail);
    s->kernels[2].rows = 1;
    s->kernels[3].rows = 4;
    s->kernels[4].rows = 3;
    is_int(measure(s), VBS_UNSUPPORTED, "a layer with stripes only");
    ok(strstr(s->ctx.detail, "'pool' at batch 1"), "is named: %s", s->ctx.detail);
    free(s);
}

int main(void)
{
    stripes_run_among_their_layers();
    sessions_out_of_order_are_refused();
    return done_testing();
}
