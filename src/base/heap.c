#include "base/heap.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>

enum vbs_status vbs_heap_push(struct vbs_ctx *ctx, struct vbs_heap *heap, int item)
{
    int at = heap->n;

    VBS_TRY(vbs_grow(ctx, &heap->items, &heap->capacity, (int64_t)at + 1, sizeof *heap->items));
    heap->n++;
    for (; at > 0 && heap->comes_before(heap->self, item, heap->items[(at - 1) / 2]);
         at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = item;
    return VBS_OK;
}

int vbs_heap_pop(struct vbs_heap *heap)
{
    int first = heap->items[0], last = heap->items[--heap->n], at = 0;

    for (int child = 1; child < heap->n; child = 2 * at + 1) {
        if (child + 1 < heap->n &&
            heap->comes_before(heap->self, heap->items[child + 1], heap->items[child]))
            child++;
        if (!heap->comes_before(heap->self, heap->items[child], last))
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
    return first;
}

void vbs_heap_clear(struct vbs_heap *heap)
{
    free(heap->items);
    heap->items = NULL;
    heap->n = 0;
    heap->capacity = 0;
}
