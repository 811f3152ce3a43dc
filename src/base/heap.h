/* Binary heaps of numbers, such as indices into an array of the caller's. Internal to the library.
 */
#ifndef VBS_BASE_HEAP_H
#define VBS_BASE_HEAP_H

#include "vbslab/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Starts with the order and self; the rest is 0. */
struct vbs_heap {
    /* Gives whether a comes out before b: a strict weak order, which must not change for two
     * numbers that are in the heap. */
    bool (*comes_before)(const void *self, int a, int b);
    const void *self; /* passed to it */
    int n;            /* numbers in the heap */
    int64_t capacity;
    int *items;
};

/* Adds a number. VBS_NO_MEMORY: the heap is as before. O(log n). */
enum vbs_status vbs_heap_push(struct vbs_ctx *ctx, struct vbs_heap *heap, int item) VBS_MUST_CHECK;

/* Removes and gives the first number of a heap that is not empty. O(log n). */
int vbs_heap_pop(struct vbs_heap *heap);

/* Frees the heap's memory. */
void vbs_heap_clear(struct vbs_heap *heap);

#endif
