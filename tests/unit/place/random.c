/* On tiny random problems, the planner's heights are those of trying all offsets, and its bounds
 * are right. */
#include "reference/place/place_check.h"
#include "support/tap.h"
#include "support/trials.h"

#include "place/embed.h"
#include "place/internal.h"

#include <gsl/gsl_rng.h>
#include <stdlib.h>

#define SEED      5
#define MAX_ITEMS 24 /* of tight buffers */
#define FEW_ITEMS 6  /* of others */
#define MAX_RECTS 4
#define LIMIT     64 /* of heights */

enum kind { TIGHT, FULL, BUFFERS, ALIGNED, FIXED, STACKS, ALL, N_KINDS };

static const char *const KIND_NAMES[N_KINDS] = {
    "tight buffers", "buffers without slack", "buffers",           "aligned buffers",
    "fixed buffers", "rigid groups",          "all kinds together"};

struct problem {
    struct vbs_place_item items[MAX_ITEMS];
    struct vbs_place_rect rects[MAX_ITEMS * MAX_RECTS];
    struct vbs_place_problem problem;
};

static int64_t below(gsl_rng *rng, int64_t n)
{
    return (int64_t)gsl_rng_uniform_int(rng, (unsigned long)n);
}

/* Adds one rectangle, or a rigid group of some that follow each other in space, some with gaps. */
static void add_item(gsl_rng *rng, struct problem *to, bool rigid)
{
    struct vbs_place_item *item = &to->items[to->problem.n_items++];
    int64_t n = rigid ? 1 + below(rng, MAX_RECTS) : 1, offset = 0;

    *item = (struct vbs_place_item){.first_rect = to->problem.n_rects, .n_rects = n};
    for (int64_t r = 0; r < n; r++) {
        int64_t lower = below(rng, 8) - 3, size = below(rng, 4) + (r == 0);

        if (rigid)
            offset += below(rng, 8) == 0;
        to->rects[to->problem.n_rects++] =
            (struct vbs_place_rect){lower, lower + 1 + below(rng, 5), offset, size};
        offset += size;
    }
}

#define TIGHT_STEPS 7

/* Adds as many plain buffers as a load of some bytes allows: some of these problems need more than
 * their load. */
static void add_tight(gsl_rng *rng, struct problem *to)
{
    int64_t room[TIGHT_STEPS], load = 5 + below(rng, 3);

    for (int s = 0; s < TIGHT_STEPS; s++)
        room[s] = load;
    for (int tries = 0; tries < 200 && to->problem.n_items < MAX_ITEMS; tries++) {
        int64_t lower = below(rng, TIGHT_STEPS), upper = lower + 1 + below(rng, 4);
        int64_t size = 1 + below(rng, 3), least = load;

        if (upper > TIGHT_STEPS)
            continue;
        for (int64_t s = lower; s < upper; s++)
            least = room[s] < least ? room[s] : least;
        if (least < size)
            continue;
        for (int64_t s = lower; s < upper; s++)
            room[s] -= size;
        to->rects[to->problem.n_rects] = (struct vbs_place_rect){lower, upper, 0, size};
        to->items[to->problem.n_items++] =
            (struct vbs_place_item){.first_rect = to->problem.n_rects++, .n_rects = 1};
    }
}

#define FULL_STEPS 7

/* Adds plain buffers that fill a load at every step: some of these problems need more. */
static void add_full(gsl_rng *rng, struct problem *to)
{
    int64_t room[FULL_STEPS], load = 7 + below(rng, 5);

    for (int s = 0; s < FULL_STEPS; s++)
        room[s] = load;
    for (int64_t lower = 0; lower < FULL_STEPS && to->problem.n_items < MAX_ITEMS;) {
        int64_t upper = lower, size, most = 1 + below(rng, 5);

        if (room[lower] == 0) {
            lower++;
            continue;
        }
        size = 1 + below(rng, room[lower] < 5 ? room[lower] : 5);
        for (; upper < lower + most && upper < FULL_STEPS && room[upper] >= size; upper++)
            room[upper] -= size;
        to->rects[to->problem.n_rects] = (struct vbs_place_rect){lower, upper, 0, size};
        to->items[to->problem.n_items++] =
            (struct vbs_place_item){.first_rect = to->problem.n_rects++, .n_rects = 1};
    }
}

