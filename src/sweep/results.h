/* The folder of results: what it says about tasks, and how a result gets there. Internal to the
 * room.
 *
 * RESULTS/NAME.ENDING is the standard output of a task that is done, NAME.log its standard error,
 * NAME.failed the mark of one that failed. Commands run with their files in
 * RESULTS/running/NAME.N.X, where N is the generation of the claim, and X is that claim's own.
 */
#ifndef VBS_SWEEP_RESULTS_H
#define VBS_SWEEP_RESULTS_H

#include "sweep/description.h"

/* Makes the folders. VBS_IO, also where they cannot be written. */
enum vbs_status vbs_results_open(struct vbs_ctx *ctx, const struct vbs_sweep *sweep) VBS_MUST_CHECK;

/* Gives whether a task is done, has failed, or neither (left). */
enum vbs_sweep_state vbs_results_state(const struct vbs_sweep *sweep, uint64_t name,
                                       const char *ending);

/* Is called for each file of the folder of results that belongs to a task: its name, the ending,
 * and whether it is a claim. */
typedef void vbs_results_visit(void *self, uint64_t name, const char *ending, bool claim);

/* Lists the files of the folder and its claims; a folder that is not there has none. VBS_IO. */
enum vbs_status vbs_results_list(struct vbs_ctx *ctx, const struct vbs_sweep *sweep,
                                 vbs_results_visit *visit, void *self) VBS_MUST_CHECK;

/* Lists the claims alone, which are few. VBS_IO. */
enum vbs_status vbs_results_list_claims(struct vbs_ctx *ctx, const struct vbs_sweep *sweep,
                                        vbs_results_visit *visit, void *self) VBS_MUST_CHECK;

/* Removes the mark of a task that failed. */
void vbs_results_forget(const struct vbs_sweep *sweep, uint64_t name);

/* A folder in which a command runs. */
struct vbs_work {
    char *path;   /* of the folder */
    char *result; /* path of the task's result in it, without the ending */
    int output, log;
};

/* Makes the folder of a claim, in place of those of older ones, with an empty file for each stream
 * of the command. VBS_IO, VBS_NO_MEMORY. */
enum vbs_status vbs_work_begin(struct vbs_ctx *ctx, const struct vbs_sweep *sweep, uint64_t name,
                               int generation, struct vbs_work *work) VBS_MUST_CHECK;

/* Removes the folders of a task that processes which are gone left behind, up to a generation.
 * VBS_NO_MEMORY. */
enum vbs_status vbs_work_remove(struct vbs_ctx *ctx, const struct vbs_sweep *sweep, uint64_t name,
                                int generation) VBS_MUST_CHECK;

/* Moves the files of a task that is done to their places, the standard output last: with it the
 * task is done. VBS_IO. */
enum vbs_status vbs_work_commit(struct vbs_ctx *ctx, const struct vbs_sweep *sweep, uint64_t name,
                                const char *ending, const struct vbs_work *work) VBS_MUST_CHECK;

/* Keeps the log of a task that failed, and marks it; exit_code as in struct vbs_sweep_end. VBS_IO.
 */
enum vbs_status vbs_work_fail(struct vbs_ctx *ctx, const struct vbs_sweep *sweep, uint64_t name,
                              int exit_code, const struct vbs_work *work) VBS_MUST_CHECK;

/* Closes the files, and removes the folder with all that it still has. */
void vbs_work_end(struct vbs_work *work);

#endif
