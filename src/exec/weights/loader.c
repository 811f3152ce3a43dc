#include "exec/weights/loader.h"

#include "base/fail.h"
#include "vbslab/units.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Added to the reasons that the device gives, to tell them from those of files, which are values of
 * errno. */
#define OF_DEVICE (1 << 20)

static const struct vbs_device_ops *device_of(const struct vbs_exec_loader *loader)
{
    return loader->session->ops->device;
}

static int of_device(int reason)
{
    return reason ? OF_DEVICE + reason : 0;
}

enum vbs_status vbs_exec_loader_init(struct vbs_ctx *ctx, struct vbs_exec_loader *loader,
                                     const struct vbs_exec_file *file, struct vbs_session *session)
{
    bool failed = false;

    *loader = (struct vbs_exec_loader){.file = file, .session = session};
    for (int i = 0; i < VBS_N_READERS; i++) {
        loader->bounce[i] = aligned_alloc(VBS_EXEC_SECTOR, (size_t)VBS_EXEC_BOUNCE);
        failed |= !loader->bounce[i];
    }
    for (int i = 0; session && i < VBS_DEVICE_BUFFERS; i++) {
        loader->pinned[i] = device_of(loader)->host_alloc(session, VBS_EXEC_BOUNCE);
        failed |= !loader->pinned[i];
    }
    return failed ? vbs_no_memory(ctx) : VBS_OK;
}

void vbs_exec_loader_clear(struct vbs_exec_loader *loader)
{
    for (int i = 0; i < VBS_N_READERS; i++)
        free(loader->bounce[i]);
    for (int i = 0; loader->session && i < VBS_DEVICE_BUFFERS; i++)
        if (loader->pinned[i])
            device_of(loader)->host_free(loader->session, loader->pinned[i]);
    if (loader->all)
        device_of(loader)->host_free(loader->session, loader->all);
    *loader = (struct vbs_exec_loader){0};
}

enum vbs_status vbs_exec_loader_pin(struct vbs_ctx *ctx, struct vbs_exec_loader *loader)
{
    const struct vbs_exec_file *file = loader->file;
    int64_t bytes = file->end_bytes - file->first_bytes;
    char text[48];
    int reason = 0;

    loader->all = device_of(loader)->host_alloc(loader->session, bytes > 0 ? bytes : 1);
    if (!loader->all)
        return vbs_fail(ctx, VBS_NO_MEMORY, "cannot obtain %s of pinned memory for packed weights",
                        vbs_format_exact(bytes, text, sizeof text));
    for (int64_t at = 0; at < bytes && reason == 0; at += VBS_EXEC_BOUNCE) {
        int64_t left = bytes - at, n = left < VBS_EXEC_BOUNCE ? left : VBS_EXEC_BOUNCE;

        reason = vbs_exec_file_read(file, loader->all + at, n, file->first_bytes + at,
                                    loader->bounce[VBS_READER_COMPUTES]);
    }
    return reason ? vbs_exec_file_refuse(ctx, file, reason) : VBS_OK;
}

/* Copies from the pinned weights. Copies with one number end in their order, so that the last of
 * them stands for all. */
static int copy_pinned(const struct vbs_exec_loader *loader, enum vbs_exec_reader who, void *to,
                       int64_t bytes, int64_t offset)
{
    int number = who == VBS_READER_COMPUTES ? 2 : 0;

    return of_device(device_of(loader)->begin_copy(
        loader->session, number, to, loader->all + (offset - loader->file->first_bytes), bytes));
}

/* Reads at most VBS_EXEC_BOUNCE bytes by way of a pinned buffer, once the buffer is free. */
static int read_pinned(struct vbs_exec_loader *loader, enum vbs_exec_reader who, char *to,
                       int64_t bytes, int64_t offset)
{
    const struct vbs_device_ops *device = device_of(loader);
    int number = who == VBS_READER_COMPUTES ? 2 : loader->next_pinned;
    void *pinned = loader->pinned[number];
    int reason = of_device(device->end_copy(loader->session, number));

    if (who == VBS_READER_COPIES)
        loader->next_pinned = 1 - number;
    if (reason == 0)
        reason = vbs_exec_file_read(loader->file, pinned, bytes, offset, loader->bounce[who]);
    if (reason == 0)
        reason = of_device(device->begin_copy(loader->session, number, to, pinned, bytes));
    return reason;
}

