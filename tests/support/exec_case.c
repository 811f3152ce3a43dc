#include "support/exec_case.h"

#include "base/ctx.h"
#include "fake/exec.h"

#include "vbslab/replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BREAKS 6 /* calls of kernels, about, at which runs of a case end */

VBS_PRINTF(2, 3) static bool fail(struct exec_case *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(c->why, sizeof c->why, format, args);
    va_end(args);
    return false;
}

struct outputs {
    int n;
    int64_t *sizes; /* values of all samples */
    float **values;
};

static bool outputs_new(const struct vbs_network *network, int64_t request, struct outputs *outputs)
{
    outputs->n = network->n_outputs;
    outputs->sizes = calloc((size_t)outputs->n, sizeof *outputs->sizes);
    outputs->values = calloc((size_t)outputs->n, sizeof *outputs->values);
    for (int i = 0; i < outputs->n && outputs->sizes && outputs->values; i++) {
        outputs->sizes[i] = request * vbs_shape_elements(&network->outputs[i].shape);
        outputs->values[i] = calloc((size_t)outputs->sizes[i], sizeof **outputs->values);
        if (!outputs->values[i])
            return false;
    }
    return outputs->sizes && outputs->values;
}

static void outputs_free(struct outputs *outputs)
{
    for (int i = 0; i < outputs->n && outputs->values; i++)
        free(outputs->values[i]);
    free(outputs->values);
    free(outputs->sizes);
}

static bool compare(struct exec_case *c, const struct outputs *got, const struct outputs *want,
                    const char *what)
{
    for (int i = 0; i < want->n; i++)
        for (int64_t j = 0; j < want->sizes[i]; j++)
            if (!(got->values[i][j] == want->values[i][j]))
                return fail(c, "%s: output %d differs at value %" PRId64 " of %" PRId64, what, i, j,
                            want->sizes[i]);
    return true;
}

/* Runs once. what: the name of the run in the reason of a failure. */
static bool run_once(struct exec_case *c, struct vbs_exec *exec, const struct outputs *want,
                     struct outputs *got, const char *what)
{
    struct vbs_exec_report report;
    struct vbs_ctx ctx = {0};

    exec_fake.n_calls = 0;
    for (int i = 0; i < got->n; i++)
        for (int64_t j = 0; j < got->sizes[i]; j++)
            got->values[i][j] = (float)NAN;
    if (vbs_exec_run(&ctx, exec, NULL, got->values, &report) != VBS_OK)
        return fail(c, "%s: %s", what, vbs_detail(&ctx));
    if (exec_fake.n_wrong > 0)
        return fail(c, "%s: %d wrong, first %s", what, exec_fake.n_wrong, exec_fake.why);
    /* Values of tensors without bytes are never written. */
    for (int i = 0; i < got->n; i++)
        for (int64_t j = 0; j < got->sizes[i]; j++)
            if (isnan(got->values[i][j]) && want->values[i][j] == 0)
                got->values[i][j] = 0;
    return compare(c, got, want, what);
}

/* ---- runs that end early ---- */

enum breaking { DIES, STOPS, N_BREAKINGS };

static int most_calls(const struct exec_case *c)
{
    return c->most_calls > 1 ? c->most_calls : 1;
}

/* Runs until a call of a kernel, from 0, fails or is told to stop; -1: the stop comes before the
 * run. */
static bool break_run(struct exec_case *c, struct vbs_exec *exec, struct outputs *got, int call,
                      enum breaking how)
{
    static const struct {
        enum vbs_status status;
        const char *why;
    } WANT[] = {
        [DIES] = {VBS_LIBRARY, "the kernel died"}, [STOPS] = {VBS_INTERRUPTED, "interrupted"}};
    struct vbs_ctx ctx = {.cancel = &exec_fake.stop};
    struct vbs_exec_report report = {.n_steps = -1};
    enum vbs_status status;

    exec_fake.n_calls = 0;
    exec_fake.stop = call < 0;
    *(how == DIES ? &exec_fake.die_at : &exec_fake.stop_at) = call;
    status = vbs_exec_run(&ctx, exec, NULL, got->values, &report);
    exec_fake.die_at = exec_fake.stop_at = -1;
    exec_fake.stop = 0;
    c->n_broken++;
    if (status != WANT[how].status || strcmp(vbs_detail(&ctx), WANT[how].why) != 0)
        return fail(c, "call %d: status %d, not %d (%s)", call, (int)status, (int)WANT[how].status,
                    vbs_detail(&ctx));
    if (exec_fake.n_calls < call + (how == STOPS) ||
        exec_fake.n_calls > call + (how == STOPS) * most_calls(c))
        return fail(c, "%d calls of a run that ends at call %d", exec_fake.n_calls, call);
    return report.n_steps == -1 || fail(c, "call %d: a report of a run that failed", call);
}

