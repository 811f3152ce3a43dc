/*
 * The struct behind the context of status.h, for the program and the tests, which keep one by value
 * (start with {0}). Internal to the library.
 */
#ifndef VBS_BASE_CTX_H
#define VBS_BASE_CTX_H

#include "vbslab/status.h"

struct vbs_ctx {
    enum vbs_status status;              /* of the last call that failed */
    char detail[VBS_DETAIL_SIZE];        /* one line, no control characters, no full stop */
    const volatile sig_atomic_t *cancel; /* see vbs_ctx_set_cancel */
};

#endif
