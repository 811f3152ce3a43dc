/*
 * vbslab/exec.h - executing schedules on the machine, inside an arena of exactly the budget.
 *
 * Everything is prepared once: kernels of the session (created and, with weights excluded, packed),
 * a buffer for everything that the schedule makes live, an offset for every buffer (place.h), and
 * the file of packed weights that loads read. A run then only sets pointers: the executor allocates
 * nothing, makes no kernel and converts nothing that the schedule does not name.
 *
 * Buffers. Time is the place in the list of steps. A sample of a tensor is live from the step that
 * computes it to the last step that reads it. The samples that one step writes, or reads of one
 * tensor, lie one after the other, so samples are joined into rigid groups, whose samples begin and
 * end to live at different steps. Workspace lives for its step. A layer in place shares the group
 * of its first input. A block of packed weights is live from its load to its evict; blocks that one
 * step reads form a rigid group too. With io external the samples of the network's input are copied
 * into the arena for each step that reads them, and final outputs are copied out behind the step
 * that makes them.
 *
 * Rows. Windows of all rows are samples as all others, live from the first step that writes rows of
 * them. A window of fewer rows is a ring of whole pages, in which row r lies at byte r * (bytes of
 * a row) modulo its bytes. Its pages are mapped a second and a third time, one behind the other, so
 * that a step finds its rows side by side wherever they begin. A step by rows runs the kernel of
 * one sample for each of its samples. It has a buffer of its own for the rows of the network's
 * input that it reads and for those of final outputs that it writes, where these are outside the
 * arena.
 *
 * Everything that the schedule counts is in the arena. The rest of the process is the base, which
 * does not depend on batches: program, libraries, kernels, and parameters that runs are not given
 * (biases, and with weights excluded all packed weights).
 *
 * Threads: an executor is used by one thread at a time, and its placement and session with it.
 * Options, reports and placements that are filled in belong to the caller. Profile, schedule and
 * network are only read and may be shared.
 */
#ifndef VBSLAB_EXEC_H
#define VBSLAB_EXEC_H

#include "vbslab/backend.h"
#include "vbslab/place.h"
#include "vbslab/plan.h"
#include "vbslab/schedule.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A schedule whose buffers have offsets. Threads: one thread at a time. Freed by
 * vbs_exec_placed_free. */
struct vbs_exec_placed;

/* The options of making an executor. Begin with {.struct_size = sizeof(struct vbs_exec_options)}: a
 * member that is 0 or null has the default that is named here. */
struct vbs_exec_options {
    size_t struct_size;   /* sizeof(struct vbs_exec_options) */
    int threads;          /* as struct vbs_backend_options */
    int64_t memory_bytes; /* of the arena; 0: the schedule's budget */
    double place_limit_s; /* processor time for finding offsets with moves; 0: 10 */
    /* The file of packed weights (weights included): read when it suits this network, library and
     * schedule, else written anew; null: a file without a name in folder, for this executor only.
     */
    const char *weights_path;
    const char *folder; /* null: ".", or, where it cannot be written, TMPDIR or /tmp */
    bool direct;        /* loads bypass the page cache where the system supports this (O_DIRECT) */
    bool debug_checks;  /* fill memory in which no buffer lives with signalling values, and check
                           that it is unchanged when it is next used; slow */
    bool trace;         /* keep the times of every step */
    struct vbs_progress progress; /* receives the progress of preparing: kernels, placement, the
                                     weight file */
    bool check_finite; /* after each compute step, look for outputs that are infinite or no numbers.
                          Activations that are fused with a layer may have hidden them: oneDNN's
                          make 0, or a bound, of what is no number. For tensors of 32-bit floats in
                          the memory of the host */
    /* Of vbs_exec_new: the offsets that vbs_exec_place found for the same schedule and profile,
     * which the executor takes without a search where they hold for the session's sizes too. It is
     * changed, and stays the caller's. Null: offsets are searched for. */
    struct vbs_exec_placed *placed;
};

/* The result of the offset allocation. */
struct vbs_exec_placement {
    int64_t live_bytes;   /* peak of what is live, as the replay counts it */
    int64_t load_bytes;   /* the same with alignment and rigid groups, as buffers need them */
    int64_t placed_bytes; /* the highest end of a buffer; below load_bytes only where loads are
                             delayed */
    int n_buffers;
    /* Copies of samples to other addresses, which make space for other buffers. They are part of
     * the run's time, of which they take a tenth at most (at 5 GB/s). 0: none are needed. */
    int64_t n_moves, moved_bytes;
    int64_t n_delayed; /* loads that begin later than in the schedule, because their buffers
                          could not be placed so early; by the profile's times no step waits for
                          them */
    double place_s;
};

