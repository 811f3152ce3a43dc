/*
 * Offset allocation: what is tried, in which order, until when.
 *
 * Every component (items that share steps) is placed by fixed orders first. Then, in rounds of
 * twice the steps each, the searches are asked for a height: first for the lowest that is not
 * refuted (or the capacity), then by bisection between that and the best, then for one unit below
 * the best. Refuted heights raise the bound, found ones lower the best; where both meet, the
 * component is done.
 */
#include "place/internal.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/options.h"

#include <stdlib.h>

#define FIRST_STEPS  4000 /* of each search in the first round, */
#define FIRST_PASSES 4    /* and as many steps as so many passes over the component take */
#define STACK_SHARE  4    /* as many steps as others: where it suits it is the best by far */
#define MAX_UNKNOWN  4    /* heights of a round that may remain open */
#define NEAR_BITS    11   /* bisection ends at this fraction of the load */

/* ---- searching ---- */

typedef enum vbs_status search(struct placing *placing, struct placing_component *component,
                               int64_t target, int64_t n_steps, enum placing_answer *answer);

/* The searches that suit a component, the most promising first; returns how many. */
static int searches_for(const struct placing *placing, const struct placing_component *component,
                        search *searches[4])
{
    bool orients = vbs_placing_orient_suits(placing, component);
    int n = 0;

    if (vbs_placing_stack_suits(placing, component))
        searches[n++] = vbs_placing_stack;
    else if (orients)
        searches[n++] = vbs_placing_orient;
    searches[n++] = vbs_placing_repair;
    if (orients)
        searches[n++] = vbs_placing_relax;
    if (orients && searches[0] != vbs_placing_orient)
        searches[n++] = vbs_placing_orient;
    return n;
}

/* Asks the searches in turn for a placement no higher than target, which is below the best. */
static enum vbs_status ask(struct placing *placing, struct placing_component *component,
                           int64_t target, int64_t n_steps, enum placing_answer *answer)
{
    search *searches[4];
    int n = searches_for(placing, component, searches);
    enum vbs_status status = VBS_OK;

    *answer = PLACING_UNKNOWN;
    for (int s = 0; s < n && status == VBS_OK && *answer == PLACING_UNKNOWN && !placing->over; s++)
        status =
            searches[s](placing, component, target,
                        searches[s] == vbs_placing_stack ? STACK_SHARE * n_steps : n_steps, answer);
    if (*answer == PLACING_REFUTED)
        component->low = target + 1;
    return status;
}

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* One round for a component that is to become as low as aim if it can: bisection, in which heights
 * that are not found count as too low for now, and refuted ones for good. */
static enum vbs_status improve(struct placing *placing, struct placing_component *component,
                               int64_t aim, int64_t n_steps, bool lowest)
{
    int64_t hope = higher(aim, component->low); /* the lowest height that is not given up */
    int64_t near = component->load >> NEAR_BITS, target = hope;
    bool aims = !lowest && aim >= component->low; /* what is above counts little */
    enum vbs_status status = VBS_OK;

    for (int unknown = 0; unknown < MAX_UNKNOWN && status == VBS_OK && !placing->over;) {
        enum placing_answer answer;

        status = ask(placing, component, target, n_steps, &answer);
        if (answer == PLACING_UNKNOWN) {
            unknown++;
            hope = target + 1;
            n_steps /= unknown > 1 ? 1 : aims ? 4 : 2;
        }
        hope = higher(hope, component->low);
        if (component->height <= higher(aim, component->low) || component->height - near <= hope)
            break;
        target = hope + (component->height - hope) / 2;
    }
    if (status == VBS_OK && !placing->over && component->height - 1 > component->low &&
        component->height > aim) {
        enum placing_answer answer;

        status = ask(placing, component, component->height - 1, n_steps, &answer);
    }
    return status;
}

/* Below the bound of another component nothing is won. */
static int64_t highest_low(const struct placing *placing)
{
    int64_t low = 0;

    for (int p = 0; p < placing->n_components; p++)
        if (placing->components[p].low > low)
            low = placing->components[p].low;
    return low;
}

static int64_t steps_of_passes(const struct placing *placing,
                               const struct placing_component *component)
{
    int64_t arcs =
        placing->first_arc[component->first + component->n] - placing->first_arc[component->first];

    return FIRST_STEPS + FIRST_PASSES * (component->n + arcs / 8);
}

/* Until no component need be lower. decides: nothing is sought that is lower than now and above the
 * capacity. */
