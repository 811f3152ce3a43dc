/*
 * Reading packed weights into the arena: straight into place where the host can, else through
 * pinned memory, of which one half is filled while the device copies the other (Shi et al., mmCNN,
 * 3.3). Internal to the room.
 */
#ifndef VBS_EXEC_WEIGHTS_LOADER_H
#define VBS_EXEC_WEIGHTS_LOADER_H

#include "exec/weights/file.h"

/* Who reads. */
enum vbs_exec_reader { VBS_READER_COPIES, VBS_READER_COMPUTES, VBS_N_READERS };

struct vbs_exec_loader {
    const struct vbs_exec_file *file;
    struct vbs_session *session;      /* null: the host's memory */
    void *bounce[VBS_N_READERS];      /* for direct reads, VBS_EXEC_BOUNCE bytes */
    void *pinned[VBS_DEVICE_BUFFERS]; /* likewise; the first two are the copy thread's */
    int turn;                         /* the one of these that it fills next */
};

/* session: on whose device the arena is, or null. Borrows both. Clear it whatever comes out. */
enum vbs_status vbs_exec_loader_init(struct vbs_ctx *ctx, struct vbs_exec_loader *loader,
                                     const struct vbs_exec_file *file,
                                     struct vbs_session *session) VBS_MUST_CHECK;
void vbs_exec_loader_clear(struct vbs_exec_loader *loader);

/* Reads bytes from offset of the file to a place in the arena; they are there when finish has
 * returned. 0, or what refuse turns into words. */
int vbs_exec_loader_read(struct vbs_exec_loader *loader, enum vbs_exec_reader who, void *to,
                         int64_t bytes, int64_t offset);
int vbs_exec_loader_finish(struct vbs_exec_loader *loader, enum vbs_exec_reader who);

/* struct vbs_device_ops' points; 0, or what refuse turns into words. */
int vbs_exec_loader_set(struct vbs_exec_loader *loader, int point, bool computed);
int vbs_exec_loader_wait(struct vbs_exec_loader *loader, int point, bool computing);

enum vbs_status vbs_exec_loader_refuse(struct vbs_ctx *ctx, const struct vbs_exec_loader *loader,
                                       int reason) VBS_MUST_CHECK;

#endif
