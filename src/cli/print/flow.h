/* Lines of text that are no wider than the terminal. */
#ifndef VBS_CLI_PRINT_FLOW_H
#define VBS_CLI_PRINT_FLOW_H

#include "cli/common/common.h"

/*
 * Text that is printed to standard output between these two calls is gathered where that is a
 * terminal. The second call prints it, with lines that are too wide divided between words. A
 * divided line continues below the text behind its label (" time ..."), or two blanks further in
 * than it began. Elsewhere nothing changes. The calls are not nested.
 */
void cli_flow_begin(struct cli *cli);
/* Begins likewise, for text without tables: where standard output is no terminal, its lines are
 * divided, too, into lines of at most 100 columns. */
void cli_flow_begin_text(struct cli *cli);
void cli_flow_end(struct cli *cli);

/* Prints line and its end; where standard output is no terminal, divided likewise into lines of at
 * most 100 columns. */
void cli_flow_line(struct cli *cli, const char *line);

#endif
