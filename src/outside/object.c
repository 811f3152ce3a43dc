/*
 * Planners in shared objects. What they add is judged by replay like the answers of programs.
 */
#include "base/clock.h"
#include "base/fail.h"
#include "outside/internal.h"
#include "vbslab/replay.h"
#include "vbslab/units.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 32

/* A solver of an object, and the host of its calls. */
struct object {
    struct vbs_outside *outside;
    const struct vbs_task *task;
    void *self; /* the object's own */
    struct vbs_planner_host host;
    struct vbs_ctx *ctx; /* of the running call */
    double until_s;
    int64_t memory_bytes;
    struct vbs_step_list steps;
    size_t peak_bytes; /* of steps */
    char reason[VBS_DETAIL_SIZE];
};

/* ---- The host ---- */

static const struct vbs_profile_row *host_rows(const struct vbs_planner_host *host,
                                               const struct vbs_profile *profile, int layer,
                                               int batch_index, int *n_rows)
{
    (void)host;
    return vbs_profile_rows(profile, layer, batch_index, n_rows);
}

static bool host_add(const struct vbs_planner_host *host, const struct vbs_step *step)
{
    struct object *object = host->self;

    return vbs_step_list_append(NULL, &object->steps, step) == VBS_OK;
}

static void host_clear(const struct vbs_planner_host *host)
{
    ((struct object *)host->self)->steps.n_steps = 0;
}

static bool host_stopped(const struct vbs_planner_host *host)
{
    const struct object *object = host->self;

    return vbs_cancelled(object->ctx) || vbs_clock_s() >= object->until_s;
}

static void host_fail(const struct vbs_planner_host *host, const char *reason)
{
    struct object *object = host->self;

    snprintf(object->reason, sizeof object->reason, "%s", reason ? reason : "");
}

/* Gives the steps so far as a schedule, which borrows them. */
static struct vbs_schedule schedule_of(const struct object *object)
{
    const struct vbs_task *task = object->task;

    return (struct vbs_schedule){.model = "",
                                 .planner = object->outside->name,
                                 .request = task->request,
                                 .memory_bytes = object->memory_bytes,
                                 .io = task->problem.io,
                                 .weights = task->problem.weights,
                                 .copy = task->problem.copy,
                                 .n_algorithms = task->profile->n_algorithms,
                                 .algorithms = task->profile->algorithms,
                                 .n_steps = object->steps.n_steps,
                                 .steps = object->steps.steps};
}

/* Checks what the replay takes for granted of steps that were read from a file. */
static enum vbs_status check_steps(struct vbs_ctx *ctx, const struct object *object)
{
    const struct vbs_profile *profile = object->task->profile;

    for (int64_t s = 0; s < object->steps.n_steps; s++) {
        const struct vbs_step *step = &object->steps.steps[s];
        bool computes = step->op == VBS_STEP_COMPUTE;
        bool whole = step->n_slices == 0 && step->slice == 0;

        if (step->op > VBS_STEP_EVICT || step->layer < 1 || step->layer > profile->n_layers ||
            step->format >= VBS_MAX_FORMATS || step->n_slices < 0 ||
            step->n_slices > VBS_MAX_SLICES ||
            !(whole || (step->slice >= 1 && step->slice <= step->n_slices)))
            return vbs_fail(ctx, VBS_INVALID, "step %lld has a member out of range",
                            (long long)s + 1);
        if (computes && (step->algorithm < 0 || step->algorithm >= profile->n_algorithms ||
                         step->batch < 1 || step->batch > VBS_MAX_BATCH))
            return vbs_fail(ctx, VBS_INVALID, "step %lld has an algorithm or batch out of range",
                            (long long)s + 1);
        if (!computes && (object->task->problem.weights == VBS_WEIGHTS_EXCLUDED || step->bytes < 1))
            return vbs_fail(ctx, VBS_INVALID, "step %lld moves weights%s", (long long)s + 1,
                            step->bytes < 1 ? " of no bytes" : ", which are excluded");
    }
    return VBS_OK;
}

