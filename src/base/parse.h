/* Whole numbers written in decimal digits, and words of a list. Internal to the library and the
 * program. */
#ifndef VBS_BASE_PARSE_H
#define VBS_BASE_PARSE_H

#include "vbslab/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Reads the digits that text begins with into *value, or 0 where there are none. *end is the first
 * character that is no digit. False where the number does not fit; *value then has no meaning. */
bool vbs_parse_digits(const char *text, const char **end, int64_t *value);

/* Reads text, which must be one whole number within low..high. what is the name that the message
 * gives the number, such as "--request". VBS_USAGE. */
enum vbs_status vbs_parse_int(struct vbs_ctx *ctx, const char *what, const char *text, int64_t low,
                              int64_t high, int64_t *value) VBS_MUST_CHECK;

/* Finds text among words. what is the name that the message gives it, such as "--by". VBS_USAGE
 * lists all words, and says which is nearest; VBS_NO_MEMORY. */
enum vbs_status vbs_parse_word(struct vbs_ctx *ctx, const char *what, const char *text,
                               const char *const *words, int n_words, int *index) VBS_MUST_CHECK;

#endif
