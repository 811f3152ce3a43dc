/*
 * The placement planner accepts every valid problem, refuses the others with a reason, and reports
 * the height and the bound of its placement truly.
 */
#include "reference/place/place_check.h"
#include "cases/place_schedules.h"
#include "support/tap.h"

#include <stdlib.h>

#define N(array) ((int64_t)(sizeof(array) / sizeof(array)[0]))

static const struct vbs_place_options STEPS = {
    .struct_size = sizeof(struct vbs_place_options), .time_limit_s = -1, .step_limit = 2000000};

/* Makes a problem of plain buffers, one for each rectangle; items has space for them. */
static struct vbs_place_problem plain(const struct vbs_place_rect *rects, int64_t n,
                                      struct vbs_place_item *items, int64_t capacity)
{
    for (int64_t i = 0; i < n; i++)
        items[i] = (struct vbs_place_item){.first_rect = i, .n_rects = 1};
    return (struct vbs_place_problem){
        .n_items = n, .items = items, .n_rects = n, .rects = rects, .capacity = capacity};
}

static enum vbs_status lowest(const struct vbs_place_problem *problem, struct vbs_ctx *ctx,
                              struct vbs_place_result **result)
{
    *ctx = (struct vbs_ctx){0};
    *result = NULL;
    return vbs_place_lowest(ctx, problem, &STEPS, result);
}

/* Checks that the lowest placement is valid, proven, and of that height. */
static void check_height(const struct vbs_place_problem *problem, int64_t want, const char *name)
{
    struct vbs_place_result *result;
    struct vbs_ctx ctx;
    enum vbs_status status = lowest(problem, &ctx, &result);
    int64_t height = -1;
    const char *fault = status ? ctx.detail : place_fault(problem, result->offsets, &height);

    ok(!fault && height == want && result->height_bytes == want && result->bound_bytes == want,
       "%s: %lld bytes (%s)", name, (long long)height, fault ? fault : "valid");
    vbs_place_free(result);
}

static void test_small(void)
{
    static const struct vbs_place_rect ONE[] = {{3, 9, 0, 100}};
    static const struct vbs_place_rect TURNS[] = {{0, 2, 0, 10}, {1, 4, 0, 20}, {3, 5, 0, 15}};
    static const struct vbs_place_rect NOTHING[] = {{0, 2, 0, 0}, {1, 4, 7, 0}, {0, 9, 0, 5}};
    static const struct vbs_place_rect FAR[] = {{INT64_MIN, INT64_MAX, 0, 8}, {0, 1, 0, 4}};
    struct vbs_place_item items[3];
    struct vbs_place_problem problem = {0};

    check_height(&problem, 0, "no items");
    problem = plain(ONE, N(ONE), items, INT64_MAX);
    check_height(&problem, 100, "one item");
    problem = plain(TURNS, N(TURNS), items, INT64_MAX);
    check_height(&problem, 35, "a chain of three, whose first and last share bytes");
    problem = plain(NOTHING, N(NOTHING), items, INT64_MAX);
    check_height(&problem, 5, "items of no bytes");
    problem = plain(FAR, N(FAR), items, INT64_MAX);
    check_height(&problem, 12, "all steps that there are");
    items[1].n_rects = 0;
    check_height(&problem, 8, "an item without rectangles");
}

static void test_alignment(void)
{
    static const struct vbs_place_rect RECTS[] = {{0, 2, 0, 10}, {0, 2, 0, 10}, {0, 2, 0, 1}};
    struct vbs_place_item items[3];
    struct vbs_place_problem problem = plain(RECTS, N(RECTS), items, INT64_MAX);

    items[0].alignment = items[1].alignment = 16;
    check_height(&problem, 26, "the third fits between two that are aligned");
    items[2].alignment = 64;
    check_height(&problem, 42, "aligned to more than all of it");
    items[2] = (struct vbs_place_item){.first_rect = 2, .n_rects = 1, .fixed = true};
    check_height(&problem, 42, "one is fixed where another would like to be");
}

/* The samples of two tensors: the second is made while the first is used up, one sample at a step.
 */
