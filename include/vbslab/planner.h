/*
 * vbslab/planner.h - planners from outside: programs that are run, and shared objects that are
 * loaded.
 *
 *     exec:PROGRAM   a program in any language. It reads the problem as JSON on its standard input
 *                    and writes a schedule for each budget, each on one line (docs/outside.md)
 *     so:FILE        a shared object in C, for those who need speed. It exports the struct
 *                    vbs_planner_object that this header describes
 *
 * vbs_planner_load takes such a name, or the name of a planner of the library, and gives a planner
 * for every call that takes one (plan.h, report.h). Whatever a planner from outside answers is
 * judged by the replay first: a schedule that is none, that breaks its budget or its latency, or
 * that is for another problem is refused, and nothing else sees it. The times, bytes and bounds of
 * its schedules are those of the replay and of the library, not its own.
 *
 * A shared object is part of the process: it can crash it, and one that neither returns nor asks
 * `stopped` cannot be ended. A program is a process of its own, which is ended at its limits.
 *
 * Threads: a planner from outside may be shared like those of the library. A shared object is
 * called by all threads whose solvers use it; a solver calls it from one thread at a time.
 */
#ifndef VBSLAB_PLANNER_H
#define VBSLAB_PLANNER_H

#include "vbslab/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_OUTSIDE_MEMORY_BYTES ((int64_t)4 << 30) /* the default limit of memory of a program */

/*
 * Gives the planner of a name: "exec:PROGRAM" or "so:FILE", or one of the library's. PROGRAM and
 * FILE are paths; one without a slash is a file in the current folder, and a shell or a search path
 * takes no part. The caller gives *planner back with vbs_planner_unload.
 *
 * A program runs for at most time_limit_s (struct vbs_solver_options) for each budget that it is
 * asked for, counted together. Each of its processes may allocate the bytes that the variable
 * VBSLAB_PLANNER_MEMORY of the environment says, a size such as "8GiB" (RLIMIT_DATA; 0: no limit);
 * without it VBS_OUTSIDE_MEMORY_BYTES. It runs in a process group of its own, which is killed as a
 * whole at the end, at a limit, and where the caller asks to stop.
 *
 * VBS_USAGE (a name without a path; the variable is no size), VBS_NOT_FOUND (no such planner of the
 * library), VBS_IO (the file is not there, or is no program), VBS_UNSUPPORTED (a shared object
 * without the symbol, or of another version of this header), VBS_NO_MEMORY.
 */
enum vbs_status vbs_planner_load(struct vbs_ctx *ctx, const char *name,
                                 const struct vbs_planner **planner) VBS_MUST_CHECK;

/* Gives a planner back that vbs_planner_load gave; null, and planners of the library, are allowed.
 * Solvers that still use it keep it and its shared object until they are freed. Comparisons (struct
 * vbs_compare) have to be freed before. */
void vbs_planner_unload(const struct vbs_planner *planner);

/* ---- Shared objects ---- */

/* The version of everything that a shared object sees: the structs below, and struct vbs_problem,
 * vbs_profile, vbs_profile_layer, vbs_profile_row, vbs_link and vbs_step. An object of another
 * version is refused. */
#define VBS_PLANNER_API 1

/* The name of the symbol that a shared object exports, a const struct vbs_planner_object. */
#define VBS_PLANNER_SYMBOL "vbslab_planner"

/*
 * What the library does for a planner while one of its functions runs: an object need not be linked
 * with the library. Every function takes the host as it was given. Valid during that call alone.
 */
struct vbs_planner_host {
    size_t struct_size; /* sizeof(struct vbs_planner_host) of the library */
    void *self;         /* the library's own */
    /* Gives the rows of layer (1..n_layers) at profile->batches[batch_index], as vbs_profile_rows.
     * Constant time. */
    const struct vbs_profile_row *(*rows)(const struct vbs_planner_host *host,
                                          const struct vbs_profile *profile, int layer,
                                          int batch_index, int *n_rows);
    /* Appends a copy of *step to the schedule, whose algorithm is an index into the profile's
     * algorithms (schedule.h has the rules of steps). False where memory is out or the schedule has
     * VBS_MAX_STEPS steps: the planner then returns VBS_NO_MEMORY. Constant time on average. */
    bool (*add)(const struct vbs_planner_host *host, const struct vbs_step *step);
    /* Forgets all steps that were added. */
    void (*clear)(const struct vbs_planner_host *host);
    /* Replays the steps so far, which must be a whole schedule, and gives its time and peak, each
     * of which may be null. False where they are no schedule. O(steps). */
    bool (*replay)(const struct vbs_planner_host *host, double *time_us, int64_t *peak_bytes);
    /* Gives whether the caller asked to stop or the time limit is over: the planner then returns
     * soon, with the best schedule so far, or VBS_INTERRUPTED where it has none. */
    bool (*stopped)(const struct vbs_planner_host *host);
    /* Sets the reason of a failure, one line without a full stop; the text is copied. */
    void (*fail)(const struct vbs_planner_host *host, const char *reason);
};

/* A planner in a shared object. Begin with {.struct_size = sizeof(struct vbs_planner_object),
 * .api_version = VBS_PLANNER_API, ...}. Constant data of the object. */
struct vbs_planner_object {
    size_t struct_size;
    int api_version;
    /* The name in tables and files, behind "so:": 1 to 32 letters, digits and signs out of "+-._".
     */
    const char *name;
    const char *summary; /* what it does, in one line for people; may be null */
    const char *source;  /* the paper from which it comes; may be null */
    const char *cost;    /* how the time that planning takes grows; may be null */
    /* Begins to plan a problem, which stays valid until close; *self is the planner's own. May be
     * null: *self is then null. A status other than VBS_OK fails the solver; close is not called.
     */
    enum vbs_status (*open)(const struct vbs_planner_host *host, const struct vbs_problem *problem,
                            void **self);
    /* Makes a schedule for a budget by host->add. VBS_INFEASIBLE: the planner has none. */
    enum vbs_status (*plan)(void *self, const struct vbs_planner_host *host,
                            const struct vbs_problem *problem, int64_t memory_bytes);
    /* Frees what open made; may be null. */
    void (*close)(void *self);
};

#ifdef __cplusplus
}
#endif
#endif
