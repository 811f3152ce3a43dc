/* A bump allocator: many small pieces of memory that are freed together. Internal to the library.
 */
#ifndef VBS_BASE_ARENA_H
#define VBS_BASE_ARENA_H

#include <stddef.h>

struct vbs_arena_block;

struct vbs_arena {
    struct vbs_arena_block *blocks; /* the newest block first */
    size_t used, size;              /* bytes of the newest block: in use, and all */
    size_t total_bytes;             /* of all blocks */
};

/* Gives count * size bytes that are zero and aligned for any type; null where memory is out or the
 * product overflows. An arena starts as {0}. */
void *vbs_arena_alloc(struct vbs_arena *arena, size_t count, size_t size);

/* Gives a copy of text; null where memory is out. */
char *vbs_arena_strdup(struct vbs_arena *arena, const char *text);

/* Frees all memory that the arena has given. The arena is then as {0}. */
void vbs_arena_clear(struct vbs_arena *arena);

#endif
