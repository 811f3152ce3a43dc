/* Arrays that grow while they are filled. Internal to the library. */
#ifndef VBS_BASE_GROW_H
#define VBS_BASE_GROW_H

#include "vbslab/status.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Makes sure that an array from malloc has space for `needed` items of item_size bytes (at least
 * 1). `array` is the address of the pointer to its first item, which may be null while *capacity
 * is 0. The capacity at least doubles whenever it is not enough, so that appending n items one by
 * one takes O(n) in all. New items are not initialised. VBS_NO_MEMORY, also where the size in bytes
 * overflows: the array and *capacity are then as before, and the caller still has to free the
 * array.
 */
enum vbs_status vbs_grow(struct vbs_ctx *ctx, void *array, int64_t *capacity, int64_t needed,
                         size_t item_size) VBS_MUST_CHECK;

#endif
