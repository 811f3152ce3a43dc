/* A growing string, and reading and writing whole files. Internal to the library. */
#ifndef VBS_BASE_TEXT_H
#define VBS_BASE_TEXT_H

#include "vbslab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A string that grows; it starts as {0}. After a failed allocation failed is set and every further
 * call appends nothing, so that only the end needs a check. data is null, or a string of length
 * bytes with a zero behind it. */
struct vbs_text {
    char *data;
    size_t length, capacity;
    bool failed;
};

void vbs_text_add(struct vbs_text *text, const char *string);
/* Appends bytes, zeros too. */
void vbs_text_add_bytes(struct vbs_text *text, const char *bytes, size_t length);
/* Appends "a, b and c". */
void vbs_text_add_names(struct vbs_text *text, const char *const *names, int n_names);
void vbs_text_addf(struct vbs_text *text, const char *format, ...) VBS_PRINTF(2, 3);
void vbs_text_clear(struct vbs_text *text);

#define VBS_DOUBLE_SIZE 40

/* Writes the shortest decimal number that reads back as exactly value, such as "4", "0.1" or
 * "12.5". It does not depend on the locale, and allocates nothing. Returns buffer. */
char *vbs_format_double(double value, char buffer[VBS_DOUBLE_SIZE]);

/* Appends what vbs_format_double writes. */
void vbs_text_add_double(struct vbs_text *text, double value);

/* Appends one field of a CSV file, quoted where RFC 4180 asks for it. Texts from outside can begin
 * with what spreadsheets take for a formula and execute: an apostrophe is put before each of
 * = + - @, tab and carriage return that begins the text, or follows a comma, a semicolon, a tab or
 * a line end in it, which end a cell for some spreadsheets; not where it is the last character.
 * O(length). */
void vbs_text_add_csv(struct vbs_text *text, const char *field);
/* Appends one field of a CSV file that the program reads back, as it is, quoted alike. */
void vbs_text_add_csv_exact(struct vbs_text *text, const char *field);
/* Returns whether vbs_text_add_csv puts an apostrophe into a field. O(length). */
bool vbs_text_has_formula(const char *field);
/* Appends a comma and a number as a field of CSV; a field that is no finite number stays empty. */
void vbs_text_add_field(struct vbs_text *text, double value);

/* Appends a name for people. Characters that would steer a terminal, and bytes that are no UTF-8,
 * become \xNN; a name of more than limit characters is cut and ends in "...". */
void vbs_text_add_visible(struct vbs_text *text, const char *name, int limit);

/* Reads a whole file ("-" is standard input) of at most limit bytes into *data, terminated with a
 * zero that length does not count; the caller frees it with free(). VBS_IO; VBS_FORMAT where the
 * file is larger than limit; VBS_INTERRUPTED where it may have to be waited for, as a pipe. */
enum vbs_status vbs_read_file(struct vbs_ctx *ctx, const char *path, size_t limit, char **data,
                              size_t *length) VBS_MUST_CHECK;

/* Writes a whole file, so that a reader sees the old or the new one and never a half of it ("-" is
 * standard output). VBS_IO where it cannot be written; no file is left behind then. */
enum vbs_status vbs_write_file(struct vbs_ctx *ctx, const char *path, const char *data,
                               size_t length) VBS_MUST_CHECK;

/* Gives the folder of temporary files: TMPDIR, else /tmp. */
const char *vbs_temporary_folder(void);

/* Opens a new file without a name in folder for reading and writing, so that nothing of it stays
 * however the process ends. Where the file system does not support this, the file has a name, which
 * begins with prefix, until it is open. Returns -1, with errno set, on failure; the caller closes
 * it. */
int vbs_open_nameless(const char *folder, const char *prefix);

/* Gives the shortest of count names that begin with name, else the name with the least edit
 * distance to name, or null where none is similar. Complexity: O(length squared) for each name. */
const char *vbs_nearest_name(const char *name, const char *const *names, int count);

#endif
