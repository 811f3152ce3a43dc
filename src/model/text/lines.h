/* Lines and words of a model text. */
#ifndef VBS_MODEL_TEXT_LINES_H
#define VBS_MODEL_TEXT_LINES_H

#include "vbslab/model.h"

/* Checks that text is UTF-8 without control characters, except tabs and ends of lines, because
 * names are copied to terminals, CSV and JSON. VBS_FORMAT, and *line is the line of the fault. */
enum vbs_status vbs_lines_check(struct vbs_ctx *ctx, const char *text, size_t length,
                                int *line) VBS_MUST_CHECK;

/* Cuts the next line off *text, ends it with a zero, and gives it; null after the last. */
char *vbs_lines_next(char **text);

/* Cuts the next word off *line, ends it with a zero, and gives it; null after the last. */
char *vbs_lines_word(char **line);

/* Gives the rest of line, without blanks at its ends. */
char *vbs_lines_trim(char *line);

/* Gives how many lines below (1: the first) a line of text has name as its second word, or 0. */
int vbs_lines_find_name(const char *text, const char *name);

#endif
