/* A growing string, and reading whole files. Internal to the library. */
#ifndef VBS_BASE_TEXT_H
#define VBS_BASE_TEXT_H

#include "vbslab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Start with {0}. After a failed allocation every further append is a no-op and failed is set, so
 * that only the end needs a check. data is null or a terminated string of length bytes. */
struct vbs_text {
    char *data;
    size_t length, capacity;
    bool failed;
};

void vbs_text_add(struct vbs_text *text, const char *string);
void vbs_text_addf(struct vbs_text *text, const char *format, ...) VBS_PRINTF(2, 3);
void vbs_text_clear(struct vbs_text *text);

/* The shortest decimal form that reads back as exactly value: "4", "0.1", "12.5"; never in a
 * locale's form. */
void vbs_text_add_double(struct vbs_text *text, double value);

/* One CSV field, quoted as RFC 4180 asks where it must be. */
void vbs_text_add_csv(struct vbs_text *text, const char *field);

/* A name for people: what would steer a terminal or is no UTF-8 becomes \xNN; more than limit
 * characters end in "...". */
void vbs_text_add_visible(struct vbs_text *text, const char *name, int limit);

/* Reads a whole file ("-" is standard input) of at most limit bytes into *data, terminated with a
 * zero that length does not count; free() it. VBS_IO, or VBS_FORMAT when larger than limit. */
enum vbs_status vbs_read_file(struct vbs_ctx *ctx, const char *path, size_t limit, char **data,
                              size_t *length) VBS_MUST_CHECK;

/* Writes a whole file so that a reader sees the old or the new one, never a part ("-" is standard
 * output). VBS_IO, and no file is left behind, when it cannot be written. */
enum vbs_status vbs_write_file(struct vbs_ctx *ctx, const char *path, const char *data,
                               size_t length) VBS_MUST_CHECK;

/* The shortest of names (count of them) that begins with name, else the one with the least edit
 * distance to name, or null when none is near; complexity: length squared each. */
const char *vbs_nearest_name(const char *name, const char *const *names, int count);

#endif