static void test_rigid_groups(void)
{
    static const struct vbs_place_rect RECTS[] = {{0, 2, 0, 4}, {0, 3, 4, 4}, {0, 4, 8, 4},
                                                  {1, 6, 0, 4}, {2, 6, 4, 4}, {3, 6, 8, 4}};
    static const struct vbs_place_item ITEMS[] = {{.first_rect = 0, .n_rects = 3},
                                                  {.first_rect = 3, .n_rects = 3}};
    /* These items are each below the other at some step, so that no order places them. */
    static const struct vbs_place_rect CROSSED[] = {
        {0, 1, 0, 5}, {1, 2, 5, 5}, {0, 1, 5, 5}, {1, 2, 0, 5}};
    static const struct vbs_place_item CROSSED_ITEMS[] = {{.first_rect = 0, .n_rects = 2},
                                                          {.first_rect = 2, .n_rects = 2}};
    struct vbs_place_problem problem = {
        .n_items = 2, .items = ITEMS, .n_rects = N(RECTS), .rects = RECTS, .capacity = INT64_MAX};

    check_height(&problem, 16, "a rigid group follows another into what it leaves");
    problem.items = CROSSED_ITEMS;
    problem.n_rects = N(CROSSED);
    problem.rects = CROSSED;
    check_height(&problem, 10, "rigid groups that reach into each other");
}

/* Two rigid groups cannot lie at the height of their load: it is 20, and no placement is below
 * 30. */
static void test_proof(void)
{
    static const struct vbs_place_rect RECTS[] = {{0, 2, 0, 10},  {1, 2, 10, 10}, {0, 1, 0, 10},
                                                  {2, 3, 10, 10}, {2, 3, 0, 10},  {1, 3, 20, 0}};
    static const struct vbs_place_item ITEMS[] = {{.first_rect = 0, .n_rects = 2},
                                                  {.first_rect = 2, .n_rects = 2},
                                                  {.first_rect = 4, .n_rects = 1, .fixed = true}};
    struct vbs_place_problem problem = {
        .n_items = 3, .items = ITEMS, .n_rects = N(RECTS), .rects = RECTS, .capacity = INT64_MAX};
    int64_t want = place_brute_height(&problem, 60);
    struct vbs_place_result *result = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    check_height(&problem, want, "three rigid groups");
    problem.capacity = want - 1;
    status = vbs_place(&ctx, &problem, &STEPS, &result);
    ok(status == VBS_INFEASIBLE && result && result->height_bytes == want &&
           result->bound_bytes == want && result->load_bytes < want &&
           strstr(ctx.detail, "no placement is lower than"),
       "a byte less is refuted, and the best is given: %s", ctx.detail);
    vbs_place_free(result);
    problem.capacity = 0;
    status = vbs_place_lowest(&ctx, &problem, &STEPS, &result);
    ok(status == VBS_INFEASIBLE && result->height_bytes == want, "the lowest, but no bytes at all");
    vbs_place_free(result);
}

static void check_refused(const struct vbs_place_problem *problem, enum vbs_status want,
                          const char *part)
{
    struct vbs_place_result *result;
    struct vbs_ctx ctx;
    enum vbs_status status = lowest(problem, &ctx, &result);

    ok(status == want && !result && strstr(ctx.detail, part), "refused: %s", ctx.detail);
}

/* Each problem has one fault. */
static void test_refusals(void)
{
    static const char *const NAMES[] = {"first", "second"};
    struct vbs_place_rect rects[] = {{0, 4, 0, 10}, {2, 6, 0, 10}};
    struct vbs_place_item items[2];
    const struct vbs_place_problem good = plain(rects, 2, items, INT64_MAX);
    struct vbs_place_problem problem = good;

    problem.capacity = -1;
    check_refused(&problem, VBS_USAGE, "a capacity from 0");
    problem = good;
    problem.n_items = VBS_MAX_PLACE_ITEMS + 1;
    check_refused(&problem, VBS_USAGE, "up to 1048576 items");
    problem = good;
    problem.n_rects = 1;
    check_refused(&problem, VBS_USAGE, "item 1 has rectangles that are not there");
    items[1].n_rects = INT64_MAX;
    check_refused(&good, VBS_USAGE, "item 1 has rectangles that are not there");
    items[1].n_rects = 1;
    items[0].alignment = 48;
    check_refused(&good, VBS_USAGE, "item 0 has an alignment that is no power of two");
    items[0].alignment = (int64_t)1 << 62;
    check_refused(&good, VBS_USAGE, "item 0 makes the sum of all too large");
    items[0] =
        (struct vbs_place_item){.n_rects = 1, .alignment = 4, .fixed = true, .fixed_offset = 6};
    check_refused(&good, VBS_USAGE, "item 0 is fixed at an offset that is no multiple");
    items[0].fixed_offset = -4;
    check_refused(&good, VBS_USAGE, "negative or too large");
    items[0].fixed_offset = 8;
    items[1].fixed = true;
    problem.n_rects = 2;
    problem.names = NAMES;
    check_refused(&problem, VBS_USAGE, "items 'first' and 'second' are fixed in each other's way");
    (void)plain(rects, 2, items, 0);
    rects[1] = (struct vbs_place_rect){2, 2, 0, 10};
    check_refused(&good, VBS_USAGE, "item 1 has a rectangle that ends before it begins");
    rects[1] = (struct vbs_place_rect){2, 3, -1, 10};
    check_refused(&good, VBS_USAGE, "item 1 has a rectangle with a negative offset or size");
    rects[1] = (struct vbs_place_rect){2, 3, INT64_MAX, INT64_MAX};
    check_refused(&good, VBS_USAGE, "item 1 is too large");
    rects[1] = (struct vbs_place_rect){2, 6, 9, 10};
    items[0].n_rects = 2;
    check_refused(&good, VBS_USAGE, "item 0 has rectangles that overlap in time and space");
}

