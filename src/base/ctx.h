/*
 * The struct behind the context of status.h, for the program and the tests, which keep one by value
 * (start with {0}). Internal to the library.
 */
#ifndef VBS_BASE_CTX_H
#define VBS_BASE_CTX_H

#include "vbslab/status.h"

#include <sys/types.h>

struct vbs_ctx {
    enum vbs_status status;              /* of the last call that failed */
    char detail[VBS_DETAIL_SIZE];        /* one line, no control characters, no full stop */
    const volatile sig_atomic_t *cancel; /* see vbs_ctx_set_cancel */
    double
        deadline_s; /* by vbs_clock_s: calls stop from then on as if they were cancelled; 0: none */
    char leftover[VBS_DETAIL_SIZE]; /* see vbs_leftover; "": nothing was found */
    dev_t clean_device;             /* the folder that was last found without parts of files */
    ino_t clean_folder;             /* (leftover.h); 0: none was */
};

#endif
