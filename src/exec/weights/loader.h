/* The functions on the file and the device that the copy thread and the loader share. Internal to
 * exec/weights. */
#ifndef VBS_EXEC_WEIGHTS_LOADER_H
#define VBS_EXEC_WEIGHTS_LOADER_H

#include "exec/weights/weights.h"

/* Reads bytes from offset into memory of the host; bounce: VBS_EXEC_BOUNCE bytes aligned to
 * VBS_EXEC_SECTOR, for direct reads whose address in memory is not so aligned. Returns 0, or
 * errno. */
#define VBS_EXEC_BOUNCE ((int64_t)1 << 20)
int vbs_exec_file_read(const struct vbs_exec_file *file, void *to, int64_t bytes, int64_t offset,
                       void *bounce);

/* Fails with VBS_IO because a read failed. */
enum vbs_status vbs_exec_file_refuse(struct vbs_ctx *ctx, const struct vbs_exec_file *file,
                                     int reason) VBS_MUST_CHECK;

/* Calls on the events of struct vbs_device_ops. They return 0, or a reason for
 * vbs_exec_loader_refuse. */
int vbs_exec_loader_record(struct vbs_exec_loader *loader, int event, bool computed);
int vbs_exec_loader_wait(struct vbs_exec_loader *loader, int event, bool computing);

#endif
