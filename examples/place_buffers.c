/*
 * Gives buffers offsets in one arena, so that no two buffers that live at the same time overlap.
 * Here they are the buffers of six layers, of which two read a tensor that an earlier layer has
 * made.
 *
 * This program is compiled by
 *     cc -o place_buffers place_buffers.c $(pkg-config --cflags --libs vbslab)
 */
#include <inttypes.h>
#include <stdio.h>

#include <vbslab/vbslab.h>

#define N_BUFFERS 7

/* A plain buffer is an item of one rectangle: it lives through the steps lower to upper - 1. */
static const struct vbs_place_rect BUFFERS[N_BUFFERS] = {
    {.lower = 0, .upper = 1, .size = 4096}, {.lower = 0, .upper = 4, .size = 8192},
    {.lower = 1, .upper = 2, .size = 6144}, {.lower = 1, .upper = 3, .size = 2048},
    {.lower = 2, .upper = 5, .size = 4096}, {.lower = 3, .upper = 6, .size = 2048},
    {.lower = 4, .upper = 6, .size = 9216},
};

int main(void)
{
    struct vbs_place_item items[N_BUFFERS];
    struct vbs_place_problem problem = {.n_items = N_BUFFERS,
                                        .items = items,
                                        .n_rects = N_BUFFERS,
                                        .rects = BUFFERS,
                                        .capacity = INT64_MAX};
    struct vbs_ctx *ctx = vbs_ctx_new();
    struct vbs_place_result *result = NULL;
    enum vbs_status status;

    for (int i = 0; i < N_BUFFERS; i++)
        items[i] = (struct vbs_place_item){.first_rect = i, .n_rects = 1, .alignment = 64};
    status = vbs_place_lowest(ctx, &problem, NULL, &result);
    if (status == VBS_OK) {
        for (int i = 0; i < N_BUFFERS; i++)
            printf("buffer %d: steps %" PRId64 " to %" PRId64 ", bytes %" PRId64 " to %" PRId64
                   "\n",
                   i, BUFFERS[i].lower, BUFFERS[i].upper - 1, result->offsets[i],
                   result->offsets[i] + BUFFERS[i].size - 1);
        printf("arena of %" PRId64 " bytes; no arena is smaller than %" PRId64 "\n",
               result->height_bytes, result->bound_bytes);
    } else {
        fprintf(stderr, "place_buffers: %s\n", vbs_detail(ctx));
    }
    vbs_place_free(result);
    vbs_ctx_free(ctx);
    return vbs_status_exit_code(status);
}
