#include "plan/weights/range_min_tree.h"

#include "base/fail.h"

#include <stdlib.h>

enum vbs_status vbs_room_init(struct vbs_ctx *ctx, struct vbs_room *room, const int64_t *bytes,
                              int n)
{
    *room = (struct vbs_room){.n = n, .width = 1};
    while (room->width < n)
        room->width *= 2;
    room->least = malloc(2 * (size_t)room->width * sizeof *room->least);
    room->taken = calloc(2 * (size_t)room->width, sizeof *room->taken);
    if (!room->least || !room->taken) {
        vbs_room_clear(room);
        return vbs_no_memory(ctx);
    }
    for (int i = 0; i < room->width; i++)
        room->least[room->width + i] = i < n ? bytes[i] : INT64_MAX;
    for (int node = room->width - 1; node >= 1; node--) {
        int64_t left = room->least[2 * node], right = room->least[2 * node + 1];

        room->least[node] = left < right ? left : right;
    }
    return VBS_OK;
}

void vbs_room_clear(struct vbs_room *room)
{
    free(room->least);
    free(room->taken);
    *room = (struct vbs_room){0};
}

/* Of the slots of node, which has from..from + width - 1, that lie in first..last. */
static int64_t least_in(const struct vbs_room *room, int node, int from, int width, int first,
                        int last)
{
    int64_t left, right, least;

    if (last < from || first > from + width - 1)
        return INT64_MAX;
    if (first <= from && from + width - 1 <= last)
        return room->least[node];
    left = least_in(room, 2 * node, from, width / 2, first, last);
    right = least_in(room, 2 * node + 1, from + width / 2, width / 2, first, last);
    least = left < right ? left : right;
    return least == INT64_MAX ? least : least - room->taken[node];
}

int64_t vbs_room_least(const struct vbs_room *room, int first, int last)
{
    return first > last ? INT64_MAX : least_in(room, 1, 0, room->width, first, last);
}

static void take_in(struct vbs_room *room, int node, int from, int width, int first, int last,
                    int64_t bytes)
{
    int64_t left, right;

    if (last < from || first > from + width - 1 || room->least[node] == INT64_MAX)
        return;
    if (first <= from && from + width - 1 <= last) {
        room->least[node] -= bytes;
        room->taken[node] += bytes;
        return;
    }
    take_in(room, 2 * node, from, width / 2, first, last, bytes);
    take_in(room, 2 * node + 1, from + width / 2, width / 2, first, last, bytes);
    left = room->least[2 * node];
    right = room->least[2 * node + 1];
    room->least[node] = (left < right ? left : right) - room->taken[node];
}

void vbs_room_take(struct vbs_room *room, int first, int last, int64_t bytes)
{
    if (first <= last)
        take_in(room, 1, 0, room->width, first, last, bytes);
}

void vbs_room_read(const struct vbs_room *room, int64_t *bytes)
{
    for (int i = 0; i < room->n; i++) {
        bytes[i] = room->least[room->width + i];
        for (int node = (room->width + i) / 2; node >= 1; node /= 2)
            bytes[i] -= room->taken[node];
    }
}
