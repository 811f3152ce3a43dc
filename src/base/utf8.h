/* Characters of UTF-8, and which of them a terminal must not get. Internal to the library. */
#ifndef VBS_BASE_UTF8_H
#define VBS_BASE_UTF8_H

#include <stdbool.h>
#include <stdint.h>

/* Gives the number of bytes (1..4) of the character at text, and its code in *code; 0 where the
 * bytes there are no valid character. text ends with a zero. */
int vbs_utf8_character(const char *text, uint32_t *code);

/* Gives whether the whole text is valid UTF-8. */
bool vbs_utf8_valid(const char *text);

/* The most bytes that vbs_utf8_show writes. */
#define VBS_UTF8_SHOWN 17

/*
 * Writes into shown the visible form of the first character of text, which is not empty: the
 * character itself, or \xNN for each of its bytes where it is a control character, a line
 * separator, a mark that changes the direction of writing, or no UTF-8. Returns how many bytes of
 * text that is.
 */
int vbs_utf8_show(const char *text, char shown[VBS_UTF8_SHOWN]);

#endif
