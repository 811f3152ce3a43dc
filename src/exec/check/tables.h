/* The tables of kernels and packed weights while a schedule is checked. Internal to exec/check. */
#ifndef VBS_EXEC_CHECK_TABLES_H
#define VBS_EXEC_CHECK_TABLES_H

#include "exec/check/check.h"

/* Finds kernels and packed weights by the data of steps, and adds those that are new. */
struct vbs_exec_tables {
    struct vbs_exec_checked *checked;
    int n_formats;
    int *packed_of; /* [n_layers + 1][n_formats], -1: none so far */
    int *buckets;   /* hash of kernels, -1: free */
    int n_buckets;
};

/* Borrows checked, whose lists it fills. VBS_NO_MEMORY. */
enum vbs_status vbs_exec_tables_init(struct vbs_ctx *ctx, struct vbs_exec_tables *tables,
                                     struct vbs_exec_checked *checked) VBS_MUST_CHECK;
void vbs_exec_tables_clear(struct vbs_exec_tables *tables);

/* Gives the kernel of a compute step, which runs row; its packed weights are added too.
 * VBS_NO_MEMORY. */
enum vbs_status vbs_exec_find_kernel(struct vbs_ctx *ctx, struct vbs_exec_tables *tables,
                                     const struct vbs_step *step, const struct vbs_profile_row *row,
                                     int *kernel) VBS_MUST_CHECK;

/* Gives the weights of a layer packed in a format that the layer has. VBS_NO_MEMORY. */
enum vbs_status vbs_exec_find_packed(struct vbs_ctx *ctx, struct vbs_exec_tables *tables, int layer,
                                     int format, int *packed) VBS_MUST_CHECK;

#endif
