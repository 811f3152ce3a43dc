/* The deaths of rows in windows, for the arena checker. Internal to the room. */
#ifndef VBS_EXEC_ROW_DEATHS_H
#define VBS_EXEC_ROW_DEATHS_H

#include "exec/layout/layout.h"

/* Bytes of a ring whose rows no step reads any more behind this step, although the ring lives. */
struct vbs_exec_row_death {
    int64_t step;
    int64_t offset, bytes; /* in the arena */
};

struct vbs_exec_row_deaths {
    int64_t n, max;
    struct vbs_exec_row_death *list; /* [max], by step; freed by the holder of the struct */
};

/* Finds all deaths of rows in the rings of fit; *deaths is {0} before. VBS_NO_MEMORY. Linear in
 * what steps read, in samples, times the readers of a tensor. */
enum vbs_status vbs_exec_row_deaths_find(struct vbs_ctx *ctx, const struct vbs_exec_fit *fit,
                                         struct vbs_exec_row_deaths *deaths) VBS_MUST_CHECK;

#endif
