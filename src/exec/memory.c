/*
 * The memory of a process that runs a schedule, added up from its parts without running it, and
 * plans that keep a whole process within a limit.
 */
#include "exec/arena.h"
#include "exec/check/check.h"

#include "base/fail.h"
#include "base/options.h"
#include "vbslab/backend.h"
#include "vbslab/exec.h"
#include "vbslab/units.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The parts that no profile knows, as measured with oneDNN 2.6 on x86-64. */
#define MAKING_BYTES  ((int64_t)14 << 20)  /* pages of code while kernels are made */
#define LIBRARY_BYTES ((int64_t)4 << 20)   /* those that are left when they run */
#define KERNEL_BYTES  ((int64_t)52 << 10)  /* objects and generated code of a kernel */
#define THREAD_BYTES  ((int64_t)128 << 10) /* the used part of a stack, and the heap of a thread */
#define GEMM_BYTES    ((int64_t)1 << 20)   /* by thread, from the heap, in matrix products */
#define ROWS_BYTES    ((int64_t)16 << 20)  /* of weights that are read at once, at most */
#define WEIGHTS_SHARE 16                   /* part of the weights that the heap loses beside them */
#define RESERVE_SHARE 16                   /* part of the whole by which processes differ */
#define HUGE_PAGE     ((int64_t)2 << 20)   /* in which arenas lie where the system has them */
#define MOST_PLANS    8

/* ---- weights ---- */

/* Marks the algorithms of the profile that steps of the schedule take, [n_layers + 1][n_algorithms
 * of the profile]; null: out of memory. */
static bool *mark_algorithms(const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    size_t n = (size_t)profile->n_algorithms;
    bool *used = calloc((size_t)profile->n_layers + 1, n * sizeof *used);

    for (int a = 0; used && a < schedule->n_algorithms; a++) {
        int algorithm = vbs_profile_algorithm(profile, schedule->algorithms[a]);

        for (int64_t s = 0; s < schedule->n_steps && algorithm >= 0; s++)
            if (schedule->steps[s].op == VBS_STEP_COMPUTE && schedule->steps[s].algorithm == a)
                used[(size_t)schedule->steps[s].layer * n + (size_t)algorithm] = true;
    }
    return used;
}

/* Returns the first row of the layer with this algorithm, or null. */
static const struct vbs_profile_row *find_row(const struct vbs_profile *profile, int layer,
                                              int algorithm)
{
    for (int i = 0; i < profile->n_batches; i++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, i, &n_rows);

        for (int r = 0; r < n_rows; r++)
            if (rows[r].algorithm == algorithm)
                return &rows[r];
    }
    return NULL;
}

/* used: [n_algorithms], the algorithms that compute the layer. */
static int64_t used_of_layer(const struct vbs_profile *profile, int layer, const bool *used)
{
    int64_t bytes = 0;
    uint64_t formats = 0; /* bit f: the packed format f was counted */

    for (int a = 0; a < profile->n_algorithms; a++) {
        const struct vbs_profile_row *row = used[a] ? find_row(profile, layer, a) : NULL;

        if (!row || formats >> row->format & 1)
            continue;
        bytes += row->weight_bytes;
        formats |= (uint64_t)1 << row->format;
    }
    return bytes;
}

enum vbs_status vbs_exec_used_weights(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                      const struct vbs_schedule *schedule, int64_t *weight_bytes)
{
    bool *used = mark_algorithms(profile, schedule);
    int64_t bytes = 0;

    if (!used)
        return vbs_no_memory(ctx);
    for (int k = 1; k <= profile->n_layers; k++)
        bytes += used_of_layer(profile, k, used + (size_t)k * (size_t)profile->n_algorithms);
    free(used);
    *weight_bytes = bytes;
    return VBS_OK;
}

/* Returns the most bytes that packing takes at a time beside what is packed. The plain weights of
 * small layers stay in the heap until all are packed. A file of packed weights is written layer by
 * layer, or in pieces where that is possible. Beside them are the rows that were read at once. */
static int64_t packing_bytes(const struct vbs_profile *profile, enum vbs_weights weights)
{
    int64_t piece = (int64_t)(weights == VBS_WEIGHTS_INCLUDED ? 64 : 32) << 20, most = 0, all;

    for (int k = 1; k <= profile->n_layers; k++)
        most = profile->layers[k].weight_bytes > most ? profile->layers[k].weight_bytes : most;
    all = weights == VBS_WEIGHTS_EXCLUDED ? vbs_profile_weight_bytes(profile) : most;
    return (all < piece ? all : piece) + (most < ROWS_BYTES ? most : ROWS_BYTES);
}

