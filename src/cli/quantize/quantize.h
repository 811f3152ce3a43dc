/* What `vbslab quantize` prints. */
#ifndef VBS_CLI_QUANTIZE_QUANTIZE_H
#define VBS_CLI_QUANTIZE_QUANTIZE_H

#include "cli/common/common.h"
#include "vbslab/eval.h"
#include "vbslab/quantize.h"

/* A quantisation and its result. */
struct quantize_report {
    const char *path, *data;
    const struct vbs_network *network;
    const struct vbs_quantize_options *options;
    const struct vbs_quantize_row *rows; /* [n_rows] */
    int n_rows;
    const double *alone; /* [n_rows] decibels of the output where one layer is rounded; or null */
    int64_t n_samples;   /* that ranges are of */
    int64_t file_bytes;  /* of the file that was written */
    struct vbs_quantize_difference difference;
    bool scored; /* the next two have values: the data have labels for the network */
    struct vbs_score before, after;
};

/* Print the result: as a table, as JSON, as CSV. VBS_NO_MEMORY. */
enum vbs_status quantize_print_table(struct cli *cli,
                                     const struct quantize_report *report) VBS_MUST_CHECK;
enum vbs_status quantize_print_json(struct cli *cli,
                                    const struct quantize_report *report) VBS_MUST_CHECK;
enum vbs_status quantize_print_csv(struct cli *cli,
                                   const struct quantize_report *report) VBS_MUST_CHECK;

#endif
