/*
 * The arena: one mapping of exactly the budget between two guard pages, or one block of a device's
 * memory; and the sizes of memory that the system reports. Internal to the room.
 */
#ifndef VBS_EXEC_ARENA_H
#define VBS_EXEC_ARENA_H

#include "vbslab/measure.h"

struct vbs_exec_arena {
    char *base;
    int64_t bytes;
    struct vbs_session *session; /* on whose device it is; null: the host's, and what follows */
    char *low;                   /* first byte of the pages that can be touched */
    int64_t page_bytes;          /* of all of them: bytes, rounded up */
    void *map;
    int64_t map_bytes;
};

/*
 * Maps an arena on the host, none of whose pages is touched yet, and advises the system to use huge
 * pages. flush: the arena ends at the upper guard page, but for at most 63 bytes that align it to
 * 64; else it begins behind the lower guard page, aligned to 2 MiB. VBS_NO_MEMORY.
 */
enum vbs_status vbs_exec_arena_map(struct vbs_ctx *ctx, struct vbs_exec_arena *arena, int64_t bytes,
                                   bool flush) VBS_MUST_CHECK;
/* The same on session's device, which must outlive it. VBS_NO_MEMORY. */
enum vbs_status vbs_exec_arena_obtain(struct vbs_ctx *ctx, struct vbs_exec_arena *arena,
                                      struct vbs_session *session, int64_t bytes) VBS_MUST_CHECK;
void vbs_exec_arena_unmap(struct vbs_exec_arena *arena);

/* Bytes of the arena's pages that are resident; on a device all bytes of the arena. */
int64_t vbs_exec_arena_touched(const struct vbs_exec_arena *arena);

/* Resident memory of the process: now; the most since the peak was last reset; now, only pages of
 * files, most of them code. -1: the system does not tell. */
enum vbs_exec_resident { VBS_EXEC_NOW, VBS_EXEC_PEAK, VBS_EXEC_FILES };
int64_t vbs_exec_resident_bytes(enum vbs_exec_resident which);

/* Bytes that the heap has obtained from the system, used or free, without mappings of single
 * allocations. */
int64_t vbs_exec_heap_bytes(void);

/* False: the system does not let the peak be reset. */
bool vbs_exec_reset_peak(void);

#endif
