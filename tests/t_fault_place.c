/* Every allocation of a placement, and of reading and writing its CSV, fails once, and then also
 * every one after it: the calls say so and leave nothing behind. */
#include "fault.h"
#include "place_schedules.h"
#include "tap.h"

#include "vbslab/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SEED 11

/* Some searches, so that all of them allocate. */
static const struct vbs_place_options OPTIONS = {.time_limit_s = -1, .step_limit = 100000};

static char written[] = "/tmp/vbslab-place-XXXXXX";

typedef enum vbs_status task(struct vbs_ctx *ctx, const struct vbs_place_problem *problem);

static enum vbs_status place(struct vbs_ctx *ctx, const struct vbs_place_problem *problem)
{
    struct vbs_place_result *result = NULL;
    enum vbs_status status = vbs_place_lowest(ctx, problem, &OPTIONS, &result);

    vbs_place_free(result);
    return status;
}

static enum vbs_status read_and_write(struct vbs_ctx *ctx, const struct vbs_place_problem *problem)
{
    struct vbs_place_csv *csv;
    struct vbs_place_result result = {0};
    enum vbs_status status = vbs_place_csv_read(ctx, "tests/placement/gaps.csv", &csv);

    (void)problem;
    if (status != VBS_OK)
        return status;
    result.n_items = vbs_place_csv_problem(csv)->n_items;
    result.offsets = calloc((size_t)result.n_items, sizeof *result.offsets);
    status = result.offsets ? vbs_place_csv_write(ctx, csv, &result, written) : VBS_NO_MEMORY;
    free(result.offsets);
    vbs_place_csv_free(csv);
    return status;
}

static void test_allocations(task *run, const struct vbs_place_problem *problem, const char *name,
                             bool lasting)
{
    int n_faults = 0, n_wrong = 0;
    enum vbs_status status;

    for (;;) {
        struct vbs_ctx ctx = {0};

        allocation_faults = (struct faults){.countdown = n_faults + 1, .lasting = lasting};
        status = run(&ctx, problem);
        allocation_faults.countdown = 0;
        if (!allocation_faults.hit)
            break;
        n_faults++;
        if (status != VBS_NO_MEMORY) {
            n_wrong++;
            printf("# allocation %d: status %d (%s)\n", n_faults, (int)status, ctx.detail);
        }
    }
    ok(n_faults > 3 && n_wrong == 0 && status == VBS_OK, "%s: %d allocations, %s", name, n_faults,
       lasting ? "all from one on fail" : "each fails once");
}

/* At each allocation the caller asks to stop. */
static void test_interruptions(const struct vbs_place_problem *problem)
{
    volatile sig_atomic_t stop = 0;
    int n_stops = 0, n_wrong = 0;

    for (;;) {
        struct vbs_ctx ctx = {.cancel = &stop};
        enum vbs_status status;

        stop = 0;
        allocation_faults = (struct faults){.countdown = n_stops + 1, .stop = &stop};
        status = place(&ctx, problem);
        allocation_faults.countdown = 0;
        if (!allocation_faults.hit)
            break;
        n_stops++;
        n_wrong += status != VBS_INTERRUPTED;
    }
    ok(n_stops > 10 && n_wrong <= 2, "stopped at each of %d allocations (%d)", n_stops, n_wrong);
}

/* Stacks that no fixed order places well, and not all of one part. */
static struct place_schedule make_stacks(gsl_rng *rng)
{
    for (;;) {
        struct place_schedule stacks = place_schedule_make(rng, 12, 12);
        struct vbs_place_result *result;
        struct vbs_ctx ctx = {0};
        bool suits = vbs_place_lowest(&ctx, &stacks.problem, &OPTIONS, &result) == VBS_OK &&
                     result->height_bytes < result->greedy_height_bytes;

        vbs_place_free(result);
        if (suits)
            return stacks;
        place_schedule_clear(&stacks);
    }
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct place_schedule stacks;
    struct vbs_place_csv *csv = NULL;
    struct vbs_ctx ctx = {0};

    gsl_rng_set(rng, SEED);
    stacks = make_stacks(rng);
    close(mkstemp(written));
    ok(vbs_place_csv_read(&ctx, "tests/placement/D.1048576.csv", &csv) == VBS_OK, "buffers");
    for (int lasting = 0; csv && lasting < 2; lasting++) {
        test_allocations(place, &stacks.problem, "stacks", lasting);
        test_allocations(place, vbs_place_csv_problem(csv), "buffers", lasting);
        test_allocations(read_and_write, NULL, "CSV", lasting);
    }
    test_interruptions(&stacks.problem);
    test_interruptions(vbs_place_csv_problem(csv));
    unlink(written);
    vbs_place_csv_free(csv);
    place_schedule_clear(&stacks);
    gsl_rng_free(rng);
    return done_testing();
}