int vbs_exec_loader_read(struct vbs_exec_loader *loader, enum vbs_exec_reader who, void *to,
                         int64_t bytes, int64_t offset)
{
    int reason = 0;

    if (!loader->session)
        return vbs_exec_file_read(loader->file, to, bytes, offset, loader->bounce[who]);
    if (loader->all)
        return copy_pinned(loader, who, to, bytes, offset);
    for (int64_t at = 0; at < bytes && reason == 0; at += VBS_EXEC_BOUNCE) {
        int64_t left = bytes - at, n = left < VBS_EXEC_BOUNCE ? left : VBS_EXEC_BOUNCE;

        reason = read_pinned(loader, who, (char *)to + at, n, offset + at);
    }
    return reason;
}

/* ---- by the device's driver ---- */

int64_t vbs_exec_loader_chunks(const struct vbs_exec_loader *loader, int64_t bytes)
{
    return loader->all ? 0 : (bytes + VBS_EXEC_BOUNCE - 1) / VBS_EXEC_BOUNCE;
}

int vbs_exec_loader_begin(struct vbs_exec_loader *loader)
{
    return loader->all ? 0 : of_device(device_of(loader)->begin_loads(loader->session));
}

/* Reads a chunk, unless another one could not be read. Calls come one after the other. */
static void read_for_device(void *self)
{
    const struct vbs_exec_chunk *chunk = self;
    int reason;

    if (atomic_load(chunk->reason))
        return;
    reason = vbs_exec_file_read(chunk->loader->file, chunk->pinned, chunk->bytes, chunk->offset,
                                chunk->loader->bounce[VBS_READER_COPIES]);
    if (reason)
        atomic_store(chunk->reason, reason);
}

int vbs_exec_loader_enqueue(struct vbs_exec_loader *loader, void *to, int64_t bytes, int64_t offset,
                            struct vbs_exec_chunk *chunks, _Atomic int *reason)
{
    int failed = 0;

    if (loader->all)
        return copy_pinned(loader, VBS_READER_COPIES, to, bytes, offset);
    for (int64_t at = 0; at < bytes && failed == 0; at += VBS_EXEC_BOUNCE, chunks++) {
        int64_t left = bytes - at, n = left < VBS_EXEC_BOUNCE ? left : VBS_EXEC_BOUNCE;
        int number = loader->next_pinned;
        const struct vbs_device_load load = {.read = read_for_device,
                                             .self = chunks,
                                             .to = (char *)to + at,
                                             .from = loader->pinned[number],
                                             .bytes = n};

        *chunks = (struct vbs_exec_chunk){loader, loader->pinned[number], n, offset + at, reason};
        loader->next_pinned = 1 - number;
        failed = of_device(device_of(loader)->load(loader->session, number, &load));
    }
    return failed;
}

int vbs_exec_loader_finish(struct vbs_exec_loader *loader, enum vbs_exec_reader who)
{
    int first = who == VBS_READER_COMPUTES ? 2 : 0, last = who == VBS_READER_COMPUTES ? 2 : 1;
    int reason = 0;

    for (int i = first; loader->session && i <= last; i++) {
        int ended = of_device(device_of(loader)->end_copy(loader->session, i));

        reason = reason ? reason : ended;
    }
    return reason;
}

int vbs_exec_loader_record(struct vbs_exec_loader *loader, int event, bool computed)
{
    return of_device(device_of(loader)->record_event(loader->session, event, computed));
}

int vbs_exec_loader_wait(struct vbs_exec_loader *loader, int event, bool computing)
{
    return of_device(device_of(loader)->wait_event(loader->session, event, computing));
}

enum vbs_status vbs_exec_loader_refuse(struct vbs_ctx *ctx, const struct vbs_exec_loader *loader,
                                       int reason)
{
    if (reason < OF_DEVICE)
        return vbs_exec_file_refuse(ctx, loader->file, reason);
    return vbs_fail(ctx, VBS_LIBRARY, "cannot copy packed weights to the device: %s",
                    device_of(loader)->explain(loader->session, reason - OF_DEVICE));
}
