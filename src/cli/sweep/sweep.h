/* Declarations that the files of the command sweep share: quote.c writes the begin of a command,
 * slurm.c submits arrays of jobs. */
#ifndef VBS_CLI_SWEEP_SWEEP_H
#define VBS_CLI_SWEEP_SWEEP_H

#include "base/text.h"
#include "cli/common/common.h"

/* A sweep, and the options that it is run with. */
struct sweep_job {
    struct cli *cli;
    const char *const *values; /* of the options */
    struct vbs_sweep *sweep;
    const struct vbs_sweep_info *info;
    bool retry;
    char program[4096];
    char store[4096]; /* the absolute path of --db, or empty */
    int n_warned;
};

/* Appends "PROGRAM [--db STORE] sweep FILE", quoted: the begin of a command that runs tasks. */
void sweep_add_command(struct vbs_text *text, const struct sweep_job *job);

/* Gives whether a task of this state is still to be run. */
bool sweep_is_open(const struct sweep_job *job, enum vbs_sweep_state state);

/* Bytes of a task in a list of tasks: eight digits of its index, -, its name, and the end of the
 * line. */
#define SWEEP_RECORD_BYTES 26

/* Submits the tasks that are open as arrays of jobs, one for each level and kind of tasks; dry:
 * only prints the scripts and commands. */
enum vbs_status sweep_submit(struct sweep_job *job, bool dry) VBS_MUST_CHECK;

#endif
