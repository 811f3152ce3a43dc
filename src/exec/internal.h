/* The executor. Internal to the room. */
#ifndef VBS_EXEC_INTERNAL_H
#define VBS_EXEC_INTERNAL_H

#include "exec/arena_checker.h"
#include "exec/program.h"

struct vbs_exec {
    struct vbs_session *session;
    const struct vbs_network *network; /* that the session borrows */
    int64_t request, n_steps;
    struct vbs_exec_placement placement;
    struct vbs_exec_arena arena;
    struct vbs_exec_file file;
    struct vbs_exec_loader loader;
    struct vbs_exec_program program;
    struct vbs_exec_checker *checker; /* null: no debug checks */
    struct vbs_exec_stream *stream;   /* null: runs load nothing */
    struct vbs_exec_step *trace;      /* [n_steps], or null */
    bool *is_load;                    /* [n_steps] the step's times are the copy thread's; null
                                         without trace */
    bool times_only;                  /* reports have no memory */
    bool check_finite;                /* outputs of layers are looked at */
    bool has_residents;               /* resident weights are in the arena */
    int64_t input_values;             /* of a sample */
    int64_t *output_values;           /* [n_outputs] values of a sample */
    float *seeded_input;
    /* Arena on a device: the request's inputs and outputs in memory of the host from which the
     * device can copy by itself; null: none. */
    float *staged_input, **staged_outputs; /* [n_outputs] */
    bool has_run;                          /* a run has succeeded */
    bool tried_capture, captured;          /* the device has a graph of the steps */
};

/* Allocates the memory for inputs and outputs, before the first run on a device. */
enum vbs_status vbs_exec_stage(struct vbs_ctx *ctx, struct vbs_exec *exec) VBS_MUST_CHECK;
void vbs_exec_unstage(struct vbs_exec *exec);

/* Loads the resident weights to the addresses at which runs expect them. */
enum vbs_status vbs_exec_load_residents(struct vbs_ctx *ctx, struct vbs_exec *exec) VBS_MUST_CHECK;

#endif
