/* Executes a schedule on the fake backend, and compares the run with replay and reference. */
#ifndef TESTS_EXEC_CASE_H
#define TESTS_EXEC_CASE_H

#include "vbslab/exec.h"

struct exec_case {
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    struct vbs_exec_options options; /* with debug checks; without memory_bytes: the replay's
                                        peak, and where this is not enough, the bytes of the best
                                        placement */
    int n_runs;                      /* 0: 2 */
    int less, jitter_us;             /* struct exec_fake */

    bool exact; /* result: it ran in the replay's peak */
    struct vbs_exec_placement placement;
    struct vbs_exec_report report;
    char why[400]; /* the reason of a failure */
};

/* Runs a case. True when all checks passed: live bytes as in the replay, outputs as in the
 * reference, and no fault found by the kernels. */
bool exec_case_run(struct exec_case *c);

#endif
