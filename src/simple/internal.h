/* Functions that the files of the simple tier share. Internal to the room. */
#ifndef VBS_SIMPLE_INTERNAL_H
#define VBS_SIMPLE_INTERNAL_H

#include "vbslab/simple.h"

/* Reads the options as this version knows them. VBS_USAGE: one is out of range. */
enum vbs_status vbs_simple_read_options(struct vbs_ctx *ctx,
                                        const struct vbs_simple_options *options,
                                        struct vbs_simple_options *own) VBS_MUST_CHECK;

/* Finds a backend by name (null or empty: the default) that this machine can use. */
enum vbs_status vbs_simple_find_backend(struct vbs_ctx *ctx, const char *name,
                                        const struct vbs_backend **backend) VBS_MUST_CHECK;

#endif
