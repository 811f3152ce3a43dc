/*
 * Arrays that grow while they are filled keep their contents, and refuse what memory cannot hold.
 */
#include "base/grow.h"
#include "support/tap.h"

#include <stdlib.h>

static void appends(void)
{
    struct vbs_ctx ctx = {0};
    int64_t *items = NULL, capacity = 0, n_grown = 0, sum = 0;

    for (int64_t n = 0; n < 100000; n++) {
        int64_t before = capacity;

        if (vbs_grow(&ctx, &items, &capacity, n + 1, sizeof *items) != VBS_OK)
            break;
        n_grown += capacity != before;
        items[n] = n;
    }
    for (int64_t n = 0; items && n < 100000; n++)
        sum += items[n] == n;
    ok(sum == 100000, "all of 100,000 items stay where they were put");
    ok(capacity >= 100000 && capacity <= 200000 && n_grown <= 14,
       "the capacity doubles: %lld after %lld steps", (long long)capacity, (long long)n_grown);
    free(items);
}

static void refuses(void)
{
    struct vbs_ctx ctx = {0};
    char *items = NULL, *before;
    int64_t capacity = 0;

    ok(vbs_grow(&ctx, &items, &capacity, 3, 1000) == VBS_OK && items && capacity >= 3,
       "items of any size");
    before = items;
    ok(vbs_grow(&ctx, &items, &capacity, INT64_MAX / 2, 1000) == VBS_NO_MEMORY && items == before &&
           capacity >= 3,
       "a size in bytes that overflows is refused, and the array stays");
    ok(vbs_grow(&ctx, &items, &capacity, INT64_MAX, 2) == VBS_NO_MEMORY && items == before,
       "so is the largest number of items");
    ok(vbs_grow(&ctx, &items, &capacity, -1, 1000) == VBS_OK && items == before,
       "less than there is changes nothing");
    free(items);
}

int main(void)
{
    appends();
    refuses();
    return done_testing();
}
