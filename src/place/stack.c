/*
 * Search from the bottom up, after Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
 * Hardware-Accelerated Machine Learning", ASPLOS 2023.
 *
 * In a placement whose items are pushed down as far as they go, each item lies as low as the items
 * before it in the order of offsets (and of a rank among equals) allow. So a search that places
 * items in this order, each at its least offset, misses no placement. It gives up where a section
 * has no room for the items that are left in it: the next item begins no lower than the last one
 * placed, than the end of the highest one in the section, and than the least offset of the items
 * left in the section. It never places an item where another would fit below it. Where no item that
 * is left crosses a boundary of sections, both sides are solved apart. States that failed are
 * remembered, which is not in the paper: the same items with the same least offsets fail again.
 *
 * Ranks decide which item is tried first. No rank is the best for all problems, so several are
 * tried in turns, each time with more steps.
 */
#include "place/internal.h"

#include "base/fail.h"
#include "base/grow.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS 2048 /* the search recurs once for each item */
#define MAX_MEMO  18   /* log2 of the slots of the memo */
#define MIN_MEMO  10

/* A value before it was changed; where at is null, the item that was placed. */
struct change {
    int64_t *at, before;
};

struct keyed {
    double keys[3];
    int item;
};

/* An item that may come next. */
struct choice {
    int64_t offset;
    int rank, item;
};

struct place_stack {
    struct place_search *search;
    const struct place_component *component;
    struct vbs_arena arena;
    struct place_sections sections;
    int64_t *most;       /* [n], the largest sum of a section in which the item lives */
    int *rank;           /* [n] */
    struct keyed *keyed; /* [n], by rank */
    bool *placed;        /* [n] */
    int64_t *offsets;    /* [n], of placed items */
    int64_t *least;      /* [n], least offsets of the items left */
    int64_t *floor;      /* [sections], the least offset of the next item */
    int64_t *total;      /* [sections], bytes of the items left */
    int *crossing;       /* [sections], items left that live in this and the next section */
    bool *touched;       /* [sections] */
    int memo_bits;
    uint64_t *memo; /* [1 << memo_bits], hashes of states that failed */
    int64_t target, last_step;
    unsigned n_rankings; /* rankings tried so far */

    struct change *changes;
    size_t n_changes;
    int64_t max_changes;
    int *lists; /* items of the jobs under way */
    size_t n_lists;
    int64_t max_lists;
    struct choice *choices;
    size_t n_choices;
    int64_t max_choices;
    bool no_memory;
};

/* Items to place, in sections [lower, upper). */
struct job {
    size_t first; /* index in lists */
    int n, lower, upper;
};

bool vbs_place_stack_suits(const struct place_search *search,
                           const struct place_component *component)
{
    if (component->n > MAX_ITEMS)
        return false;
    for (int i = component->first; i < component->first + component->n; i++)
        if (search->items[i].n_rects > 1 || search->items[i].fixed >= 0 ||
            search->rects[search->items[i].first_rect].offset > 0)
            return false;
    return true;
}

/* ---- arrays that grow ---- */

/* Gives whether `needed` items fit, after growing the array; else memory is out, which the whole
 * search reports at its end. */
static bool grow(struct place_stack *stack, void *array, int64_t *capacity, size_t needed,
                 size_t item_size)
{
    if ((int64_t)needed > *capacity &&
        vbs_grow(stack->search->ctx, array, capacity, (int64_t)needed, item_size) != VBS_OK)
        stack->no_memory = true;
    return (int64_t)needed <= *capacity;
}

#define GROW(stack, array, count)                                                                  \
    grow(stack, &(stack)->array, &(stack)->max_##array, (stack)->n_##array + (count),              \
         sizeof *(stack)->array)

/* ---- changes that can be undone ---- */

static bool set(struct place_stack *stack, int64_t *at, int64_t value)
{
    if (!GROW(stack, changes, 1))
        return false;
    stack->changes[stack->n_changes++] = (struct change){at, *at};
    *at = value;
    return true;
}

static int64_t height_of(const struct place_stack *stack, int i)
{
    return stack->search->items[stack->component->first + i].height;
}

static void leave(struct place_stack *stack, int i, bool placed)
{
    int64_t size = placed ? -height_of(stack, i) : height_of(stack, i);

    stack->placed[i] = placed;
    for (int s = stack->sections.lower[i]; s < stack->sections.upper[i]; s++)
        stack->total[s] += size;
    for (int s = stack->sections.lower[i]; s + 1 < stack->sections.upper[i]; s++)
        stack->crossing[s] += placed ? -1 : 1;
}

static void undo(struct place_stack *stack, size_t n_changes)
{
    while (stack->n_changes > n_changes) {
        struct change *change = &stack->changes[--stack->n_changes];

        if (change->at)
            *change->at = change->before;
        else
            leave(stack, (int)change->before, false);
    }
}