/* Breaks runs before and in some of n_calls. After each of them a run is as if there had been no
 * other. A run need not notice a stop in its last step. */
static bool break_runs(struct exec_case *c, struct vbs_exec *exec, const struct outputs *want,
                       struct outputs *got, int n_calls)
{
    int stride = 1 + n_calls / BREAKS;

    /* The second one is stopped where it would load resident weights again. */
    if (!break_run(c, exec, got, -1, STOPS) || !break_run(c, exec, got, -1, STOPS) ||
        !run_once(c, exec, want, got, "after stops"))
        return false;
    for (int call = 0; call < n_calls; call += stride)
        for (enum breaking how = DIES; how < N_BREAKINGS; how++) {
            char what[60];

            if (how == STOPS && call >= n_calls - most_calls(c))
                continue;
            snprintf(what, sizeof what, "after %s in call %d", how == DIES ? "a death" : "a stop",
                     call);
            if (!break_run(c, exec, got, call, how) || !run_once(c, exec, want, got, what))
                return false;
        }
    return true;
}

static bool run_all(struct exec_case *c, struct vbs_exec *exec, const struct outputs *want,
                    struct outputs *got)
{
    if (!run_once(c, exec, want, got, "first run"))
        return false;
    if (c->breaks && !break_runs(c, exec, want, got, exec_fake.n_calls))
        return false;
    return run_once(c, exec, want, got, "last run");
}

/* ---- a case ---- */

/* Opens the case in the replay's peak, or, where it cannot be placed in it, in the bytes of the
 * best placement. */
static enum vbs_status open_case(struct exec_case *c, struct vbs_ctx *ctx,
                                 const struct vbs_network *network, int64_t peak_bytes,
                                 struct vbs_exec **exec)
{
    struct vbs_exec_options options = c->options;
    enum vbs_status status;

    options.struct_size = sizeof options;
    if (options.memory_bytes == 0)
        options.memory_bytes = peak_bytes > 0 ? peak_bytes : 1;
    status = vbs_exec_new(ctx, network, &exec_fake_backend, c->profile, c->schedule, &options,
                          &c->placement, exec);
    c->exact = status == VBS_OK;
    for (int i = 0; i < 3 && status == VBS_INFEASIBLE && c->options.memory_bytes == 0; i++) {
        struct vbs_exec_placement again;

        options.memory_bytes = c->placement.placed_bytes * (20 + i) / 20;
        status = vbs_exec_new(ctx, network, &exec_fake_backend, c->profile, c->schedule, &options,
                              &again, exec);
    }
    return status;
}

static bool check_bytes(struct exec_case *c, int64_t peak_bytes)
{
    if (c->placement.live_bytes != peak_bytes)
        return fail(c, "%" PRId64 " bytes live, the replay says %" PRId64, c->placement.live_bytes,
                    peak_bytes);
    /* A load that begins later takes memory for a shorter time than the schedule says. */
    if (c->placement.n_delayed == 0 && c->placement.placed_bytes < c->placement.load_bytes)
        return fail(c, "placed in %" PRId64 " bytes what takes %" PRId64, c->placement.placed_bytes,
                    c->placement.load_bytes);
    return true;
}

static bool try_case(struct exec_case *c, const struct vbs_network *network, int64_t peak_bytes,
                     struct outputs *want, struct outputs *got)
{
    struct vbs_ctx ctx = {0};
    struct vbs_exec *exec = NULL;
    bool done;

    if (!outputs_new(network, c->schedule->request, want) ||
        !outputs_new(network, c->schedule->request, got) ||
        !exec_fake_reference(c->profile, network, c->schedule->request, NULL, want->values))
        return fail(c, "out of memory");
    c->opened = open_case(c, &ctx, network, peak_bytes, &exec);
    if (c->opened != VBS_OK)
        return fail(c, "%s", vbs_detail(&ctx));
    done = check_bytes(c, peak_bytes) && run_all(c, exec, want, got);
    vbs_exec_free(exec);
    return done;
}

bool exec_case_run(struct exec_case *c)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = exec_fake_network(c->profile);
    struct vbs_replay *replay = NULL;
    struct outputs want = {0}, got = {0};
    bool done;

    exec_fake_reset(c->profile);
    exec_fake.less = c->less;
    exec_fake.reads_above = c->reads_above;
    if (!network || vbs_replay_run(&ctx, c->profile, c->schedule, -1, false, &replay) != VBS_OK) {
        exec_fake_network_free(network);
        return fail(c, "no replay: %s", vbs_detail(&ctx));
    }
    done = try_case(c, network, replay->peak_bytes, &want, &got);
    if (done && exec_fake.n_open != 0)
        done = fail(c, "%d sessions left open", exec_fake.n_open);
    vbs_replay_free(replay);
    exec_fake_network_free(network);
    outputs_free(&want);
    outputs_free(&got);
    return done;
}