static void make_problem(gsl_rng *rng, enum kind kind, struct problem *to)
{
    int64_t n = 1 + below(rng, FEW_ITEMS);

    to->problem =
        (struct vbs_place_problem){.items = to->items, .rects = to->rects, .capacity = INT64_MAX};
    if (kind == TIGHT) {
        add_tight(rng, to);
        return;
    }
    if (kind == FULL) {
        add_full(rng, to);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        struct vbs_place_item *item = &to->items[i];

        add_item(rng, to, kind == STACKS || kind == ALL);
        if (kind == ALIGNED || kind == ALL)
            item->alignment = (int64_t)1 << below(rng, 3);
        if ((kind == FIXED || kind == ALL) && below(rng, 4) == 0) {
            int64_t align = item->alignment > 1 ? item->alignment : 1;

            item->fixed = true;
            item->fixed_offset = below(rng, 10) / align * align;
        }
    }
}

/* Gives whether fixed items are in each other's way, by trying only these. */
static bool is_contradiction(const struct vbs_place_problem *problem)
{
    struct vbs_place_item items[MAX_ITEMS];
    struct vbs_place_problem fixed = *problem;

    fixed.items = items;
    fixed.n_items = 0;
    for (int64_t i = 0; i < problem->n_items; i++)
        if (problem->items[i].fixed)
            items[fixed.n_items++] = problem->items[i];
    fixed.n_rects = 0; /* no load */
    return place_brute_height(&fixed, LIMIT) > LIMIT;
}

/* Gives whether the lowest placement has the height that trying finds, and is proven. */
static bool check_lowest(const struct vbs_place_problem *problem, int64_t want)
{
    static const struct vbs_place_options OPTIONS = {
        .struct_size = sizeof(struct vbs_place_options), .time_limit_s = -1};
    struct vbs_place_result *result = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_place_lowest(&ctx, problem, &OPTIONS, &result);
    int64_t height = -1;
    const char *fault = status ? ctx.detail : place_fault(problem, result->offsets, &height);
    bool good = !fault && height == want && result->height_bytes == want &&
                result->bound_bytes == want && result->load_bytes == place_load(problem) &&
                result->greedy_height_bytes >= want;

    if (!good)
        printf("# lowest: %s, height %lld, bound %lld, want %lld\n", fault ? fault : "valid",
               (long long)height, result ? (long long)result->bound_bytes : -1, (long long)want);
    vbs_place_free(result);
    return good;
}

/* Gives whether a placement of this capacity is found, and proven not to exist with a byte less. */
static bool check_capacity(const struct vbs_place_problem *problem, int64_t want)
{
    static const struct vbs_place_options OPTIONS = {
        .struct_size = sizeof(struct vbs_place_options), .time_limit_s = -1, .seed = 9};
    struct vbs_place_problem limited = *problem;
    struct vbs_place_result *result = NULL;
    struct vbs_ctx ctx = {0};
    int64_t height = -1;
    bool good;

    limited.capacity = want;
    good = vbs_place(&ctx, &limited, &OPTIONS, &result) == VBS_OK &&
           !place_fault(problem, result->offsets, &height) && height <= want;
    vbs_place_free(result);
    if (good && want > 0) {
        limited.capacity = want - 1;
        good = vbs_place(&ctx, &limited, &OPTIONS, &result) == VBS_INFEASIBLE &&
               !place_fault(problem, result->offsets, &height) && result->bound_bytes == want &&
               (height == want || (height > want && result->method == VBS_PLACE_GREEDY));
        vbs_place_free(result);
    }
    if (!good)
        printf("# capacity %lld: %s\n", (long long)want, ctx.detail);
    return good;
}

typedef enum vbs_status search_function(struct place_search *search,
                                        struct place_component *component, int64_t target,
                                        int64_t n_steps, enum place_answer *answer);
typedef bool suits(const struct place_search *search, const struct place_component *component);

/* Runs a search by itself: it refutes one unit below the least height of a component, and finds the
 * least height. Components are told apart by whether they determine the height. */
static bool check_search(const struct vbs_place_problem *problem, suits *suits_it,
                         search_function *ask, int64_t want)
{
    struct place_search search = {.end_s = HUGE_VAL};
    bool good = vbs_place_prepare(&search, problem) == VBS_OK, refuted = want == 0;

    for (int p = 0; good && p < search.n_components; p++) {
        struct place_component *component = &search.components[p];
        enum place_answer answer = PLACE_FOUND;
        int64_t below_it = (want - 1) / search.unit;

        if (!suits_it(&search, component)) {
            refuted = true;
            continue;
        }
        good = vbs_place_greedy(&search, component, 0) == VBS_OK;
        if (below_it < component->load) {
            refuted = true;
            continue;
        }
        component->height = INT64_MAX;
        good = good && ask(&search, component, below_it, INT64_MAX / 4, &answer) == VBS_OK &&
               answer != PLACE_UNKNOWN;
        refuted = refuted || answer == PLACE_REFUTED;
        if (good && answer == PLACE_REFUTED)
            good = ask(&search, component, want / search.unit, INT64_MAX / 4, &answer) == VBS_OK &&
                   answer == PLACE_FOUND && component->height * search.unit <= want;
    }
    for (int p = 0; p < search.n_components; p++) {
        vbs_place_orient_free(search.components[p].orient);
        vbs_place_stack_free(search.components[p].stack);
        vbs_place_embed_free(search.components[p].embed);
    }
    vbs_place_clear(&search);
    return good && refuted;
}

