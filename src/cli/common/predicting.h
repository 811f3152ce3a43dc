/* Predicted profiles, for the commands calibrate, measure and run. */
#ifndef VBS_CLI_COMMON_PREDICTING_H
#define VBS_CLI_COMMON_PREDICTING_H

#include "cli/common/measuring.h"
#include "vbslab/predict.h"

/* Calibrates this machine for predictions, within time_limit_s (0: about two minutes), into the
 * store of the command line; again: also where it is calibrated. Of how, the backend and the
 * threads have a meaning. */
enum vbs_status cli_calibrate_machine(struct cli *cli, const struct cli_measuring *how,
                                      double time_limit_s, bool again,
                                      struct vbs_predict_report *report) VBS_MUST_CHECK;

/* Predicts the profile of network into store; *id is its number. Of how, the backend, the batches
 * and the threads have a meaning. VBS_NOT_FOUND: the machine is not calibrated. */
enum vbs_status cli_predict_network(struct cli *cli, const struct cli_measuring *how,
                                    const struct vbs_network *network, struct vbs_store *store,
                                    int64_t *id) VBS_MUST_CHECK;

#endif