/* ---- the other parts ---- */

int64_t vbs_exec_process_bytes(void)
{
    malloc_trim(0);
    return vbs_exec_resident_bytes(VBS_EXEC_NOW);
}

/* Returns the bytes of the request's inputs and outputs. */
static int64_t value_bytes(const struct vbs_exec_checked *checked)
{
    const struct vbs_profile *profile = checked->profile;
    int64_t bytes = profile->layers[0].out_bytes;

    for (int k = 1; k <= profile->n_layers; k++)
        bytes += checked->is_read[k] ? 0 : profile->layers[k].out_bytes;
    return bytes * checked->schedule->request;
}

/* Returns whether a kernel takes more memory than the workspace that it declares. */
static bool takes_heap(const struct vbs_exec_checked *checked)
{
    for (int i = 0; i < checked->n_kernels; i++)
        if (strstr(checked->kernels[i].requested.algorithm, "gemm:"))
            return true;
    return false;
}

/* Returns the bytes of an arena's pages that a schedule uses. */
static int64_t arena_bytes(const struct vbs_schedule *schedule)
{
    int64_t page = sysconf(_SC_PAGESIZE), used = schedule->predicted.peak_bytes;
    int64_t all = (schedule->memory_bytes + page - 1) / page * page;

    used = (used + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    return used > 0 && used < all ? used : all;
}

static void add_up(const struct vbs_exec_checked *checked,
                   const struct vbs_exec_memory_options *options, struct vbs_exec_memory *memory)
{
    const struct vbs_schedule *schedule = checked->schedule;
    int64_t threads = options->threads, both, making, running;

    if (threads == 0)
        threads = checked->profile->provenance.threads > 0 ? checked->profile->provenance.threads
                                                           : sysconf(_SC_NPROCESSORS_ONLN);
    memory->process_bytes = options->process_bytes;
    memory->planning_bytes = (int64_t)schedule->solver.peak_bytes;
    memory->kernel_bytes = checked->n_kernels * KERNEL_BYTES;
    memory->thread_bytes = threads * (THREAD_BYTES + (takes_heap(checked) ? GEMM_BYTES : 0));
    memory->weight_bytes += memory->weight_bytes / WEIGHTS_SHARE;
    memory->arena_bytes = arena_bytes(schedule);
    memory->value_bytes = value_bytes(checked);
    memory->packing_bytes = packing_bytes(checked->profile, schedule->weights);
    memory->more_bytes = options->more_bytes;
    both = memory->kernel_bytes + memory->thread_bytes + memory->weight_bytes;
    making = MAKING_BYTES + both + memory->packing_bytes;
    running = LIBRARY_BYTES + both + memory->arena_bytes + memory->value_bytes + memory->more_bytes;
    memory->library_bytes = making > running ? MAKING_BYTES : LIBRARY_BYTES;
    running = making > running ? making : running;
    memory->total_bytes = memory->process_bytes +
                          (memory->planning_bytes > running ? memory->planning_bytes : running);
    memory->total_bytes += memory->total_bytes / RESERVE_SHARE;
}

/* Fails for the profile of a device, in whose memory the arena would be. */
static enum vbs_status check_backend(struct vbs_ctx *ctx, const struct vbs_profile *profile)
{
    const struct vbs_backend *device = vbs_provenance_device(&profile->provenance);

    if (!device)
        return VBS_OK;
    return vbs_fail(ctx, VBS_UNSUPPORTED,
                    "a limit of the whole process is for backends that compute in its memory; '%s' "
                    "computes in a device's, which a budget of the arena bounds",
                    device->name);
}

enum vbs_status vbs_exec_memory(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_schedule *schedule,
                                const struct vbs_exec_memory_options *options,
                                struct vbs_exec_memory *memory)
{
    struct vbs_exec_memory_options own;
    struct vbs_exec_checked checked = {0};
    struct vbs_exec_memory made = {0};
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_exec_memory_options", options, &own, sizeof own));
    VBS_TRY(check_backend(ctx, profile));
    if (own.process_bytes == 0)
        own.process_bytes = vbs_exec_process_bytes();
    if (own.process_bytes < 0)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "the system does not tell how much memory the process takes");
    status = vbs_exec_check(ctx, &checked, profile, schedule);
    if (status == VBS_OK && schedule->weights == VBS_WEIGHTS_EXCLUDED)
        status = vbs_exec_used_weights(ctx, profile, schedule, &made.weight_bytes);
    if (status == VBS_OK) {
        add_up(&checked, &own, &made);
        *memory = made;
    }
    vbs_exec_checked_clear(&checked);
    return status;
}

