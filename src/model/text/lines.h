/* Lines and words of a model text. */
#ifndef VBS_MODEL_TEXT_LINES_H
#define VBS_MODEL_TEXT_LINES_H

#include "vbslab/model.h"

/* VBS_FORMAT, and *line where, unless text is UTF-8 without control characters (tabs and ends of
 * lines may be there): names go to terminals, CSV and JSON as they are. */
enum vbs_status vbs_lines_check(struct vbs_ctx *ctx, const char *text, size_t length,
                                int *line) VBS_MUST_CHECK;

/* Cuts the next line off *text, ends it with a zero, and gives it; null after the last. */
char *vbs_lines_next(char **text);

/* Cuts the next word off *line, ends it with a zero, and gives it; null after the last. */
char *vbs_lines_word(char **line);

/* What is left of line, without blanks at its ends. */
char *vbs_lines_trim(char *line);

/* How many lines below (1: the first) text names name in second place, or 0. */
int vbs_lines_find_name(const char *text, const char *name);

#endif