/* Gives the least height of a component by trying. */
static int64_t brute_height_of(const struct place_search *search,
                               const struct place_component *component)
{
    struct problem alone = {.problem = {.items = alone.items, .rects = alone.rects}};

    for (int i = component->first; i < component->first + component->n; i++) {
        alone.rects[alone.problem.n_rects] = (struct vbs_place_rect){
            search->items[i].lower, search->items[i].upper, 0, search->items[i].height};
        alone.items[alone.problem.n_items++] =
            (struct vbs_place_item){.first_rect = alone.problem.n_rects++, .n_rects = 1};
    }
    return place_brute_height(&alone.problem, LIMIT);
}

/* Gives whether a run of the search without slack finds the load, or refutes it, as trying does.
 * run: the first ones are complete, one for each way to choose sides. */
static bool check_run(struct place_search *search, struct place_component *component, unsigned run,
                      bool fits)
{
    enum place_answer answer;
    bool good = vbs_place_embed(search, component, component->load, 0, &answer) == VBS_OK;

    component->embed->n_runs = run;
    component->height = INT64_MAX;
    good = good &&
           vbs_place_embed(search, component, component->load, INT64_MAX / 4, &answer) == VBS_OK &&
           answer == (fits ? PLACE_FOUND : PLACE_REFUTED) &&
           (component->height == component->load) == fits;
    vbs_place_embed_free(component->embed);
    component->embed = NULL;
    return good;
}

/* Gives whether each kind of run of the search without slack agrees with trying, wherever it suits.
 */
static bool check_embed(const struct vbs_place_problem *problem, int *n_embedded)
{
    struct place_search search = {.end_s = HUGE_VAL};
    bool good = vbs_place_prepare(&search, problem) == VBS_OK;

    for (int p = 0; good && p < search.n_components; p++) {
        struct place_component *component = &search.components[p];
        bool fits;

        if (!vbs_place_embed_suits(&search, component))
            continue;
        fits = brute_height_of(&search, component) == component->load;
        for (unsigned run = 0; run < 4; run++)
            good = good && check_run(&search, component, run, fits);
        ++*n_embedded;
    }
    vbs_place_clear(&search);
    return good;
}

static void test_kind(gsl_rng *rng, enum kind kind, int n)
{
    int n_wrong = 0, n_done = 0, n_refused = 0, n_above_load = 0, n_embedded = 0;

    while (n_done < n) {
        struct problem made;
        const struct vbs_place_problem *problem = &made.problem;
        int64_t want;
        bool good;

        make_problem(rng, kind, &made);
        if (is_contradiction(problem)) {
            struct vbs_place_result *result;
            struct vbs_ctx ctx = {0};

            n_refused++;
            n_wrong += vbs_place(&ctx, problem, NULL, &result) != VBS_USAGE;
            continue;
        }
        want = place_brute_height(problem, LIMIT);
        good = check_lowest(problem, want) && check_capacity(problem, want) &&
               check_search(problem, vbs_place_stack_suits, vbs_place_stack, want) &&
               check_embed(problem, &n_embedded) &&
               check_search(problem, vbs_place_orient_suits, vbs_place_orient, want);
        if (!good)
            printf("# problem %d of %s: least height %lld\n", n_done, KIND_NAMES[kind],
                   (long long)want);
        n_wrong += !good;
        n_above_load += want > place_load(problem);
        n_done++;
    }
    ok(n_wrong == 0 && (kind != FULL || n_embedded >= n),
       "%d problems of %s (%d higher than their load, %d refused, %d components without slack)", n,
       KIND_NAMES[kind], n_above_load, n_refused, n_embedded);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

    gsl_rng_set(rng, SEED);
    test_kind(rng, TIGHT, trials_some(3000));
    test_kind(rng, FULL, trials_some(3000));
    test_kind(rng, BUFFERS, trials_some(500));
    test_kind(rng, ALIGNED, trials_some(1500));
    test_kind(rng, FIXED, trials_some(1500));
    test_kind(rng, STACKS, trials_some(1500));
    test_kind(rng, ALL, trials_some(1500));
    gsl_rng_free(rng);
    return done_testing();
}
