/* Commands as processes. Internal to the room. */
#ifndef VBS_SWEEP_PROCESS_H
#define VBS_SWEEP_PROCESS_H

#include "sweep/results.h"

#include <sys/types.h>

/* A running command. */
struct vbs_process {
    pid_t pid;  /* of its group, too; 0: none */
    int handle; /* a descriptor that is readable when it has ended; -1: the system has none */
    bool stopped;
};

/* Starts a command of the program in folder, with the streams of work. threads: the value of
 * OMP_NUM_THREADS where the environment has none; 0: none. The command ends with this process, also
 * where that is killed. VBS_LIBRARY, VBS_NO_MEMORY. */
enum vbs_status vbs_process_begin(struct vbs_ctx *ctx, const char *program, const char *folder,
                                  char **words, const struct vbs_work *work, int threads,
                                  struct vbs_process *process) VBS_MUST_CHECK;

/* Gives whether a process has ended, and its exit code, below 0: the signal. */
bool vbs_process_ended(struct vbs_process *process, int *exit_code);

/* Stops a process and its children, and returns when it stands still; has it go on. */
void vbs_process_stop(struct vbs_process *process);
void vbs_process_continue(struct vbs_process *process);

/* Asks a process to end. */
void vbs_process_terminate(struct vbs_process *process);

/* Ends it at once, and waits for its end. */
void vbs_process_kill(struct vbs_process *process);

#endif
