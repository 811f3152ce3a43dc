/* `plan MODEL --planner mmcnn --rows`: the printed accounting of mmCNN, line by line. */
#ifndef VBS_CLI_PRINT_ROWS_H
#define VBS_CLI_PRINT_ROWS_H

#include "cli/common/common.h"

/* An option of plan, for an initializer: a switch. */
#define CLI_OPTION_ROWS                                                                            \
    "rows", NULL,                                                                                  \
        "planner mmcnn: the paper's accounting of a MODEL at batch 1 instead of a plan, without "  \
        "a profile; lines of row, layer, self_number, conv_number and MiB, with tabs between them"

/* Prints the rows of model at memory_bytes. VBS_USAGE where the other options or the word for the
 * model do not go with rows; otherwise as vbs_network_load and vbs_mmcnn_table_new. */
enum vbs_status cli_print_rows(struct cli *cli, const char *const *values, const char *model,
                               int64_t memory_bytes) VBS_MUST_CHECK;

#endif
