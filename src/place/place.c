/*
 * Offset allocation: which searches are tried, in which order and for how long.
 *
 * Every component (items that share steps) is placed by fixed orders first. Then come rounds, each
 * with twice the steps of the one before. In a round the searches try one height after the other:
 * first the lowest that is not refuted (or the capacity), then by bisection between this one and
 * the best, then one unit below the best. Refuted heights raise the bound, and placements that are
 * found lower the best; where both meet, the component is done.
 */
#include "place/internal.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/options.h"

#include <stdlib.h>

#define FIRST_STEPS  4000 /* steps of each search in the first round, */
#define FIRST_PASSES 4    /* plus the steps of so many passes over the component */
/* Factors of the steps of the search from the bottom up, and of that without slack: where they
 * suit, they are the best by far. Steps of the latter are short; where the capacity is the load,
 * which it alone can reach then, it has most of the time. */
#define STACK_SHARE  4
#define EMBED_SHARE  64
#define EMBED_MOST   8192
#define MAX_SEARCHES 5
#define MAX_UNKNOWN  4  /* heights of a round that may remain undecided */
#define NEAR_BITS    11 /* bisection ends at the load / 2^NEAR_BITS */

/* ---- searching ---- */

typedef enum vbs_status search_function(struct place_search *search,
                                        struct place_component *component, int64_t target,
                                        int64_t n_steps, enum place_answer *answer);

/* Lists the searches that suit a component, the most promising first; returns their number. */
static int searches_for(const struct place_search *search, const struct place_component *component,
                        search_function *searches[MAX_SEARCHES])
{
    bool orients = vbs_place_orient_suits(search, component);
    int n = 0;

    if (vbs_place_embed_suits(search, component))
        searches[n++] = vbs_place_embed;
    if (vbs_place_stack_suits(search, component))
        searches[n++] = vbs_place_stack;
    else if (orients)
        searches[n++] = vbs_place_orient;
    searches[n++] = vbs_place_repair;
    if (orients)
        searches[n++] = vbs_place_relax;
    if (orients && vbs_place_stack_suits(search, component))
        searches[n++] = vbs_place_orient;
    return n;
}

/* Gives the factor of the steps of one of the searches. */
static int64_t share_of(const struct place_search *search, search_function *of)
{
    if (of == vbs_place_embed)
        return search->lowest ? EMBED_SHARE : EMBED_MOST;
    return of == vbs_place_stack ? STACK_SHARE : 1;
}

/* Runs the searches in turn until one decides whether there is a placement no higher than target,
 * which is below the best. */
static enum vbs_status ask(struct place_search *search, struct place_component *component,
                           int64_t target, int64_t n_steps, enum place_answer *answer)
{
    search_function *searches[MAX_SEARCHES];
    int n = searches_for(search, component, searches);
    enum vbs_status status = VBS_OK;

    *answer = PLACE_UNKNOWN;
    for (int s = 0; s < n && status == VBS_OK && *answer == PLACE_UNKNOWN && !search->over; s++)
        status =
            searches[s](search, component, target, share_of(search, searches[s]) * n_steps, answer);
    if (*answer == PLACE_REFUTED)
        component->low = target + 1;
    return status;
}

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Runs one round for a component, whose height is to reach aim if possible. In the bisection,
 * heights at which no placement is found count as too low for this round, and refuted ones for
 * good. */
static enum vbs_status improve(struct place_search *search, struct place_component *component,
                               int64_t aim, int64_t n_steps, bool lowest)
{
    int64_t hope = higher(aim, component->low); /* the lowest height that is not given up in this
                                                   round */
    int64_t near = component->load >> NEAR_BITS, target = hope;
    bool aims = !lowest && aim >= component->low; /* heights above aim are of little use */
    enum vbs_status status = VBS_OK;

    for (int unknown = 0; unknown < MAX_UNKNOWN && status == VBS_OK && !search->over;) {
        enum place_answer answer;

        status = ask(search, component, target, n_steps, &answer);
        if (answer == PLACE_UNKNOWN) {
            unknown++;
            hope = target + 1;
            n_steps /= unknown > 1 ? 1 : aims ? 4 : 2;
        }
        hope = higher(hope, component->low);
        if (component->height <= higher(aim, component->low) || component->height - near <= hope)
            break;
        target = hope + (component->height - hope) / 2;
    }
    if (status == VBS_OK && !search->over && component->height - 1 > component->low &&
        component->height > aim) {
        enum place_answer answer;

        status = ask(search, component, component->height - 1, n_steps, &answer);
    }
    return status;
}