/* The times of a step of the schedule, in microseconds from the start of the run. */
struct vbs_exec_step {
    double start_us, end_us;
};

/* The report of a run. On a device without trace the host does not wait for steps, and all times
 * are NaN except that of the whole run. With trace it does wait, which takes longer. */
struct vbs_exec_report {
    double time_us;    /* of the request: from the start of the first step to the end of the
                          last, with copies of inputs and outputs */
    double compute_us; /* sum of the compute steps */
    double copy_us;    /* sum of the loads that are not resident */
    double waited_us;  /* time that compute steps waited for loads */
    double io_us;      /* time of copying inputs and outputs */
    int64_t copied_bytes;
    int64_t touched_bytes;    /* pages of the arena that are resident after the run */
    int64_t base_bytes;       /* resident memory of the process before the run, without the arena;
                                 pages that are mapped more than once count once here and below */
    int64_t high_water_bytes; /* largest resident memory during the run, above base_bytes; -1:
                                 the system does not tell. Where the arena is on a device: the
                                 used memory of the device, before and after the run */
    int64_t heap_bytes;       /* of that rise, the bytes that the heap obtained during the run, for
                                 kernels that use more memory than the workspace that they declare
                                 (oneDNN's matrix products do, on every thread). Such memory mostly
                                 stays with the process, and is part of the base of the next run */
    int64_t file_bytes; /* of that rise at most: pages of files, such as the code of the program
                           and its libraries, that came into memory during the run. The system
                           takes them back when it needs the memory */
    int64_t n_steps;
    const struct vbs_exec_step *steps; /* with trace, as the schedule's; valid until the next run */
};

/* An executor: a schedule with its session, its arena and its packed weights, ready to run.
 * Threads: one thread at a time. Freed by vbs_exec_free. */
struct vbs_exec;

/*
 * Finds offsets for schedule from the sizes in profile, without a session, whose packed weights and
 * workspaces may have other sizes. Of *options (null: defaults) memory_bytes, place_limit_s, direct
 * and progress are read. *placed, which borrows profile and schedule and is freed by
 * vbs_exec_placed_free, is for options.placed of vbs_exec_new, so that offsets are searched for
 * once; placed may be null. VBS_INVALID, VBS_USAGE (too large), VBS_INFEASIBLE with *placement and
 * without *placed.
 */
enum vbs_status vbs_exec_place(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule,
                               const struct vbs_exec_options *options,
                               struct vbs_exec_placement *placement,
                               struct vbs_exec_placed **placed) VBS_MUST_CHECK;

/* Frees what vbs_exec_place made; null is allowed. Executors do not need it any more. */
void vbs_exec_placed_free(struct vbs_exec_placed *placed);

/*
 * Prepares schedule, of profile, of network on backend. Borrows network; copies the rest.
 * VBS_INVALID: the schedule does not belong to the profile, the profile does not belong to the
 * network on this backend, the schedule breaks the rules of schedule.h, or options.placed is of
 * another one. VBS_USAGE: it is too
 * large to be placed. VBS_NOT_FOUND: an algorithm that this machine does not have. VBS_INFEASIBLE:
 * no placement within the arena was found; *placement tells the bytes that the best one needs.
 * VBS_UNSUPPORTED: a session that is modelled, or one that keeps weights outside the budget where
 * the schedule includes them; steps by rows on a device, or where pages have not
 * VBS_WINDOW_ALIGNMENT bytes; a step that reads or writes windows of different sizes at once.
 * VBS_NO_MEMORY: also where the system allows no more mappings. placement may be null; it is filled
 * on success and on VBS_INFEASIBLE.
 */
enum vbs_status vbs_exec_new(struct vbs_ctx *ctx, const struct vbs_network *network,
                             const struct vbs_backend *backend, const struct vbs_profile *profile,
                             const struct vbs_schedule *schedule,
                             const struct vbs_exec_options *options,
                             struct vbs_exec_placement *placement,
                             struct vbs_exec **exec) VBS_MUST_CHECK;
/*
 * Sets whether the runs from now on ask the system for memory. Asking takes up to a millisecond for
 * a process with many pages, during which caches and threads of the library cool down, so that
 * short runs are slower after it. Where they do not, touched_bytes, base_bytes, high_water_bytes,
 * heap_bytes and file_bytes of their reports are -1.
 */
void vbs_exec_set_times_only(struct vbs_exec *exec, bool times_only);
/* Ends the session and frees the arena; null is allowed. */
void vbs_exec_free(struct vbs_exec *exec);

