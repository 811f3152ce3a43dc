/* What `vbslab mixed` prints and draws. */
#ifndef VBS_CLI_MIXED_MIXED_H
#define VBS_CLI_MIXED_MIXED_H

#include "cli/common/common.h"
#include "cli/quantize/quantize.h"
#include "vbslab/mixed.h"

#define MIXED_MOST_BOUNDS 16

/* A bound of the loss as it is typed: "30dB", "0.5%" or "none". */
struct mixed_bound {
    struct vbs_mixed_bound bound;
    char word[32];
};

/* A search and its result. */
struct mixed_report {
    const char *data;
    const struct vbs_network *network;
    const struct vbs_mixed_options *options;
    const struct vbs_quantize_options *ranges;
    const struct vbs_mixed *mixed;
    const struct vbs_profile *profile; /* of all layers in floats: where times come from */
    const struct mixed_bound *bounds;  /* [n_bounds] */
    int n_bounds;
    const int *chosen; /* [n_budgets][n_bounds], -1: none */
    const char *path;  /* of the network that was written, or null; the next two are of it */
    int64_t profile_id;
    struct quantize_scores scores;
};

/* A row of the result: a budget with all layers in 8 bits, with a bound, or with all in floats. */
struct mixed_row {
    int64_t memory_bytes;
    const char *precision;                 /* "int8", "mixed", "fp32" */
    const char *bound;                     /* as typed; null where there is none */
    const struct vbs_mixed_choice *choice; /* null: none is within the bound */
    struct vbs_mixed_plan plan;            /* time_us is HUGE_VAL: nothing fits */
};

/* Gives the number of rows, and fills one. */
int mixed_rows(const struct mixed_report *report);
struct mixed_row mixed_row_at(const struct mixed_report *report, int i);

/* Print the result: as a table, as JSON, as CSV. VBS_NO_MEMORY. */
enum vbs_status mixed_print_table(struct cli *cli,
                                  const struct mixed_report *report) VBS_MUST_CHECK;
enum vbs_status mixed_print_json(struct cli *cli, const struct mixed_report *report) VBS_MUST_CHECK;
enum vbs_status mixed_print_csv(struct cli *cli, const struct mixed_report *report) VBS_MUST_CHECK;

#endif