static bool host_replay(const struct vbs_planner_host *host, double *time_us, int64_t *peak_bytes)
{
    const struct object *object = host->self;
    struct vbs_schedule schedule = schedule_of(object);
    struct vbs_replay *replay = NULL;

    if (check_steps(NULL, object) != VBS_OK ||
        vbs_replay_run(NULL, object->task->profile, &schedule, -1, false, &replay) != VBS_OK)
        return false;
    if (time_us)
        *time_us = replay->time_us;
    if (peak_bytes)
        *peak_bytes = replay->peak_bytes;
    vbs_replay_free(replay);
    return true;
}

/* ---- The planner ---- */

static enum vbs_status fail(struct vbs_ctx *ctx, const struct object *object,
                            enum vbs_status status)
{
    const char *name = object->outside->name;
    char have[48];

    if (status == VBS_NO_MEMORY)
        return vbs_no_memory(ctx);
    if (status == VBS_INTERRUPTED && !vbs_cancelled(ctx))
        return vbs_fail(ctx, VBS_LIBRARY,
                        "%s: found no schedule within %g s; --time-limit gives it more", name,
                        vbs_outside_limit_s(object->task));
    if (status == VBS_INTERRUPTED)
        return vbs_check_cancel(ctx);
    if (status == VBS_INFEASIBLE && !object->reason[0])
        return vbs_fail(ctx, status, "%s has no schedule for %s", name,
                        vbs_format_exact(object->memory_bytes, have, sizeof have));
    if (status < VBS_OK || status >= VBS_N_STATUS)
        return vbs_fail(ctx, VBS_LIBRARY, "%s: gave the status %d, which is none", name,
                        (int)status);
    return vbs_fail(ctx, status, "%s: %s", name,
                    object->reason[0] ? object->reason : vbs_status_text(status));
}

static void begin_call(struct vbs_ctx *ctx, struct object *object)
{
    object->ctx = ctx;
    object->until_s = vbs_clock_s() + vbs_outside_limit_s(object->task);
    object->reason[0] = '\0';
    object->steps.n_steps = 0;
}

static void release(struct object *object)
{
    vbs_step_list_clear(&object->steps);
    vbs_outside_release(object->outside);
    free(object);
}

static void object_close(void *self)
{
    struct object *object = self;

    if (object->outside->functions->close)
        object->outside->functions->close(object->self);
    release(object);
}

static enum vbs_status object_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct object *object = calloc(1, sizeof *object);
    enum vbs_status status = VBS_OK;

    if (!object)
        return vbs_no_memory(ctx);
    object->outside = (struct vbs_outside *)(uintptr_t)task->outside;
    object->task = task;
    object->host = (struct vbs_planner_host){.struct_size = sizeof object->host,
                                             .self = object,
                                             .rows = host_rows,
                                             .add = host_add,
                                             .clear = host_clear,
                                             .replay = host_replay,
                                             .stopped = host_stopped,
                                             .fail = host_fail};
    vbs_outside_hold(object->outside);
    begin_call(ctx, object);
    if (object->outside->functions->open)
        status = object->outside->functions->open(&object->host, &task->problem, &object->self);
    if (status != VBS_OK) {
        status = fail(ctx, object, status);
        release(object);
        return status;
    }
    *self = object;
    return VBS_OK;
}

static enum vbs_status judge(struct vbs_ctx *ctx, const struct object *object,
                             struct vbs_draft *draft)
{
    struct vbs_schedule schedule = schedule_of(object);

    VBS_TRY(check_steps(ctx, object));
    return vbs_outside_judge(ctx, object->task, &schedule, object->memory_bytes, draft);
}

static enum vbs_status object_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                   struct vbs_draft *draft)
{
    struct object *object = self;
    size_t bytes;
    enum vbs_status status;