/* Gives the highest of the components' bounds: the whole cannot become lower. */
static int64_t highest_low(const struct place_search *search)
{
    int64_t low = 0;

    for (int p = 0; p < search->n_components; p++)
        if (search->components[p].low > low)
            low = search->components[p].low;
    return low;
}

static int64_t steps_of_passes(const struct place_search *search,
                               const struct place_component *component)
{
    int64_t arcs =
        search->first_arc[component->first + component->n] - search->first_arc[component->first];

    return FIRST_STEPS + FIRST_PASSES * (component->n + arcs / 8);
}

/* Searches until no component needs to be lower. decides: only whether a placement fits the
 * capacity is searched for, and no height between the capacity and the present one. */
static enum vbs_status search_all(struct place_search *search, int64_t capacity, bool lowest,
                                  bool decides)
{
    bool open = lowest || highest_low(search) <= capacity; /* the load may refute the capacity */

    for (int64_t times = 1; open && !search->over; times *= 2) {
        open = false;
        for (int p = 0; p < search->n_components && !search->over; p++) {
            struct place_component *component = &search->components[p];
            int64_t aim = highest_low(search), n_steps = times * steps_of_passes(search, component);
            enum place_answer answer;

            if (decides && aim > capacity)
                return VBS_OK;
            if (!lowest && aim < capacity)
                aim = capacity;
            if (component->height <= aim || component->height <= component->low)
                continue;
            VBS_TRY(decides ? ask(search, component, aim, n_steps, &answer)
                            : improve(search, component, aim, n_steps, lowest));
            open = true;
        }
    }
    return VBS_OK;
}

/* Gives every component its first offsets. An interruption is a failure only where components are
 * left without any. */
static enum vbs_status place_greedily(struct place_search *search, int64_t capacity, bool lowest)
{
    int64_t aim = highest_low(search);

    if (!lowest && aim < capacity)
        aim = capacity;
    for (int p = 0; p < search->n_components; p++) {
        VBS_TRY(vbs_place_greedy(search, &search->components[p], aim));
        if (p + 1 < search->n_components && vbs_cancelled(search->ctx))
            return vbs_fail(search->ctx, VBS_INTERRUPTED, "interrupted");
    }
    return VBS_OK;
}

/* ---- results ---- */

static void write_offsets(const struct place_search *search,
                          const struct vbs_place_problem *problem, int64_t *offsets)
{
    for (int64_t i = 0; i < problem->n_items; i++)
        offsets[i] = problem->items[i].fixed ? problem->items[i].fixed_offset : 0;
    for (int p = 0; p < search->n_components; p++) {
        const struct place_component *component = &search->components[p];

        for (int i = 0; i < component->n; i++)
            offsets[search->items[component->first + i].origin] =
                component->offsets[i] * search->unit;
    }
}

/* Gives the height of the whole so far. */
static int64_t height_of(const struct place_search *search)
{
    int64_t height = 0;

    for (int p = 0; p < search->n_components; p++)
        if (search->components[p].height > height)
            height = search->components[p].height;
    return height;
}

static enum vbs_status make_result(struct place_search *search,
                                   const struct vbs_place_problem *problem,
                                   struct vbs_place_result **result)
{
    struct vbs_place_result *made = calloc(1, sizeof *made);

