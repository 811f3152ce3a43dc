/* Measuring a network into the store, for the commands measure and run. */
#ifndef VBS_CLI_COMMON_MEASURING_H
#define VBS_CLI_COMMON_MEASURING_H

#include "cli/common/cli.h"

/* The settings of a measurement, the same for every network. */
struct cli_measuring {
    const struct vbs_backend *backend;
    struct vbs_backend_options prepare;
    struct vbs_measure_options options; /* time_limit_s: of everything; 0: VBS_MEASURE_S */
    /* Seconds until there is a profile, whatever the machine does: batches for which there is no
     * time are left out. 0: options.time_limit_s, or where that is less than VBS_MEASURE_LEAST_S,
     * VBS_MEASURE_S. */
    double most_s;
    bool no_copies; /* of weights */
    /* Schedules are executed in the time that kernels leave (struct vbs_measure_shares), and
     * correct the times of rows (learn.h): budgets, request and so on. */
    bool no_learning;
    struct vbs_learn_options learn;
};

#define CLI_DEFAULT_BATCHES   "1-12"
#define CLI_RELATIVE_INTERVAL 0.02 /* of a row's time, at which it counts as precise */

/* Fails with VBS_UNSUPPORTED and the reason where backend cannot be used here. */
enum vbs_status cli_check_backend(struct cli *cli,
                                  const struct vbs_backend *backend) VBS_MUST_CHECK;

/* Reads a list of batches such as CLI_DEFAULT_BATCHES, which the caller frees; VBS_USAGE also where
 * 1 is not among them. */
enum vbs_status cli_read_batches(struct cli *cli, const char *text, int **batches,
                                 int *n_batches) VBS_MUST_CHECK;

/* Gives the folder of the store, or, where no file can be made there, $TMPDIR, for the file that
 * copies are measured with; the caller frees it. Null: out of memory. */
char *cli_copy_folder(const struct cli *cli);

/* Opens a session of network, and shows meanwhile that kernels are prepared. struct_size of options
 * is set. The caller closes *session. */
enum vbs_status cli_open_session(struct cli *cli, const struct vbs_backend *backend,
                                 const struct vbs_network *network,
                                 const struct vbs_backend_options *options,
                                 struct vbs_session **session) VBS_MUST_CHECK;

/* Measures network into store, resuming a profile that an earlier process left unfinished; *id is
 * the finished profile's. Notes on standard error tell how precise it became. learned, where it is
 * not null, receives the result of learning, which the caller frees; null: nothing was executed. */
enum vbs_status cli_measure_network(struct cli *cli, const struct cli_measuring *how,
                                    const struct vbs_network *network, struct vbs_store *store,
                                    int64_t *id, struct vbs_learned **learned) VBS_MUST_CHECK;

/* Returns words for the schedule of a baseline of learning: "the plan of vdnn" or, also for null,
 * "one batch for all layers". */
const char *cli_baseline_words(const struct vbs_planner *baseline);

#define CLI_MOST_CALIBRATED 4 /* samples at once, the most of the session's batches up to it */

/* Measures the calibration of a session within time_limit_s (0: a few seconds), with factors beside
 * copies from these sources, unless they take longer than most_s (0: however long they take). A
 * folder in which no file can be made is a warning. The caller frees *calibration by
 * vbs_calibration_free. */
enum vbs_status cli_calibrate_session(struct cli *cli, struct vbs_session *session, int n_sources,
                                      const char *const *sources, double time_limit_s,
                                      double most_s,
                                      struct vbs_calibration **calibration) VBS_MUST_CHECK;

#endif
