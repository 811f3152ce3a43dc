/*
 * The program of a run: a list of all operations of the computing thread, step by step, in which
 * every address is known. Internal to the room.
 */
#ifndef VBS_EXEC_PROGRAM_H
#define VBS_EXEC_PROGRAM_H

#include "exec/arena.h"
#include "exec/layout/layout.h"
#include "exec/weights/weights.h"

enum vbs_exec_op_kind {
    VBS_DO_WAIT_TO_EVICT,    /* waits for loads of weights that are evicted */
    VBS_DO_WAIT_TO_RELOCATE, /* waits for loads of weights that are relocated */
    VBS_DO_RELOCATE,         /* copies a buffer to the address where the step expects it */
    VBS_DO_WAIT_TO_COMPUTE,  /* waits for loads of weights that the step reads */
    VBS_DO_READ_INPUT,       /* converts samples of the network's input into the arena */
    VBS_DO_COPY_IN_PLACE,    /* copies the input of a layer in place to its output */
    VBS_DO_RESTORE,          /* reads the results of earlier steps back from outside the arena */
    VBS_DO_COMPUTE,          /* runs a kernel */
    VBS_DO_SAVE,             /* stores the output outside the arena until its other steps run */
    VBS_DO_WRITE_OUTPUT,     /* converts samples of an output of the network out of the arena */
    VBS_N_OP_KINDS
};

struct vbs_exec_op {
    uint8_t kind; /* enum vbs_exec_op_kind, which decides which member of the union is used */
    union {
        struct {
            int n_loads; /* the number of loads, resident ones not counted, that must have ended */
        } wait;
        struct { /* relocate, copy in place, restore, save */
            void *to;
            const void *from;
            int64_t bytes;
        } copy;
        struct {
            int first, n;  /* samples first..first + n - 1 of the request */
            int row, rows; /* rows 0: whole samples; else these rows of one */
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
            int output;     /* of the network */
            int first, n;   /* samples first..first + n - 1 of the request */
            int row, rows;  /* rows 0: whole samples; else these rows of each */
            int64_t stride; /* with rows: bytes from those of a sample to those of the next */
            const void *from;
        } output;
    };
};

/* A final output that is computed in slices. Between them it is kept outside the arena, in the
 * layout of the backend. */
struct vbs_exec_outside {
    int layer;
    char *samples;
    struct vbs_session
        *session; /* whose device's memory holds the samples; null: the host's does */
};

struct vbs_exec_program {
    int64_t n_ops, max_ops;
    struct vbs_exec_op *ops;
    int *begin; /* [n_steps + 4]: first ops: of those before the run, of step i at 1 + i, of the
                   end, and of those after the run; the last entry is the number of ops */
    const void **sources;
    int n_sources;
    int n_loads;
    struct vbs_exec_load *loads; /* streamed loads, in their order */
    int n_residents;
    struct vbs_exec_load *residents;
    int n_outside;
    struct vbs_exec_outside *outside;
    int n_outputs;
    int *output_layers; /* [n_outputs]: layers of the session */
    struct vbs_arena arena;
};

/*
 * Makes the program of a run. *program must be {0} before, and is to be cleared after success and
 * failure. marks: there is an arena checker, which must be told of a load before it begins. Loads
 * then also wait until the computing thread has come to their position in the list. Maps the rings
 * of the arena.
 * VBS_UNSUPPORTED: an output of the network that no layer of the profile makes.
 */
enum vbs_status vbs_exec_program_make(struct vbs_ctx *ctx, struct vbs_exec_program *program,
                                      const struct vbs_exec_fit *fit,
                                      const struct vbs_network *network,
                                      struct vbs_exec_arena *arena,
                                      const struct vbs_exec_file *file, bool marks) VBS_MUST_CHECK;
void vbs_exec_program_clear(struct vbs_exec_program *program);

#endif
