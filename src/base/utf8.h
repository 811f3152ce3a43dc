/* Characters of UTF-8, and which of them a terminal must not get. Internal to the library. */
#ifndef VBS_BASE_UTF8_H
#define VBS_BASE_UTF8_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the valid character at text (1..4) with its code in *code, or 0 when the bytes there are
 * none. text is terminated. */
int vbs_utf8_character(const char *text, uint32_t *code);

/* True when text is valid as a whole. */
bool vbs_utf8_valid(const char *text);

/* Room for what vbs_utf8_show writes. */
#define VBS_UTF8_SHOWN 17

/*
 * What people are to see of the first character of text, which is not empty: itself, or \xNN for
 * each of its bytes when it is a control character, a line separator, a mark that turns the
 * direction of writing or no UTF-8. Returns the bytes of text so shown.
 */
int vbs_utf8_show(const char *text, char shown[VBS_UTF8_SHOWN]);

#endif
