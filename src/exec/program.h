/*
 * The program of a run: everything that the computing thread does, step by step, with all addresses
 * known. Internal to the room.
 */
#ifndef VBS_EXEC_PROGRAM_H
#define VBS_EXEC_PROGRAM_H

#include "exec/arena.h"
#include "exec/layout/layout.h"
#include "exec/weights/weights.h"

enum vbs_exec_op_kind {
    VBS_DO_WAIT_TO_EVICT,    /* until loads have ended whose weights are evicted */
    VBS_DO_WAIT_TO_RELOCATE, /* until loads have ended whose weights are relocated */
    VBS_DO_RELOCATE,         /* copies a buffer, before the step, to where the step expects it */
    VBS_DO_WAIT_TO_COMPUTE,  /* until loads have ended whose weights the step reads */
    VBS_DO_READ_INPUT,       /* converts samples of the network's input into the arena */
    VBS_DO_COPY_IN_PLACE,    /* copies the input of a layer in place to its output */
    VBS_DO_RESTORE,          /* fetches what other slices wrote, which waits outside the arena */
    VBS_DO_COMPUTE,          /* runs a kernel */
    VBS_DO_SAVE,             /* stores what waits outside the arena for other slices */
    VBS_DO_WRITE_OUTPUT,     /* converts samples of an output of the network out of the arena */
    VBS_N_OP_KINDS
};

struct vbs_exec_op {
    uint8_t kind; /* enum vbs_exec_op_kind, which says what holds of the union */
    union {
        struct {
            int n_loads; /* so many loads that are not resident, in their order, must have ended */
        } wait;
        struct { /* relocate, copy in place, restore, save */
            void *to;
            const void *from;
            int64_t bytes;
        } copy;
        struct {
            int first, n; /* samples first..first + n - 1 of the request */
            void *to;
        } input;
        struct {
            int kernel; /* of the session */
            void *to;
            const void *const *sources; /* of the operands */
            void *ws;
            const void *weights;
        } compute;
        struct {
            int output;   /* of the network */
            int first, n; /* samples first..first + n - 1 of the request */
            const void *from;
        } output;
    };
};

/* Final outputs that are computed in slices and wait outside between them, as the backend has them.
 */
struct vbs_exec_outside {
    int layer;
    char *samples;
    struct vbs_session *session; /* on whose device they are; null: the host's */
};

struct vbs_exec_program {
    int64_t n_ops, max_ops;
    struct vbs_exec_op *ops;
    int *begin; /* [n_steps + 4]: ops before the run, of step i at 1 + i, of the end, after the run;
                   last, how many there are */
    const void **sources;
    int n_sources;
    int n_loads;
    struct vbs_exec_load *loads; /* streamed ones, in their order */
    int n_residents;
    struct vbs_exec_load *residents;
    int n_outside;
    struct vbs_exec_outside *outside;
    int n_outputs;
    int *output_layers; /* [n_outputs]: layers of the session */
    struct vbs_arena arena;
};

/*
 * Start with {0}; clear it whatever comes out. marks: loads wait for their own place in the list
 * too, where the checker marks what they take. VBS_UNSUPPORTED: an output of the network that no
 * layer of the profile makes.
 */
enum vbs_status vbs_exec_program_make(struct vbs_ctx *ctx, struct vbs_exec_program *program,
                                      const struct vbs_exec_fit *fit,
                                      const struct vbs_network *network,
                                      const struct vbs_exec_arena *arena,
                                      const struct vbs_exec_file *file, bool marks) VBS_MUST_CHECK;
void vbs_exec_program_clear(struct vbs_exec_program *program);

#endif