    if (made)
        made->offsets = calloc((size_t)problem->n_items + 1, sizeof *made->offsets);
    if (!made || !made->offsets) {
        vbs_place_free(made);
        return vbs_no_memory(search->ctx);
    }
    made->n_items = problem->n_items;
    made->bound_bytes = highest_low(search) * search->unit;
    made->n_steps = search->n_steps;
    made->seconds = vbs_clock_s() - search->start_s;
    made->interrupted = vbs_cancelled(search->ctx);
    for (int p = 0; p < search->n_components; p++) {
        const struct place_component *component = &search->components[p];

        if (component->load * search->unit > made->load_bytes)
            made->load_bytes = component->load * search->unit;
        if (component->height * search->unit > made->height_bytes)
            made->height_bytes = component->height * search->unit;
        if (component->greedy_height * search->unit > made->greedy_height_bytes)
            made->greedy_height_bytes = component->greedy_height * search->unit;
        if (component->method > made->method)
            made->method = component->method;
    }
    write_offsets(search, problem, made->offsets);
    *result = made;
    return VBS_OK;
}

static enum vbs_status judge_result(struct vbs_ctx *ctx, const struct vbs_place_problem *problem,
                                    const struct vbs_place_result *result)
{
    long long capacity = (long long)problem->capacity, load = (long long)result->load_bytes;
    const char *plural = capacity == 1 ? "" : "s", *load_plural = load == 1 ? "" : "s";

    if (result->height_bytes <= problem->capacity)
        return VBS_OK;
    if (result->bound_bytes > problem->capacity)
        return vbs_fail(ctx, VBS_INFEASIBLE,
                        "nothing fits in %lld byte%s: the load is %lld byte%s, no placement is "
                        "lower than %lld; the best one found takes %lld",
                        capacity, plural, load, load_plural, (long long)result->bound_bytes,
                        (long long)result->height_bytes);
    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "no placement in %lld byte%s was found: the load is %lld byte%s, the best one "
                    "found takes %lld",
                    capacity, plural, load, load_plural, (long long)result->height_bytes);
}

/* Frees the search, including that of all components. */
static void clear(struct place_search *search)
{
    for (int p = 0; p < search->n_components; p++) {
        vbs_place_orient_free(search->components[p].orient);
        vbs_place_stack_free(search->components[p].stack);
        vbs_place_embed_free(search->components[p].embed);
    }
    vbs_place_clear(search);
}

static enum vbs_status place_items(struct vbs_ctx *ctx, const struct vbs_place_problem *problem,
                                   const struct vbs_place_options *options, bool lowest,
                                   struct vbs_place_result **result)
{
    struct place_search search = {.ctx = ctx, .lowest = lowest};
    struct vbs_place_options own;
    bool decides;
    enum vbs_status status = vbs_options_read(ctx, "vbs_place_options", options, &own, sizeof own);

    if (status != VBS_OK)
        return status;
    decides = own.decides && !lowest;
    vbs_place_set_limits(&search, &own);
    if ((status = vbs_place_prepare(&search, problem)) == VBS_OK) {
        int64_t capacity = problem->capacity / search.unit;

        if ((status = place_greedily(&search, capacity, lowest)) == VBS_OK &&
            (status = search_all(&search, capacity, lowest, decides)) == VBS_OK)
            status = vbs_cancelled(ctx) && height_of(&search) > capacity
                         ? vbs_fail(ctx, VBS_INTERRUPTED, "interrupted")
                         : make_result(&search, problem, result);
    }
    clear(&search);
    return status == VBS_OK ? judge_result(ctx, problem, *result) : status;
}

enum vbs_status vbs_place(struct vbs_ctx *ctx, const struct vbs_place_problem *problem,
                          const struct vbs_place_options *options, struct vbs_place_result **result)
{
    return place_items(ctx, problem, options, false, result);
}

enum vbs_status vbs_place_lowest(struct vbs_ctx *ctx, const struct vbs_place_problem *problem,
                                 const struct vbs_place_options *options,
                                 struct vbs_place_result **result)
{
    return place_items(ctx, problem, options, true, result);
}

void vbs_place_free(struct vbs_place_result *result)
{
    if (!result)
        return;
    free(result->offsets);
    free(result);
}
