/* What the copy thread and the loader need of the file and the device. Internal to exec/weights. */
#ifndef VBS_EXEC_WEIGHTS_LOADER_H
#define VBS_EXEC_WEIGHTS_LOADER_H

#include "exec/weights/weights.h"

/* Reads bytes from offset into memory of the host; bounce: VBS_EXEC_BOUNCE bytes aligned to
 * VBS_EXEC_SECTOR, for direct reads whose address in memory does not suit. 0, or errno. */
#define VBS_EXEC_BOUNCE ((int64_t)1 << 20)
int vbs_exec_file_read(const struct vbs_exec_file *file, void *to, int64_t bytes, int64_t offset,
                       void *bounce);

/* VBS_IO for a failed read. */
enum vbs_status vbs_exec_file_refuse(struct vbs_ctx *ctx, const struct vbs_exec_file *file,
                                     int reason) VBS_MUST_CHECK;

/* Events of struct vbs_device_ops; 0, or what vbs_exec_loader_refuse turns into words. */
int vbs_exec_loader_record(struct vbs_exec_loader *loader, int event, bool computed);
int vbs_exec_loader_wait(struct vbs_exec_loader *loader, int event, bool computing);

#endif