/* ---- an offset for one item ---- */

/* Raises the least offsets of the items that share a step with item i above top, and marks the
 * sections in which they live. False: one of them does not fit any more. */
static bool raise_others(struct place_stack *stack, int i, int64_t top)
{
    const struct place_search *search = stack->search;
    int first = stack->component->first;

    for (int64_t a = search->first_arc[first + i]; a < search->first_arc[first + i + 1]; a++) {
        int j = search->arcs[a].other - first;

        if (stack->placed[j] || stack->least[j] >= top)
            continue;
        if (!set(stack, &stack->least[j], vbs_place_align(top, search->items[first + j].align)))
            return false;
        if (stack->least[j] + height_of(stack, j) > stack->target)
            return false;
        for (int s = stack->sections.lower[j]; s < stack->sections.upper[j]; s++)
            stack->touched[s] = true;
    }
    return true;
}

/* Raises the floor of a section to the least offset of the items left there. False: the section
 * cannot hold them any more. */
static bool raise_floor(struct place_stack *stack, int s)
{
    const struct place_sections *sections = &stack->sections;
    int64_t least = INT64_MAX;

    for (int64_t m = sections->first[s]; m < sections->first[s + 1]; m++) {
        int i = sections->members[m].item;

        if (!stack->placed[i] && stack->least[i] < least)
            least = stack->least[i];
    }
    if (least <= stack->floor[s])
        return true;
    return least + stack->total[s] <= stack->target && set(stack, &stack->floor[s], least);
}

/* Places an item at its least offset. False: a section or another item has no room any more, or
 * memory is out. */
static bool put(struct place_stack *stack, const struct job *job, int i)
{
    int64_t offset = stack->least[i], top = offset + height_of(stack, i);

    if (!GROW(stack, changes, 1))
        return false;
    stack->changes[stack->n_changes++] = (struct change){NULL, i};
    leave(stack, i, true);
    stack->offsets[i] = offset;
    memset(stack->touched + job->lower, 0,
           (size_t)(job->upper - job->lower) * sizeof *stack->touched);
    for (int s = stack->sections.lower[i]; s < stack->sections.upper[i]; s++)
        if (!set(stack, &stack->floor[s], top))
            return false;
    if (!raise_others(stack, i, top))
        return false;
    for (int s = job->lower; s < job->upper; s++) {
        if (stack->total[s] == 0)
            continue;
        if (stack->touched[s] && !raise_floor(stack, s))
            return false;
        if ((stack->floor[s] > offset ? stack->floor[s] : offset) + stack->total[s] > stack->target)
            return false;
    }
    return true;
}

/* ---- states ---- */

/* Gives whether an item may come next, behind one of that offset and rank. If not, it may only once
 * its least offset is raised. */
static bool is_open(const struct place_stack *stack, int i, int64_t offset, int rank)
{
    return stack->least[i] > offset || (stack->least[i] == offset && stack->rank[i] >= rank);
}

/* Hashes all data that decide how a job ends. States with the same hash are taken for equal; in one
 * of 2^46 looks at the memo they are not. */
static uint64_t hash_of(const struct place_stack *stack, const struct job *job, int64_t offset,
                        int rank)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;

    for (int k = 0; k < job->n; k++) {
        int i = stack->lists[job->first + (size_t)k];
        uint64_t least = is_open(stack, i, offset, rank) ? (uint64_t)stack->least[i] + 1 : 0;

        hash += vbs_spread(vbs_spread((uint64_t)i + 1) ^ least);
    }
    return vbs_spread(hash);
}

