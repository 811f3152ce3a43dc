/*
 * Options of a call, which begin with the size of the caller's struct: programs that were built
 * with an older or a newer header are understood. Internal to the library.
 */
#ifndef VBS_BASE_OPTIONS_H
#define VBS_BASE_OPTIONS_H

#include "vbslab/status.h"

#include <stddef.h>

/* Copies given to own, a struct of own_size bytes: what an older header did not have is 0, which
 * stands for the default. Null: all defaults. VBS_USAGE, *own being all 0: no size is given, or a
 * newer header's member is set that this library does not know. what: the struct's name. */
enum vbs_status vbs_options_read(struct vbs_ctx *ctx, const char *what, const void *given,
                                 void *own, size_t own_size) VBS_MUST_CHECK;

#endif
