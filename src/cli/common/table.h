/* Aligned tables on standard output. */
#ifndef VBS_CLI_COMMON_TABLE_H
#define VBS_CLI_COMMON_TABLE_H

#include "vbslab/status.h"

#include <stdbool.h>

struct cli_column {
    const char *heading;
    bool right; /* numbers */
};

/* Start with columns and n_columns set and the rest 0. */
struct cli_table {
    const struct cli_column *columns;
    int n_columns;
    char **cells; /* row by row */
    int n_cells, capacity;
    bool failed; /* memory ran out; every later call does nothing */
};

/* Adds the next cell; a row has as many as there are columns. What would steer a terminal is made
 * visible. */
void cli_table_add(struct cli_table *table, const char *format, ...) VBS_PRINTF(2, 3);

/* Prints headings and rows, columns two spaces apart, and frees the cells. VBS_NO_MEMORY, and
 * nothing printed, when a cell could not be kept. */
enum vbs_status cli_table_print(struct vbs_ctx *ctx, struct cli_table *table) VBS_MUST_CHECK;

#endif