/* Many rectangles share a step: their pairs are counted before they are listed. */
static void test_too_many(void)
{
    int64_t n = 5000;
    struct vbs_place_rect *rects = calloc((size_t)n, sizeof *rects);
    struct vbs_place_item *items = calloc((size_t)n, sizeof *items);
    struct vbs_place_problem problem;

    for (int64_t i = 0; i < n; i++)
        rects[i] = (struct vbs_place_rect){i % 7, 100 + i % 5, 0, 1};
    problem = plain(rects, n, items, INT64_MAX);
    check_refused(&problem, VBS_UNSUPPORTED, "more than 8388608 pairs of buffers share a step");
    free(rects);
    free(items);
}

/* Makes buffers of a problem that takes a while; the caller frees both. */
static struct vbs_place_problem make_long(int64_t n, struct vbs_place_rect **rects,
                                          struct vbs_place_item **items)
{
    uint64_t random = 1;

    *rects = calloc((size_t)n, sizeof **rects);
    *items = calloc((size_t)n, sizeof **items);
    for (int64_t i = 0; i < n; i++) {
        int64_t lower, size;

        random = random * 6364136223846793005u + 1442695040888963407u;
        lower = (int64_t)(random >> 33) % n;
        size = 1 + (int64_t)(random >> 17) % 50;
        (*rects)[i] = (struct vbs_place_rect){lower, lower + 1 + (int64_t)(random >> 40) % 30, 0,
                                              size * size};
    }
    return plain(*rects, n, *items, 0);
}

struct stop_holder {
    volatile sig_atomic_t *stop;
};

/* Is the report of struct vbs_progress. It asks to stop once a search is under way. */
static void stop_searching(void *self, double done, double left_s, const char *text)
{
    (void)text;
    if (done == 0 && left_s < 0) /* there is no limit of time */
        *((struct stop_holder *)self)->stop = 1;
}

static void test_limits(void)
{
    struct vbs_place_rect *rects;
    struct vbs_place_item *items;
    struct vbs_place_problem problem = make_long(300, &rects, &items);
    struct vbs_place_options options = {
        .struct_size = sizeof(struct vbs_place_options), .time_limit_s = -1, .step_limit = 1};
    struct vbs_place_result *result = NULL, *again = NULL;
    volatile sig_atomic_t stop = 1;
    struct stop_holder holder = {&stop};
    enum vbs_status status;
    struct vbs_ctx ctx = {0};
    int64_t height = 0;

    problem.capacity = place_load(&problem);
    (void)!vbs_place(&ctx, &problem, &options, &result);
    ok(result && !place_fault(&problem, result->offsets, &height) &&
           result->height_bytes == height && result->height_bytes == result->greedy_height_bytes,
       "one step: the first of the fixed orders is complete");
    vbs_place_free(result);
    options = (struct vbs_place_options){.struct_size = sizeof(struct vbs_place_options),
                                         .time_limit_s = 1e-9};
    (void)!vbs_place(&ctx, &problem, &options, &result);
    ok(result && !place_fault(&problem, result->offsets, &height), "no time: likewise");
    vbs_place_free(result);

    options = (struct vbs_place_options){.struct_size = sizeof(struct vbs_place_options),
                                         .time_limit_s = -1,
                                         .step_limit = 300000,
                                         .seed = 3};
    problem.capacity = INT64_MAX;
    (void)!vbs_place_lowest(&ctx, &problem, &options, &result);
    (void)!vbs_place_lowest(&ctx, &problem, &options, &again);
    ok(result && again && result->n_steps == again->n_steps &&
           memcmp(result->offsets, again->offsets, 300 * sizeof *result->offsets) == 0,
       "the same again, from the same seed and limit of steps");
    vbs_place_free(result);
    vbs_place_free(again);

    options = (struct vbs_place_options){.struct_size = sizeof(struct vbs_place_options),
                                         .time_limit_s = -1,
                                         .progress = {&holder, stop_searching}};
    stop = 0;
    ctx.cancel = &stop;
    result = NULL;
    ok(vbs_place_lowest(&ctx, &problem, &options, &result) == VBS_OK && result &&
           !place_fault(&problem, result->offsets, &height) && height == result->height_bytes &&
           height <= result->greedy_height_bytes &&
           (stop ? result->interrupted : result->bound_bytes == height),
       "interrupted while it searches: the lowest offsets so far");
    vbs_place_free(result);
    result = NULL;
    problem.capacity = 1;
    stop = 0;
    status = vbs_place(&ctx, &problem, &options, &result);
    is_int(status, stop ? VBS_INTERRUPTED : VBS_INFEASIBLE, "  but none where none are low enough");
    vbs_place_free(result);
    problem.capacity = INT64_MAX;
    stop = 1;
    ctx.cancel = &stop;
    result = NULL;
    ok(vbs_place_lowest(&ctx, &problem, &options, &result) == VBS_INTERRUPTED && !result,
       "interrupted");
    vbs_place_free(NULL);
    free(rects);
    free(items);
}