static int by_offset(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Lists the items that may come next, the best first. An item below which another one would fit is
 * left out. */
static bool list_choices(struct place_stack *stack, const struct job *job, int64_t offset, int rank)
{
    const int *items = stack->lists + job->first;
    size_t first = stack->n_choices;
    int64_t lid = INT64_MAX;

    if (!GROW(stack, choices, (size_t)job->n))
        return false;
    for (int k = 0; k < job->n; k++)
        if (stack->least[items[k]] + height_of(stack, items[k]) < lid)
            lid = stack->least[items[k]] + height_of(stack, items[k]);
    for (int k = 0; k < job->n; k++)
        if (stack->least[items[k]] < lid && is_open(stack, items[k], offset, rank))
            stack->choices[stack->n_choices++] =
                (struct choice){stack->least[items[k]], stack->rank[items[k]], items[k]};
    qsort(stack->choices + first, stack->n_choices - first, sizeof *stack->choices, by_offset);
    return true;
}

static enum place_answer solve(struct place_stack *stack, const struct job *job, int64_t offset,
                               int rank);

/* Solves the rest of a job, in pieces that share no section. The items of a job are in the order of
 * their first sections. */
static enum place_answer solve_pieces(struct place_stack *stack, const struct job *job,
                                      int64_t offset, int rank)
{
    enum place_answer answer = PLACE_FOUND;
    size_t n_lists = stack->n_lists;
    struct job piece = {.lower = job->lower};
    int k = 0;

    for (int s = job->lower; s < job->upper && answer == PLACE_FOUND; s++) {
        if (s + 1 < job->upper && stack->crossing[s] > 0)
            continue;
        if (!GROW(stack, lists, (size_t)job->n))
            return PLACE_UNKNOWN;
        piece.first = stack->n_lists;
        piece.upper = s + 1;
        for (; k < job->n; k++) {
            int i = stack->lists[job->first + (size_t)k];

            if (stack->sections.lower[i] >= piece.upper)
                break;
            if (!stack->placed[i])
                stack->lists[stack->n_lists++] = i;
        }
        piece.n = (int)(stack->n_lists - piece.first);
        if (piece.n > 0)
            answer = solve(stack, &piece, offset, rank);
        stack->n_lists = n_lists;
        piece.lower = s + 1;
    }
    return answer;
}

static enum place_answer try_choice(struct place_stack *stack, const struct job *job, int i)
{
    enum place_answer answer = PLACE_REFUTED;
    size_t n_changes = stack->n_changes;

    if (put(stack, job, i))
        answer = solve_pieces(stack, job, stack->least[i], stack->rank[i]);
    if (stack->no_memory)
        answer = PLACE_UNKNOWN;
    if (answer != PLACE_FOUND)
        undo(stack, n_changes);
    return answer;
}

/* Solves a job. On PLACE_FOUND all its items are placed; else nothing has changed. */
static enum place_answer solve(struct place_stack *stack, const struct job *job, int64_t offset,
                               int rank)
{
    size_t first = stack->n_choices;
    uint64_t hash = hash_of(stack, job, offset, rank);
    uint64_t *known = &stack->memo[hash >> (64 - stack->memo_bits)];
    enum place_answer answer = PLACE_REFUTED;

    if (*known == hash)
        return PLACE_REFUTED;
    if (!vbs_place_step(stack->search, 2 + job->n / 8) ||
        stack->search->n_steps > stack->last_step || !list_choices(stack, job, offset, rank))
        return PLACE_UNKNOWN;
    for (size_t c = first; c < stack->n_choices && answer == PLACE_REFUTED; c++)
        answer = try_choice(stack, job, stack->choices[c].item);
    stack->n_choices = first;
    if (answer == PLACE_REFUTED)
        *known = hash;
    return answer;
}

/* ---- ranks ---- */

/* Keys in order of weight: T the largest sum of a section of the item, C the number of its
 * sections, W its steps, A its area, S its size. */
static const char *const RANKS[] = {"TCA", "TWA", "TAW", "WAT", "CTA", "CAT", "ATW", "SWT"};

#define N_RANKS ((int)(sizeof RANKS / sizeof RANKS[0]))

static double key_of(const struct place_stack *stack, int i, char key)
{
    const struct place_item *item = &stack->search->items[stack->component->first + i];

    switch (key) {
    case 'T':
        return (double)stack->most[i];
    case 'C':
        return stack->sections.upper[i] - stack->sections.lower[i];
    case 'W':
        return item->life;
    case 'A':
        return item->area;
    default:
        return (double)item->height;
    }
}

static int by_keys(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;

    for (int k = 0; k < 3; k++)
        if (x->keys[k] != y->keys[k])
            return x->keys[k] > y->keys[k] ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

/* Sets the ranks. noise: how far the keys vary, or 0. */
static void set_ranks(struct place_stack *stack, const char *keys, double noise)
{
    int n = stack->component->n;

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            double random = noise > 0 ? (double)vbs_place_random(stack->search, 1024) / 1024 : 0;

            stack->keyed[i].keys[k] = key_of(stack, i, keys[k]) * (1 + noise * random);
        }
        stack->keyed[i].item = i;
    }
    qsort(stack->keyed, (size_t)n, sizeof *stack->keyed, by_keys);
    for (int k = 0; k < n; k++)
        stack->rank[stack->keyed[k].item] = k;
}

/* ---- the search as a whole ---- */

static enum vbs_status allocate(struct place_stack *stack)
{
    struct vbs_arena *arena = &stack->arena;
    size_t n = (size_t)stack->component->n, n_sections;

