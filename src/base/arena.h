/* A bump allocator: many small pieces, freed together. Internal to the library. */
#ifndef VBS_BASE_ARENA_H
#define VBS_BASE_ARENA_H

#include <stddef.h>

struct vbs_arena_block;

struct vbs_arena {
    struct vbs_arena_block *blocks; /* newest first */
    size_t used, size;              /* of the newest block */
    size_t total_bytes;             /* obtained from malloc */
};

/* Zero-filled, aligned for any type; null when memory is out or count * size overflows. Start an
 * arena with {0}. */
void *vbs_arena_alloc(struct vbs_arena *arena, size_t count, size_t size);

/* A copy of text; null when memory is out. */
char *vbs_arena_strdup(struct vbs_arena *arena, const char *text);

/* Frees every piece; the arena is then as {0}. */
void vbs_arena_clear(struct vbs_arena *arena);

#endif