static enum vbs_status search_all(struct placing *placing, int64_t capacity, bool lowest,
                                  bool decides)
{
    enum vbs_status status = VBS_OK;
    bool open = true;

    for (int64_t times = 1; open && !placing->over; times *= 2) {
        open = false;
        for (int p = 0; p < placing->n_components && status == VBS_OK && !placing->over; p++) {
            struct placing_component *component = &placing->components[p];
            int64_t aim = highest_low(placing),
                    n_steps = times * steps_of_passes(placing, component);
            enum placing_answer answer;

            if (decides && aim > capacity)
                return VBS_OK;
            if (!lowest && aim < capacity)
                aim = capacity;
            if (component->height <= aim || component->height <= component->low)
                continue;
            status = decides ? ask(placing, component, aim, n_steps, &answer)
                             : improve(placing, component, aim, n_steps, lowest);
            open = true;
        }
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

static enum vbs_status place_greedily(struct placing *placing, int64_t capacity, bool lowest)
{
    int64_t aim = highest_low(placing);

    if (!lowest && aim < capacity)
        aim = capacity;
    for (int p = 0; p < placing->n_components; p++) {
        enum vbs_status status = vbs_placing_greedy(placing, &placing->components[p], aim);

        if (status != VBS_OK)
            return status;
        if (vbs_cancelled(placing->ctx))
            return vbs_fail(placing->ctx, VBS_INTERRUPTED, "interrupted");
    }
    return VBS_OK;
}

/* ---- results ---- */

static void write_offsets(const struct placing *placing, const struct vbs_place_problem *problem,
                          int64_t *offsets)
{
    for (int64_t i = 0; i < problem->n_items; i++)
        offsets[i] = problem->items[i].fixed ? problem->items[i].fixed_offset : 0;
    for (int p = 0; p < placing->n_components; p++) {
        const struct placing_component *component = &placing->components[p];

        for (int i = 0; i < component->n; i++)
            offsets[placing->items[component->first + i].origin] =
                component->offsets[i] * placing->unit;
    }
}

/* Where the highest item of all ends so far. */
static int64_t height_of(const struct placing *placing)
{
    int64_t height = 0;

    for (int p = 0; p < placing->n_components; p++)
        if (placing->components[p].height > height)
            height = placing->components[p].height;
    return height;
}

static enum vbs_status make_result(struct placing *placing, const struct vbs_place_problem *problem,
                                   struct vbs_place_result **result)
{
    struct vbs_place_result *made = calloc(1, sizeof *made);

    if (made)
        made->offsets = calloc((size_t)problem->n_items + 1, sizeof *made->offsets);
    if (!made || !made->offsets) {
        vbs_place_free(made);
        return vbs_no_memory(placing->ctx);
    }
    made->n_items = problem->n_items;
    made->bound_bytes = highest_low(placing) * placing->unit;
    made->n_steps = placing->n_steps;
    made->seconds = vbs_clock_s() - placing->start_s;
    made->interrupted = vbs_cancelled(placing->ctx);
    for (int p = 0; p < placing->n_components; p++) {
        const struct placing_component *component = &placing->components[p];

        if (component->load * placing->unit > made->load_bytes)
            made->load_bytes = component->load * placing->unit;
        if (component->height * placing->unit > made->height_bytes)
            made->height_bytes = component->height * placing->unit;
        if (component->greedy_height * placing->unit > made->greedy_height_bytes)
            made->greedy_height_bytes = component->greedy_height * placing->unit;
        if (component->method > made->method)
            made->method = component->method;
    }
    write_offsets(placing, problem, made->offsets);
    *result = made;
    return VBS_OK;
}

static enum vbs_status judge(struct vbs_ctx *ctx, const struct vbs_place_problem *problem,
                             const struct vbs_place_result *result)
{
    if (result->height_bytes <= problem->capacity)
        return VBS_OK;
    if (result->bound_bytes > problem->capacity)
        return vbs_fail(ctx, VBS_INFEASIBLE,
                        "nothing fits in %lld bytes: the load is %lld bytes, no placement is lower "
                        "than %lld; the best one found takes %lld",
                        (long long)problem->capacity, (long long)result->load_bytes,
                        (long long)result->bound_bytes, (long long)result->height_bytes);
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "no placement in %lld bytes was found: the load is %lld bytes, the best one "
                    "found takes %lld",
                    (long long)problem->capacity, (long long)result->load_bytes,
                    (long long)result->height_bytes);
}

/* The searches of all components too. */
static void clear(struct placing *placing)
{
    for (int p = 0; p < placing->n_components; p++) {
        vbs_placing_orient_free(placing->components[p].orient);
        vbs_placing_stack_free(placing->components[p].stack);
    }
    vbs_placing_clear(placing);
}

static enum vbs_status place(struct vbs_ctx *ctx, const struct vbs_place_problem *problem,
                             const struct vbs_place_options *options, bool lowest,
                             struct vbs_place_result **result)
{
    struct placing placing = {.ctx = ctx};
    struct vbs_place_options own;
    bool decides;
    enum vbs_status status = vbs_options_read(ctx, "vbs_place_options", options, &own, sizeof own);

    if (status != VBS_OK)
        return status;
    decides = own.decides && !lowest;
    vbs_placing_set_limits(&placing, &own);
    if ((status = vbs_placing_prepare(&placing, problem)) == VBS_OK) {
        int64_t capacity = problem->capacity / placing.unit;

        if ((status = place_greedily(&placing, capacity, lowest)) == VBS_OK &&
            (status = search_all(&placing, capacity, lowest, decides)) == VBS_OK)
            status = vbs_cancelled(ctx) && height_of(&placing) > capacity
                         ? vbs_fail(ctx, VBS_INTERRUPTED, "interrupted")
                         : make_result(&placing, problem, result);
    }
    clear(&placing);
    return status == VBS_OK ? judge(ctx, problem, *result) : status;
}

enum vbs_status vbs_place(struct vbs_ctx *ctx, const struct vbs_place_problem *problem,
                          const struct vbs_place_options *options, struct vbs_place_result **result)
{
    return place(ctx, problem, options, false, result);
}

enum vbs_status vbs_place_lowest(struct vbs_ctx *ctx, const struct vbs_place_problem *problem,
                                 const struct vbs_place_options *options,
                                 struct vbs_place_result **result)
{
    return place(ctx, problem, options, true, result);
}

void vbs_place_free(struct vbs_place_result *result)
{
    if (!result)
        return;
    free(result->offsets);
    free(result);
}