    begin_call(ctx, object);
    object->memory_bytes = memory_bytes;
    status = object->outside->functions->plan(object->self, &object->host, &object->task->problem,
                                              memory_bytes);
    bytes = (size_t)object->steps.capacity * sizeof *object->steps.steps;
    object->peak_bytes = bytes > object->peak_bytes ? bytes : object->peak_bytes;
    if (status != VBS_OK)
        return fail(ctx, object, status);
    status = judge(ctx, object, draft);
    if (status != VBS_OK)
        return status == VBS_NO_MEMORY ? status
                                       : vbs_fail_within(ctx, status, object->outside->name);
    return vbs_step_list_copy(ctx, object->steps.steps, object->steps.n_steps, &draft->steps);
}

static int64_t object_least_bytes(const void *self)
{
    (void)self;
    return 0;
}

static size_t object_peak_bytes(const void *self)
{
    return ((const struct object *)self)->peak_bytes;
}

static enum vbs_status object_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                         int *n)
{
    const struct object *object = self;

    return vbs_outside_thresholds(ctx, object->task, bytes, n);
}

/* ---- Loading ---- */

static bool is_name(const char *name)
{
    size_t length = name ? strlen(name) : 0;

    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("+-._", name[i]))
            return false;
    return length >= 1 && length <= MAX_NAME;
}

static enum vbs_status check_functions(struct vbs_ctx *ctx, const struct vbs_outside *outside)
{
    const struct vbs_planner_object *functions = outside->functions;

    if (!functions)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "%s: '%s' has no symbol " VBS_PLANNER_SYMBOL,
                        outside->name, outside->path);
    if (functions->api_version != VBS_PLANNER_API)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "%s: '%s' was made for version %d of vbslab/planner.h, but this is version "
                        "%d; compile it anew",
                        outside->name, outside->path, functions->api_version, VBS_PLANNER_API);
    if (functions->struct_size != sizeof *functions)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "%s: the struct of '%s' has %zu bytes, not %zu; struct_size is its size",
                        outside->name, outside->path, functions->struct_size, sizeof *functions);
    if (!functions->plan)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "%s: '%s' has no function plan", outside->name,
                        outside->path);
    if (!is_name(functions->name))
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "%s: '%s' has a name that is not 1 to %d letters, digits and signs out of "
                        "+-._",
                        outside->name, outside->path, MAX_NAME);
    return VBS_OK;
}

/* Replaces the name by that of the object. */
static enum vbs_status take_name(struct vbs_ctx *ctx, struct vbs_outside *outside)
{
    const struct vbs_planner_object *functions = outside->functions;
    struct vbs_planner *planner = &outside->planner;
    char *name = malloc(sizeof "so:" + MAX_NAME);

    if (!name)
        return vbs_no_memory(ctx);
    sprintf(name, "so:%s", functions->name);
    free(outside->name);
    outside->name = name;
    planner->summary = functions->summary ? functions->summary : planner->summary;
    planner->source = functions->source ? functions->source : planner->source;
    planner->cost = functions->cost ? functions->cost : planner->cost;
    return VBS_OK;
}

enum vbs_status vbs_outside_object(struct vbs_ctx *ctx, struct vbs_outside *outside)
{
    struct vbs_planner *planner = &outside->planner;

    VBS_TRY(vbs_outside_check_whole(ctx, outside));
    /* Its code stays in the process, whatever it has registered for later. */
    outside->object = dlopen(outside->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!outside->object)
        return vbs_fail(ctx, VBS_IO, "%s: %s", outside->name, dlerror());
    outside->functions = dlsym(outside->object, VBS_PLANNER_SYMBOL);
    VBS_TRY(check_functions(ctx, outside));
    VBS_TRY(take_name(ctx, outside));
    planner->open = object_open;
    planner->plan = object_plan;
    planner->least_bytes = object_least_bytes;
    planner->peak_bytes = object_peak_bytes;
    planner->thresholds = object_thresholds;
    planner->close = object_close;
    return VBS_OK;
}
