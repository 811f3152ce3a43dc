/*
 * The arena: one mapping of exactly the budget between two guard pages, or one block of a device's
 * memory; the rings in it, whose pages are mapped twice; and the sizes of memory that the system
 * reports. Internal to the room.
 */
#ifndef VBS_EXEC_ARENA_H
#define VBS_EXEC_ARENA_H

#include "vbslab/measure.h"

/* A ring in the arena, whose pages are mapped twice. */
struct vbs_exec_ring {
    int64_t offset, bytes; /* in the arena */
    char *at;              /* here its bytes come twice, one time behind the other */
};

struct vbs_exec_arena {
    char *base;
    int64_t bytes;
    struct vbs_session *session; /* the session on whose device the arena is; null: it is on the
                                    host, and the following members hold */
    char *low;                   /* first byte of the pages that can be touched */
    int64_t page_bytes;          /* of all these pages: bytes, rounded up */
    void *map;
    int64_t map_bytes;
    bool is_shared; /* the pages belong to file fd, so that they can be mapped again */
    int fd;
    int n_rings;
    int64_t max_rings;
    struct vbs_exec_ring *rings; /* [max_rings] */
    int n_buckets;
    int *buckets; /* [n_buckets] hash of rings, -1: free */
};

/*
 * Maps an arena on the host, none of whose pages is touched yet, and advises the system to use huge
 * pages. flush: the arena ends at the upper guard page, except for at most 63 bytes that align its
 * beginning to 64; else it begins behind the lower guard page, aligned to 2 MiB. VBS_NO_MEMORY.
 */
enum vbs_status vbs_exec_arena_map(struct vbs_ctx *ctx, struct vbs_exec_arena *arena, int64_t bytes,
                                   bool flush) VBS_MUST_CHECK;
/* Maps an arena on the host in which there can be rings. It begins at a page. VBS_NO_MEMORY, also
 * where the system has no files in memory; VBS_UNSUPPORTED: its pages have not VBS_WINDOW_ALIGNMENT
 * bytes. */
enum vbs_status vbs_exec_arena_share(struct vbs_ctx *ctx, struct vbs_exec_arena *arena,
                                     int64_t bytes) VBS_MUST_CHECK;
/* Allocates an arena on session's device, which must outlive it. VBS_NO_MEMORY. */
enum vbs_status vbs_exec_arena_obtain(struct vbs_ctx *ctx, struct vbs_exec_arena *arena,
                                      struct vbs_session *session, int64_t bytes) VBS_MUST_CHECK;
void vbs_exec_arena_unmap(struct vbs_exec_arena *arena);

/* Gives the address of the ring of the arena that lies at offset and has bytes, both multiples of
 * VBS_WINDOW_ALIGNMENT. A ring that is asked for again has the same address. Rings are unmapped
 * with the arena. VBS_NO_MEMORY, also where the process has too many mappings. O(1) on average, and
 * three system calls for each new ring. */
enum vbs_status vbs_exec_arena_ring(struct vbs_ctx *ctx, struct vbs_exec_arena *arena,
                                    int64_t offset, int64_t bytes, char **at) VBS_MUST_CHECK;

/* Gives the bytes of the arena's pages that are resident; on a device all bytes of the arena. */
int64_t vbs_exec_arena_touched(const struct vbs_exec_arena *arena);

/* Gives the bytes that the system counts in the resident memory of the process although they are
 * the same pages of the arena, mapped again; -1: it does not tell. 0 without rings. O(mappings of
 * the process and their pages). */
int64_t vbs_exec_arena_repeated(const struct vbs_exec_arena *arena);

/* Gives the resident memory of the process: now; the most since the peak was last reset; or now,
 * but only pages of files, most of which are code. -1: the system does not tell. */
enum vbs_exec_resident { VBS_EXEC_NOW, VBS_EXEC_PEAK, VBS_EXEC_FILES };
int64_t vbs_exec_resident_bytes(enum vbs_exec_resident which);

/* Gives the bytes that the heap has obtained from the system, used or free. Mappings of single
 * allocations do not count. */
int64_t vbs_exec_heap_bytes(void);

/* Resets the peak of the resident memory. False: the system does not allow it. */
bool vbs_exec_reset_peak(void);

#endif
