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
    int less;                        /* struct exec_fake */
    int reads_above;                 /* the same */
    int most_calls;                  /* of kernels by one step, at whose end a run stops; 0: 1 */
    bool breaks;                     /* runs that a failure or a stop ends come first */

    enum vbs_status opened; /* result: of making the executor */
    bool exact;             /* it ran in the replay's peak */
    int n_broken;           /* runs that a failure or a stop ended */
    struct vbs_exec_placement placement;
    char why[400]; /* the reason of a failure */
};

/* Runs a case twice. True when all checks passed: live bytes as in the replay, outputs as in the
 * reference, and no fault found by the kernels. Where it breaks, runs end at some of the kernels'
 * calls with the status, the reason and no further call; and the run after each of them passes the
 * checks. */
bool exec_case_run(struct exec_case *c);

#endif
