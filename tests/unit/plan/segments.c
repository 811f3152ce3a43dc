/*
 * Segments by hand, whose least memory is known to the byte: where branches meet, no branch runs
 * ahead of the other, a layer that accumulates needs no more than some rows of its input, and rows
 * in front that no layer reads need no memory beside others.
 */
#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include "base/ctx.h"
#include "support/made_profile.h"
#include "support/tap.h"

#include <inttypes.h>

#define ROWS 32

static const struct vbs_reach SAME = {1, 1, 0, 0}, AROUND = {1, 1, -1, 1}, SUM = {1, 0, 0, 0},
                              LAST = {1, 1, ROWS - 2, ROWS - 2};

struct part {
    const char *name;
    int n_inputs, inputs[2];
    int64_t out_bytes;
    int rows; /* 0: whole samples only */
    struct vbs_reach reach;
};

/* Makes a profile of an input of ROWS rows of 4 bytes; layers have kernels on 1, 2, 4, ... rows. */
static struct vbs_profile *make_profile(const struct part *parts, int n)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    int64_t bytes[8] = {ROWS * 4};
    enum vbs_status status = vbs_profile_builder_input_rows(&ctx, builder, ROWS);

    for (int k = 1; k <= n && status == VBS_OK; k++) {
        const struct part *part = &parts[k - 1];
        const struct vbs_reach reaches[2] = {part->reach, part->reach};
        struct vbs_profile_layer layer = {.name = part->name,
                                          .kind = "layer",
                                          .n_inputs = part->n_inputs,
                                          .inputs = part->inputs,
                                          .out_bytes = part->out_bytes,
                                          .rows = part->rows,
                                          .reaches = part->rows > 0 ? reaches : NULL};

        bytes[k] = part->out_bytes;
        for (int i = 0; i < part->n_inputs; i++)
            layer.in_bytes += bytes[part->inputs[i]];
        status = vbs_profile_builder_layer(&ctx, builder, &layer);
        for (int rows = 0; rows < (part->rows > 0 ? part->rows : 1) && status == VBS_OK;
             rows = rows > 0 ? 2 * rows : 1) {
            const struct vbs_profile_row row = {
                .time_us = 10 + (rows > 0 ? rows : ROWS), .rows = rows, .n_slices = rows > 0};

            status = vbs_profile_builder_row(&ctx, builder, k, 1, "a", &row);
        }
    }
    return made_profile(&ctx, builder, status);
}

/* Checks the least memory of one sample, and that the replay finds the same peak. */
static void check(const char *name, const struct part *parts, int n, enum vbs_io io, int64_t bytes)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = make_profile(parts, n);
    const struct vbs_problem problem = {.profile = profile, .request = 1, .io = io};
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    struct vbs_replay *replay = NULL;
    int64_t least = 0;

    if (vbs_planner_find(&ctx, "dp-vbs+", &planner) != VBS_OK ||
        vbs_solver_new(&ctx, planner, &problem, NULL, &solver) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    least = vbs_solver_least_bytes(solver);
    ok(least == bytes, "%s, io %s: the least memory is %" PRId64 ", %" PRId64, name,
       vbs_io_word(io), bytes, least);
    ok(vbs_solver_plan(&ctx, solver, least, &schedule) == VBS_OK &&
           vbs_replay_run(&ctx, profile, schedule, -1, false, &replay) == VBS_OK &&
           replay->peak_bytes == least,
       "%s, io %s: the replay agrees", name, vbs_io_word(io));
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    vbs_profile_free(profile);
}

int main(void)
{
    /* The first tensor is whole, because it is read whole too, and both branches could run to their
     * ends. Each needs one row, of a page, and the last layer's row leaves. */
    const struct part branches[] = {
        {"whole", 1, {0}, ROWS * 4096, ROWS, SAME},  {"short", 1, {1}, ROWS * 4096, ROWS, SAME},
        {"deep", 1, {1}, ROWS * 4096, ROWS, AROUND}, {"both", 2, {2, 3}, ROWS * 4, ROWS, SAME},
        {"reader", 2, {1, 4}, 4, 0, SAME},
    };
    /* One row of the wide layer, of two pages, and the sum. */
    const struct part sum[] = {
        {"wide", 1, {0}, ROWS * 8192, ROWS, SAME},
        {"sum", 1, {1}, 60, ROWS, SUM},
    };
    const struct part read[] = {
        {"wide", 1, {0}, ROWS * 8192, ROWS, SAME},
        {"sum", 1, {1}, 60, ROWS, SUM},
        {"reader", 1, {2}, 4, 0, SAME},
    };
    /* One row of the wide layer at a time, and one of the two that leave. */
    const struct part last[] = {
        {"wide", 1, {0}, ROWS * 8192, ROWS, SAME},
        {"last rows", 1, {1}, 2 * 8, 2, LAST},
    };

    check("branches", branches, 5, VBS_IO_EXTERNAL, ROWS * 4096 + 2 * 4096 + ROWS * 4);
    check("a sum", sum, 2, VBS_IO_EXTERNAL, 8192 + 60);
    check("a sum", sum, 2, VBS_IO_RESIDENT, ROWS * 4 + 8192 + 60);
    check("a sum that is read", read, 3, VBS_IO_EXTERNAL, 8192 + 60 + 4);
    check("the last rows", last, 2, VBS_IO_EXTERNAL, 8192 + 8);
    return done_testing();
}
