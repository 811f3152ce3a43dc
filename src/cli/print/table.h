/* Aligned tables on standard output. */
#ifndef VBS_CLI_PRINT_TABLE_H
#define VBS_CLI_PRINT_TABLE_H

#include "cli/common/common.h"

#include <stdbool.h>

struct cli_column {
    const char *heading;
    bool right; /* numbers */
};

/* Start with columns and n_columns set, spare where there are such columns, and the rest 0. */
struct cli_table {
    const struct cli_column *columns;
    int n_columns; /* at most 32 */
    /* Bit i: column i is left out first where a terminal is too narrow, because other columns imply
     * it. */
    unsigned spare;
    char **cells; /* row by row */
    int n_cells;
    int64_t capacity;
    bool failed; /* memory ran out; every later call does nothing */
};

/* Adds the next cell; a row has as many as there are columns. Control characters are made
 * visible. */
void cli_table_add(struct cli_table *table, const char *format, ...) VBS_PRINTF(2, 3);

/*
 * Prints headings and rows, columns two spaces apart, and frees the cells. On a terminal that is
 * too narrow spare columns are left out, the last one first; then the cells of columns of text are
 * wrapped; where that is not enough, the widest columns, the second one last, move below their row,
 * each with its heading, until the rest fits. Words are never divided. VBS_NO_MEMORY, and nothing
 * printed, when a cell could not be kept.
 */
enum vbs_status cli_table_print(struct cli *cli, struct cli_table *table) VBS_MUST_CHECK;

/* Frees the cells of a table that is not printed. */
void cli_table_clear(struct cli_table *table);

#endif
