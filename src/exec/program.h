/*
 * The program of a run: everything that the computing thread does, step by step, with all addresses
 * known. Internal to the room.
 */
#ifndef VBS_EXEC_PROGRAM_H
#define VBS_EXEC_PROGRAM_H

#include "exec/arena.h"
#include "exec/layout/fit.h"
#include "exec/weights/stream.h"

enum vbs_exec_do {
    VBS_DO_DROP,    /* n: loads that must have ended before their weights are dropped */
    VBS_DO_COME,    /* n: loads that must have ended before their weights move */
    VBS_DO_TURN,    /* copies bytes before the step: something moves */
    VBS_DO_WAIT,    /* n: loads that must have ended before the step */
    VBS_DO_IN,      /* n samples of the network's input from first on */
    VBS_DO_MOVE,    /* copies bytes: the input of a layer in place */
    VBS_DO_RESTORE, /* bytes that other parts wrote, which wait outside */
    VBS_DO_RUN,     /* kernel index */
    VBS_DO_SAVE,    /* bytes that wait outside for other parts */
    VBS_DO_OUT,     /* n samples from first on of the network's output index */
    VBS_N_DOS
};

struct vbs_exec_op {
    uint8_t kind;
    int index, n;
    int64_t first; /* sample, or bytes */
    void *to;
    const void *from;
    const void *const *src; /* run: of the operands */
    void *ws;
    const void *weights;
};

/* Final outputs that are taken in parts and wait outside between them, as the backend has them. */
struct vbs_exec_outside {
    int layer;
    char *samples;
    struct vbs_session *session; /* on whose device they are; null: the host's */
};

struct vbs_exec_program {
    int n_ops, max_ops;
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
 * too, where the guard marks what they take. VBS_UNSUPPORTED: an output of the network that no
 * layer of the profile makes.
 */
enum vbs_status vbs_exec_program_make(struct vbs_ctx *ctx, struct vbs_exec_program *program,
                                      const struct vbs_exec_fit *fit,
                                      const struct vbs_network *network,
                                      const struct vbs_exec_arena *arena,
                                      const struct vbs_exec_file *file, bool marks) VBS_MUST_CHECK;
void vbs_exec_program_clear(struct vbs_exec_program *program);

#endif