    if (vbs_place_sections(stack->search, stack->component, arena, &stack->sections) != VBS_OK)
        return VBS_NO_MEMORY;
    n_sections = (size_t)stack->sections.n;
    stack->most = vbs_arena_alloc(arena, n, sizeof *stack->most);
    stack->rank = vbs_arena_alloc(arena, n, sizeof *stack->rank);
    stack->keyed = vbs_arena_alloc(arena, n, sizeof *stack->keyed);
    stack->placed = vbs_arena_alloc(arena, n, sizeof *stack->placed);
    stack->offsets = vbs_arena_alloc(arena, n, sizeof *stack->offsets);
    stack->least = vbs_arena_alloc(arena, n, sizeof *stack->least);
    stack->floor = vbs_arena_alloc(arena, n_sections, sizeof *stack->floor);
    stack->total = vbs_arena_alloc(arena, n_sections, sizeof *stack->total);
    stack->crossing = vbs_arena_alloc(arena, n_sections, sizeof *stack->crossing);
    stack->touched = vbs_arena_alloc(arena, n_sections, sizeof *stack->touched);
    for (stack->memo_bits = MIN_MEMO;
         stack->memo_bits < MAX_MEMO && n >> (stack->memo_bits - MIN_MEMO);)
        stack->memo_bits++;
    stack->memo = vbs_arena_alloc(arena, (size_t)1 << stack->memo_bits, sizeof *stack->memo);
    return stack->most && stack->rank && stack->keyed && stack->placed && stack->offsets &&
                   stack->least && stack->floor && stack->total && stack->crossing &&
                   stack->touched && stack->memo
               ? VBS_OK
               : VBS_NO_MEMORY;
}

static enum vbs_status start_search(struct place_search *search, struct place_component *component)
{
    struct place_stack *stack = calloc(1, sizeof *stack);

    if (!stack)
        return vbs_no_memory(search->ctx);
    component->stack = stack;
    stack->search = search;
    stack->component = component;
    if (allocate(stack) != VBS_OK) {
        vbs_place_stack_free(stack);
        component->stack = NULL;
        return vbs_no_memory(search->ctx);
    }
    for (int i = 0; i < component->n; i++)
        leave(stack, i, false);
    for (int i = 0; i < component->n; i++)
        for (int s = stack->sections.lower[i]; s < stack->sections.upper[i]; s++)
            if (stack->total[s] > stack->most[i])
                stack->most[i] = stack->total[s];
    return VBS_OK;
}

void vbs_place_stack_free(struct place_stack *stack)
{
    if (!stack)
        return;
    free(stack->changes);
    free(stack->lists);
    free(stack->choices);
    vbs_arena_clear(&stack->arena);
    free(stack);
}

/* Makes the offsets that were found the best of the component. */
static void record_offsets(struct place_stack *stack, struct place_component *component)
{
    int64_t height = 0;

    for (int i = 0; i < component->n; i++)
        if (stack->offsets[i] + height_of(stack, i) > height)
            height = stack->offsets[i] + height_of(stack, i);
    vbs_place_record(component, stack->offsets, height, VBS_PLACE_SEARCH);
}

/* Searches with the present ranks, beginning with no item placed. */
static enum place_answer search_ranked(struct place_stack *stack, struct place_component *component)
{
    struct job job = {.n = component->n, .upper = stack->sections.n};
    enum place_answer answer;

    memset(stack->memo, 0, sizeof *stack->memo << stack->memo_bits);
    stack->n_lists = stack->n_choices = 0;
    if (!GROW(stack, lists, (size_t)component->n))
        return PLACE_UNKNOWN;
    for (int i = 0; i < component->n; i++)
        stack->lists[stack->n_lists++] = i;
    answer = solve_pieces(stack, &job, 0, 0);
    if (answer == PLACE_FOUND)
        record_offsets(stack, component);
    undo(stack, 0);
    return answer;
}

/* Gives the steps for one ranking: enough to place all items twice. */
static int64_t least_steps(const struct place_component *component)
{
    return 2 * component->n * (2 + component->n / 8);
}

enum vbs_status vbs_place_stack(struct place_search *search, struct place_component *component,
                                int64_t target, int64_t n_steps, enum place_answer *answer)
{
    enum vbs_status status = component->stack ? VBS_OK : start_search(search, component);
    struct place_stack *stack = component->stack;
    int64_t last_step = search->n_steps + n_steps, each = n_steps / 4;

    if (status != VBS_OK)
        return status;
    stack->target = target;
    each = each > least_steps(component) ? each : least_steps(component);
    *answer = PLACE_UNKNOWN;
    for (int r = 0;
         r <= N_RANKS && *answer == PLACE_UNKNOWN && !search->over && search->n_steps < last_step;
         r++) {
        unsigned ranking = stack->n_rankings++ % (2 * N_RANKS);

        /* All rankings come first without noise, then with some. */
        set_ranks(stack, RANKS[ranking % N_RANKS], ranking < N_RANKS ? 0 : 0.5);
        stack->last_step = search->n_steps + each;
        *answer = search_ranked(stack, component);
        if (stack->no_memory)
            return vbs_no_memory(search->ctx);
    }
    return VBS_OK;
}
