/* The workers of `vbslab tune` on this machine. */
#ifndef VBS_CLI_TUNE_TUNE_H
#define VBS_CLI_TUNE_TUNE_H

#include "cli/common/common.h"

/* What is to be done with a study. */
struct cli_tuning {
    struct cli *cli;
    const char *path; /* of the description */
    struct vbs_study *study;
    char *folder; /* of the networks of its trials */
    int jobs;
    enum vbs_study_role role;
    bool join;
    int threads;
};

/* Works on the study until all its trials have ended, with as many training processes as there are
 * jobs; with several, this process takes the times. Its ends are told on standard error. */
enum vbs_status cli_tune_work(const struct cli_tuning *tuning, struct vbs_store *store,
                              struct vbs_study_outcome *outcome) VBS_MUST_CHECK;

#endif
