/* A schedule executed on the fake backend and held against replay and reference. */
#ifndef TESTS_EXEC_CASE_H
#define TESTS_EXEC_CASE_H

#include "vbslab/exec.h"

struct exec_case {
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    struct vbs_exec_options options; /* with debug checks; without memory_bytes: the replay's peak,
                                        and where that is not enough, what the placement asks for */
    int n_runs;                      /* 0: 2 */
    int less, jitter_us;             /* struct exec_fake */

    /* What came out. */
    bool exact; /* it ran in the replay's peak */
    struct vbs_exec_placement placement;
    struct vbs_exec_report report;
    char why[400]; /* where it failed */
};

/* True when all was as it must be: live bytes as the replay has them, outputs as the reference,
 * nothing wrong seen by the kernels. */
bool exec_case_run(struct exec_case *c);

#endif