/*
 * Runs the request once. input: request samples in plain order (those of a network with several
 * inputs as vbs_network_join_inputs makes them), or null: vbs_network_input_values.
 * outputs: one array per network->outputs, request samples in plain order, or null; an entry that
 * is null is not written. Runs can be repeated; resident weights stay from one to the next.
 * VBS_LIBRARY, VBS_IO (a load failed), VBS_INTERRUPTED, and with debug checks VBS_LIBRARY where a
 * step wrote outside of living buffers. After a failure the values of the outputs are undefined;
 * the next run loads resident weights again, and gives what it gives without the failure.
 */
enum vbs_status vbs_exec_run(struct vbs_ctx *ctx, struct vbs_exec *exec, const float *input,
                             float *const *outputs, struct vbs_exec_report *report) VBS_MUST_CHECK;

/*
 * Gives the system back memory that preparing took and runs do not need: free memory of the heap,
 * and the pages of code and constants of the program and its libraries that nobody has changed.
 * Pages that are needed come back from their files, which takes page faults in the next run. For a
 * process that runs a network in little memory: call it when vbs_exec_new has succeeded and the
 * planner has been freed. It acts on the whole process and changes no value. Where the system does
 * not tell which pages are unchanged, these stay. O(pages of the program and its libraries).
 */
void vbs_exec_trim(void);

/* Gives the placement of the buffers in the arena; it belongs to exec. */
const struct vbs_exec_placement *vbs_exec_placement(const struct vbs_exec *exec);

/* Gives the session that runs the layers; it belongs to exec. */
const struct vbs_session *vbs_exec_session(const struct vbs_exec *exec);

/*
 * The memory of a process that runs a schedule on the host, by parts, in bytes: an estimate that
 * takes no run. The total is the most of the process's whole life from now on, and a sixteenth
 * more, by which processes differ. The system counted (VmHWM) half of it to nearly all for five
 * networks, and less where one layer has most of the weights (docs/accounting.md). Planning, making
 * kernels and running come one after the other, so that the total is less than the sum.
 */
struct vbs_exec_memory {
    int64_t process_bytes;  /* resident before: program, libraries, profile, network */
    int64_t planning_bytes; /* of the solver, which is freed before kernels are made */
    int64_t library_bytes;  /* code of the backend's library that kernels bring in */
    int64_t kernel_bytes;   /* objects and generated code of the kernels */
    int64_t weight_bytes;   /* packed weights beside the arena; 0 with weights included */
    int64_t packing_bytes;  /* of weights while they are packed, before the arena is used */
    int64_t arena_bytes;    /* its pages that the schedule uses */
    int64_t value_bytes;    /* inputs and outputs of the request */
    int64_t thread_bytes;   /* stacks, and what matrix products take beyond their workspace */
    int64_t more_bytes;     /* of the options */
    int64_t total_bytes;    /* the most that is there at once */
};

/* The options of an estimate; {.struct_size = sizeof(struct vbs_exec_memory_options)} gives the
 * defaults. */
struct vbs_exec_memory_options {
    size_t struct_size;
    int64_t process_bytes; /* 0: vbs_exec_process_bytes */
    int threads;           /* 0: as the profile was measured */
    int64_t more_bytes;    /* that the caller needs while the network runs */
};

/* Returns the resident memory of this process, once free memory of the heap went back to the
 * system; -1: the system does not tell. */
int64_t vbs_exec_process_bytes(void);

/* Computes the bytes of the weights that the steps of a schedule are computed from: of each layer
 * every packed weight format that a step reads, once. VBS_NO_MEMORY. */
enum vbs_status vbs_exec_used_weights(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                      const struct vbs_schedule *schedule,
                                      int64_t *weight_bytes) VBS_MUST_CHECK;

/* Estimates the memory of a process that runs schedule, of profile. options may be null.
 * VBS_UNSUPPORTED: the system does not tell what the process takes now, or the profile is of a
 * device, in whose memory the arena is; else fails as vbs_exec_place does for a schedule that is
 * none. O(steps). */
enum vbs_status vbs_exec_memory(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_schedule *schedule,
                                const struct vbs_exec_memory_options *options,
                                struct vbs_exec_memory *memory) VBS_MUST_CHECK;

/*
 * Plans so that the whole process stays within limit_bytes by this estimate: for the arena that is
 * left beside the other parts, with eight plans at most. solver is of profile. *schedule is freed
 * by vbs_schedule_free. VBS_INFEASIBLE: not even the least plan does, and *memory is that of it,
 * or no budget has a plan, and then *memory is unchanged; a planner from outside, whose least
 * budget is not known, has no plan for the arena that is left. Else fails as vbs_solver_plan and
 * vbs_exec_memory do.
 */
enum vbs_status vbs_exec_plan_within(struct vbs_ctx *ctx, struct vbs_solver *solver,
                                     const struct vbs_profile *profile, int64_t limit_bytes,
                                     const struct vbs_exec_memory_options *options,
                                     struct vbs_exec_memory *memory,
                                     struct vbs_schedule **schedule) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