/* ---- plans within a limit ---- */

static enum vbs_status refuse(struct vbs_ctx *ctx, const struct vbs_exec_memory *memory,
                              int64_t limit_bytes)
{
    char limit[24], total[24], arena[24], weights[24], before[24];

    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "the process would take about %s where %s is the limit: %s of it is the least "
                    "arena, %s are weights beside it, and %s were there before planning",
                    vbs_format_bytes(memory->total_bytes, total, sizeof total),
                    vbs_format_bytes(limit_bytes, limit, sizeof limit),
                    vbs_format_bytes(memory->arena_bytes, arena, sizeof arena),
                    vbs_format_bytes(memory->weight_bytes, weights, sizeof weights),
                    vbs_format_bytes(memory->process_bytes, before, sizeof before));
}

/* Fails: a planner whose least budget is not known has no plan for what the limit leaves. */
static enum vbs_status refuse_unknown(struct vbs_ctx *ctx, int64_t process_bytes,
                                      int64_t arena_bytes, int64_t limit_bytes)
{
    char limit[24], arena[24], before[24], why[VBS_DETAIL_SIZE];

    snprintf(why, sizeof why, "%s", vbs_detail(ctx));
    return vbs_fail(
        ctx, VBS_INFEASIBLE,
        "%s is the limit of the process, which took %s before planning; in an arena of %s: "
        "%s",
        vbs_format_bytes(limit_bytes, limit, sizeof limit),
        vbs_format_bytes(process_bytes, before, sizeof before),
        vbs_format_bytes(arena_bytes, arena, sizeof arena), why);
}

/* Plans for an arena of *arena_bytes, or of the least size if that is more. */
static enum vbs_status plan_for(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                const struct vbs_profile *profile,
                                const struct vbs_exec_memory_options *options, int64_t *arena_bytes,
                                struct vbs_schedule **schedule, struct vbs_exec_memory *memory)
{
    int64_t least = vbs_solver_least_bytes(solver);
    struct vbs_schedule *made = NULL;
    enum vbs_status status;

    if (*arena_bytes < least && least < INT64_MAX)
        *arena_bytes = least;
    if (*arena_bytes < 1)
        *arena_bytes = 1;
    VBS_TRY(vbs_solver_plan(ctx, solver, *arena_bytes, &made));
    status = vbs_exec_memory(ctx, profile, made, options, memory);
    if (status != VBS_OK) {
        vbs_schedule_free(made);
        return status;
    }
    vbs_schedule_free(*schedule);
    *schedule = made;
    return VBS_OK;
}

enum vbs_status vbs_exec_plan_within(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                     const struct vbs_profile *profile, int64_t limit_bytes,
                                     const struct vbs_exec_memory_options *options,
                                     struct vbs_exec_memory *memory, struct vbs_schedule **schedule)
{
    int64_t least = vbs_solver_least_bytes(solver), arena = 0;
    struct vbs_exec_memory_options own;
    struct vbs_schedule *made = NULL;
    enum vbs_status status = VBS_OK;
    bool fits = false;

    VBS_TRY(vbs_options_read(ctx, "vbs_exec_memory_options", options, &own, sizeof own));
    VBS_TRY(check_backend(ctx, profile));
    if (own.process_bytes == 0)
        own.process_bytes = vbs_exec_process_bytes();
    arena = limit_bytes - own.process_bytes;
    for (int i = 0; i < MOST_PLANS && status == VBS_OK && !fits; i++) {
        /* Weights and kernels of plans differ, so that a smaller arena may not help; the last plan
         * is the one of least memory. */
        if (i == MOST_PLANS - 1)
            arena = least;
        status = plan_for(ctx, solver, profile, &own, &arena, &made, memory);
        if (status == VBS_INFEASIBLE && least == 0)
            status = refuse_unknown(ctx, own.process_bytes, arena, limit_bytes);
        if (status != VBS_OK)
            break;
        fits = memory->total_bytes <= limit_bytes;
        if (!fits && arena <= least)
            status = refuse(ctx, memory, limit_bytes);
        arena = made->predicted.peak_bytes - (memory->total_bytes - limit_bytes);
    }
    if (status != VBS_OK) {
        vbs_schedule_free(made);
        return status;
    }
    *schedule = made;
    return VBS_OK;
}
