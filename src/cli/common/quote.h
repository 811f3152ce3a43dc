/* Words as a shell reads them. */
#ifndef VBS_CLI_COMMON_QUOTE_H
#define VBS_CLI_COMMON_QUOTE_H

#include "base/text.h"
#include "cli/common/cli.h"

/* Appends a word as a shell reads it: in quotation marks unless they are needless. */
void cli_quote(struct vbs_text *text, const char *word);

/* Appends the whole command as the user gave it. */
void cli_quote_command(struct vbs_text *text, const struct cli *cli);

#endif
