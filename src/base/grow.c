#include "base/grow.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16

enum vbs_status vbs_grow(struct vbs_ctx *ctx, void *array, int64_t *capacity, int64_t needed,
                         size_t item_size)
{
    int64_t most = (int64_t)(PTRDIFF_MAX / item_size), larger;
    void *items; /* copied, for a pointer of any type may be behind `array` */

    if (needed <= *capacity)
        return VBS_OK;
    if (needed > most)
        return vbs_no_memory(ctx);
    larger = *capacity > most / 2 ? most : 2 * *capacity;
    if (larger < FIRST_CAPACITY && FIRST_CAPACITY <= most)
        larger = FIRST_CAPACITY;
    if (larger < needed)
        larger = needed;
    memcpy(&items, array, sizeof items);
    items = realloc(items, (size_t)larger * item_size);
    if (!items)
        return vbs_no_memory(ctx);
    memcpy(array, &items, sizeof items);
    *capacity = larger;
    return VBS_OK;
}
