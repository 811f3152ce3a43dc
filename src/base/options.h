/*
 * Options of a call, which begin with the size of the caller's struct: programs that were built
 * with an older or a newer header are understood. Internal to the library.
 */
#ifndef VBS_BASE_OPTIONS_H
#define VBS_BASE_OPTIONS_H

#include "vbslab/status.h"

#include <stddef.h>

/* Copies the options given to own, a struct of own_size bytes. Members that an older header did not
 * have become 0, which stands for the default; given null: all are defaults. VBS_USAGE, with *own
 * all 0: the size is not set, or a member of a newer header is set that this library does not know.
 * what: the struct's name. */
enum vbs_status vbs_options_read(struct vbs_ctx *ctx, const char *what, const void *given,
                                 void *own, size_t own_size) VBS_MUST_CHECK;

#endif
