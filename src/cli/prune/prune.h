/* What `vbslab prune` prints. */
#ifndef VBS_CLI_PRUNE_PRUNE_H
#define VBS_CLI_PRUNE_PRUNE_H

#include "cli/common/common.h"
#include "vbslab/prune.h"

/* A pruning, and its result. */
struct prune_report {
    const char *model, *path;
    enum vbs_prune_ranking ranking;
    const struct vbs_network *network, *pruned; /* pruned is null where groups are listed */
    const struct vbs_prune_groups *groups;
    const int64_t *keep; /* [n_groups]; null where groups are listed */
    int64_t block;       /* filters that kernels compute at once */
};

/* Print all groups, or the groups that were pruned: as a table, as JSON, as CSV. VBS_NO_MEMORY. */
enum vbs_status prune_print_table(struct cli *cli,
                                  const struct prune_report *report) VBS_MUST_CHECK;
enum vbs_status prune_print_json(struct cli *cli, const struct prune_report *report) VBS_MUST_CHECK;
enum vbs_status prune_print_csv(struct cli *cli, const struct prune_report *report) VBS_MUST_CHECK;

#endif
