#include "cases/weights_chain.h"

#include "support/made_profile.h"

#include "base/ctx.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const ALGORITHMS[] = {"default", "wide", "far"};

static const struct vbs_profile_layer LAYERS[] = {
    {.name = "L1", .in_bytes = 4, .out_bytes = 10, .weight_bytes = 100, .channels = 4},
    {.name = "L2", .in_bytes = 10, .out_bytes = 20, .channels = 3},
    {.name = "L3", .in_bytes = 20, .out_bytes = 5, .weight_bytes = 60},
};
static const double TIME_US[] = {5, 3, 7};

static enum vbs_status add_rows(struct vbs_ctx *ctx, struct vbs_profile_builder *builder, int k,
                                int n_algorithms)
{
    static const int64_t TENTHS[] = {10, 11, 40};
    enum vbs_status status = VBS_OK;

    for (int b = 1; b <= 2; b++)
        for (int a = 0; a < n_algorithms && status == VBS_OK; a++) {
            struct vbs_profile_row row = {.time_us = b * TIME_US[k - 1],
                                          .weight_bytes =
                                              LAYERS[k - 1].weight_bytes * TENTHS[a] / 10,
                                          .format = a};

            status = vbs_profile_builder_row(ctx, builder, k, b, ALGORITHMS[a], &row);
        }
    return status;
}

struct vbs_profile *weights_chain(int n_algorithms, bool in_place)
{
    const struct vbs_copy_row copy = {.bytes = 100, .time_us = 25};
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_ctx ctx = {0};
    enum vbs_status status = VBS_OK;

    for (int k = 1; k <= 3 && status == VBS_OK; k++) {
        const int input = k - 1;
        struct vbs_profile_layer layer = LAYERS[k - 1];

        layer.kind = "conv";
        layer.n_inputs = 1;
        layer.inputs = &input;
        layer.in_place = in_place && k == 2;
        status = vbs_profile_builder_layer(&ctx, builder, &layer);
        if (status == VBS_OK)
            status = add_rows(&ctx, builder, k, n_algorithms);
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_copy(&ctx, builder, "disk", &copy);
    return made_profile(&ctx, builder, status);
}

struct vbs_schedule weights_schedule(int64_t request, const struct vbs_step *steps, int64_t n_steps)
{
    return (struct vbs_schedule){
        .model = "hand",
        .planner = "hand",
        .request = request,
        .memory_bytes = 1000000,
        .weights = VBS_WEIGHTS_INCLUDED,
        .copy = {.source = "given", .latency_us = 1, .bytes_per_us = 10},
        .n_algorithms = 3,
        .algorithms = ALGORITHMS,
        .n_steps = n_steps,
        .steps = steps,
    };
}