/* The problem has 200000 buffers of which 30 live at once; no step takes time by the square of
 * their number. */
static void test_many(void)
{
    int64_t n = 200000, height, load = 0, live = 0;
    struct vbs_place_rect *rects;
    struct vbs_place_item *items;
    struct vbs_place_problem problem = make_long(n, &rects, &items);
    struct vbs_place_options options = {
        .struct_size = sizeof(struct vbs_place_options), .time_limit_s = -1, .step_limit = 10};
    struct vbs_place_result *result = NULL;
    int64_t *change = calloc((size_t)n + 40, sizeof *change);
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    problem.capacity = INT64_MAX;
    status = vbs_place_lowest(&ctx, &problem, &options, &result);
    for (int64_t i = 0; i < n; i++) {
        change[rects[i].lower] += rects[i].size;
        change[rects[i].upper] -= rects[i].size;
    }
    for (int64_t s = 0; s < n + 40; s++) {
        live += change[s];
        load = live > load ? live : load;
    }
    /* Checking all of them would take too long. */
    problem.n_items = 2000;
    ok(status == VBS_OK && result->load_bytes == load &&
           !place_fault(&problem, result->offsets, &height) && result->height_bytes < 2 * load,
       "%lld buffers: load %lld, height %lld", (long long)n, (long long)load,
       (long long)(result ? result->height_bytes : 0));
    vbs_place_free(result);
    free(change);
    free(rects);
    free(items);
}

/* The best height of these problems is proven: they are tried at this height, and a byte below. */
static void test_decides(void)
{
    static const struct vbs_place_options DECIDES = {
        .struct_size = sizeof(struct vbs_place_options), .decides = true};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    int n_wrong = 0, n_refuted = 0, n_found = 0;

    for (int i = 0; i < 60; i++) {
        struct place_schedule schedule = place_schedule_make(rng, 5, 4);
        struct vbs_place_result *best = NULL, *result = NULL;
        struct vbs_ctx ctx = {0};
        enum vbs_status status = vbs_place_lowest(&ctx, &schedule.problem, NULL, &best);
        int64_t height;

        if (status == VBS_OK && best->bound_bytes == best->height_bytes) {
            schedule.problem.capacity = best->height_bytes - i % 2;
            status = vbs_place(&ctx, &schedule.problem, &DECIDES, &result);
            if (i % 2)
                n_wrong += status != VBS_INFEASIBLE;
            else
                n_wrong += status != VBS_OK || result->height_bytes > best->height_bytes;
            n_wrong += place_fault(&schedule.problem, result->offsets, &height) != NULL;
            n_refuted +=
                status == VBS_INFEASIBLE && result->bound_bytes > schedule.problem.capacity;
            n_found += status == VBS_OK;
        }
        vbs_place_free(best);
        vbs_place_free(result);
        place_schedule_clear(&schedule);
    }
    gsl_rng_free(rng);
    ok(n_wrong == 0 && n_refuted > 20 && n_found > 20,
       "for capacity alone: %d placed in as little as there is, %d refuted a byte below", n_found,
       n_refuted);
}

int main(void)
{
    test_small();
    test_alignment();
    test_rigid_groups();
    test_proof();
    test_refusals();
    test_too_many();
    test_limits();
    test_many();
    test_decides();
    return done_testing();
}
