#include "exec/layout/segment.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define STEPS     20000 /* of the search in one segment, at most */
#define FEW_STEPS 4000  /* of a search for whether members can stay */
#define MAX_ASKED 24    /* such searches in a segment */

/* ---- a segment's problem ---- */

static enum vbs_status add_rect(struct segment *segment, const struct vbs_place_rect *rect)
{
    struct segment_scratch *scratch = &segment->scratch;

    VBS_TRY(vbs_grow(segment->ctx, &scratch->rects, &scratch->max_rects, scratch->n_rects + 1,
                     sizeof *scratch->rects));
    scratch->rects[scratch->n_rects++] = *rect;
    scratch->items[scratch->n_items - 1].n_rects++;
    return VBS_OK;
}

/* Finds the least offset of an item's rects in the segment; -1: none lives in it. */
static int64_t lowest_offset(const struct segment *segment, const struct vbs_place_item *item)
{
    int64_t low = -1;

    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
        const struct vbs_place_rect *rect = &segment->problem.buffers->rects[r];

        if (rect->lower < segment->problem.to && rect->upper > segment->problem.from &&
            (low < 0 || rect->offset < low))
            low = rect->offset;
    }
    return low;
}

/* Adds the item of a member to the offset allocation of the segment. Memory that moving members
 * leave is free for others: copies are made in an order that allows it. */
static enum vbs_status add_member(struct segment *segment, struct member *member)
{
    const struct vbs_place_item *whole = &segment->problem.buffers->items[member->item];
    int64_t alignment = whole->alignment, low = lowest_offset(segment, whole);
    bool stays = member->role == STAYS;

    member->placed = -1;
    if (low < 0)
        return VBS_OK;
    member->low = low / alignment * alignment;
    member->placed = segment->scratch.n_items;
    segment->scratch.items[segment->scratch.n_items++] =
        (struct vbs_place_item){.first_rect = segment->scratch.n_rects,
                                .alignment = stays ? 1 : alignment,
                                .fixed = stays,
                                .fixed_offset = member->base + member->low};
    for (int64_t r = whole->first_rect; r < whole->first_rect + whole->n_rects; r++) {
        struct vbs_place_rect rect = segment->problem.buffers->rects[r];

        rect.lower = rect.lower > segment->problem.from ? rect.lower : segment->problem.from;
        rect.upper = rect.upper < segment->problem.to ? rect.upper : segment->problem.to;
        rect.offset -= member->low;
        if (rect.lower < rect.upper)
            VBS_TRY(add_rect(segment, &rect));
    }
    return VBS_OK;
}

/* ---- moves ---- */

/* Gives whether a rect lives on both sides of the cut. A rect that is born at the cut is not in
 * memory yet when others move. */
static bool lives_at_cut(const struct segment *segment, int64_t r)
{
    return segment->problem.buffers->rects[r].lower < segment->problem.from &&
           segment->problem.buffers->rects[r].upper > segment->problem.from;
}

/* Lists the blocks that live at the cut, with their present addresses and their addresses in an
 * allocation of the segment. */
static int list_shifts(struct segment *segment)
{
    int n = 0;

    for (int i = 0; i < segment->problem.n_crossing; i++) {
        const struct vbs_place_item *item =
            &segment->problem.buffers->items[segment->problem.members[i].item];
        int64_t base = segment->problem.items[segment->problem.members[i].item].base;

        for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
            const struct vbs_place_rect *rect = &segment->problem.buffers->rects[r];
            struct vbs_exec_shift *last = n > 0 ? &segment->scratch.shifts[n - 1] : NULL;

            if (!lives_at_cut(segment, r))
                continue;
            if (last && last->from + last->bytes == base + rect->offset &&
                last->to + last->bytes == segment->scratch.bases[i] + rect->offset)
                last->bytes += rect->size;
            else
                segment->scratch.shifts[n++] =
                    (struct vbs_exec_shift){.from = base + rect->offset,
                                            .to = segment->scratch.bases[i] + rect->offset,
                                            .bytes = rect->size};
        }
    }
    return n;
}

/* Gives the number of loads that must have ended before members can move: those that bring their
 * bytes. */
static int find_waits(const struct segment *segment)
{
    int waits = 0;

    for (int i = 0; i < segment->problem.n_crossing; i++) {
        const struct vbs_place_item *item =
            &segment->problem.buffers->items[segment->problem.members[i].item];

        if (segment->scratch.bases[i] ==
            segment->problem.items[segment->problem.members[i].item].base)
            continue;
        for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
            int64_t block = r - segment->problem.buffers->first_block_rect;

            if (block >= 0 && block < segment->problem.buffers->n_block_rects &&
                lives_at_cut(segment, r) && segment->problem.blocks->blocks[block].waits > waits)
                waits = segment->problem.blocks->blocks[block].waits;
        }
    }
    return waits;
}

/* Makes an allocation of the segment the incumbent, if its moves can be made and fewer bytes move
 * than in an incumbent that is within the target too. */
static enum vbs_status adopt(struct segment *segment, const struct vbs_place_result *result,
                             bool *adopted)
{
    struct vbs_exec_moves *moves = &segment->layout->moves;
    int n_before = moves->n, n_moves, waits;
    int64_t limit_bytes = result->height_bytes > segment->options.target_bytes
                              ? result->height_bytes
                              : segment->options.target_bytes;
    int64_t moved = 0;
    enum vbs_status status;

    for (int i = 0; i < segment->problem.n_members; i++) {
        const struct member *member = &segment->problem.members[i];

        segment->scratch.bases[i] = member->placed < 0
                                        ? segment->problem.items[member->item].base
                                        : result->offsets[member->placed] - member->low;
    }
    status = vbs_exec_order(segment->ctx, segment->scratch.shifts, list_shifts(segment),
                            limit_bytes, moves, adopted);
    if (status != VBS_OK || !*adopted)
        return status;
    for (int i = n_before; i < moves->n; i++)
        moved += moves->moves[i].bytes;
    if (segment->incumbent.exists &&
        segment->incumbent.height_bytes <= segment->options.target_bytes &&
        moved >= segment->incumbent.moved_bytes) {
        moves->n = n_before;
        return VBS_OK;
    }
    n_moves = moves->n - n_before;
    waits = find_waits(segment);
    for (int i = 0; i < n_moves; i++) { /* they replace the moves of the incumbent before */
        struct vbs_exec_move *move = &moves->moves[segment->options.n_kept_moves + i];

        *move = moves->moves[n_before + i];
        move->step = segment->problem.from / 2;
        move->waits = waits;
    }
    moves->n = segment->options.n_kept_moves + n_moves;
    segment->incumbent.exists = true;
    segment->incumbent.height_bytes = result->height_bytes;
    segment->incumbent.moved_bytes = moved;
    memcpy(segment->incumbent.bases, segment->scratch.bases,
           (size_t)segment->problem.n_members * sizeof *segment->incumbent.bases);
    return VBS_OK;
}

/* Allocates the segment with the present roles of its members; *fits tells whether it is within the
 * target. The allocation becomes the incumbent if it is the best. VBS_INFEASIBLE: time is over. */
static enum vbs_status ask(struct segment *segment, int64_t n_steps, bool *fits)
{
    const struct vbs_place_options options = {.struct_size = sizeof(struct vbs_place_options),
                                              .step_limit = n_steps,
                                              .time_limit_s = -1,
                                              .decides = !segment->options.is_shortest};
    struct vbs_place_problem problem = {.capacity = segment->options.target_bytes};
    struct vbs_place_result *result = NULL;
    enum vbs_status status = VBS_OK;

    *fits = false;
    segment->scratch.n_items = segment->scratch.n_rects = 0;
    for (int i = 0; i < segment->problem.n_members; i++)
        VBS_TRY(add_member(segment, &segment->problem.members[i]));
    problem.n_items = segment->scratch.n_items;
    problem.items = segment->scratch.items;
    problem.n_rects = segment->scratch.n_rects;
    problem.rects = segment->scratch.rects;
    if (vbs_thread_s() >= segment->options.end_s)
        return VBS_INFEASIBLE;
    status = vbs_place(segment->ctx, &problem, &options, &result);
    /* The members that stay are in each other's way, or they take too much. */
    if (status == VBS_USAGE || status == VBS_UNSUPPORTED)
        return VBS_OK;
    if (status != VBS_OK && status != VBS_INFEASIBLE)
        return status;
    if (status == VBS_OK || !segment->incumbent.exists ||
        result->height_bytes < segment->incumbent.height_bytes) {
        enum vbs_status adopted = adopt(segment, result, fits);

        *fits = *fits && status == VBS_OK;
        status = adopted;
    } else {
        status = VBS_OK;
    }
    vbs_place_free(result);
    return status;
}

/* ---- what moves ---- */

static void free_all(struct segment *segment)
{
    for (int i = 0; i < segment->problem.n_crossing; i++)
        if (segment->problem.items[segment->problem.members[i].item].moves)
            segment->problem.members[i].role = MOVES;
}

/* Lets those of members at..end - 1 that move stay, and returns their number. */
static int try_to_keep(struct segment *segment, int at, int end)
{
    int n = 0;

    for (int i = at; i < end; i++) {
        struct member *member = &segment->problem.members[i];

        member->is_asked = member->role == MOVES && member->live_bytes > 0;
        if (member->is_asked)
            member->role = STAYS;
        n += member->is_asked;
    }
    return n;
}

/* Lets members stay that need not move, the largest first: half of all at once, then fewer. */
static enum vbs_status keep_some(struct segment *segment)
{
    int n_asked = 0;

    for (int run = (segment->problem.n_crossing + 1) / 2; run >= 1; run /= 2)
        for (int end = segment->problem.n_crossing; end > 0; end -= run) {
            int at = end > run ? end - run : 0;
            bool fits;
            enum vbs_status status;

            if (try_to_keep(segment, at, end) == 0)
                continue;
            if (n_asked++ == MAX_ASKED)
                return VBS_OK; /* the roles are not used any more, since the incumbent has
                                  addresses of its own */
            status = ask(segment, FEW_STEPS, &fits);
            if (status != VBS_OK && status != VBS_INFEASIBLE)
                return status;
            for (int i = at; i < end && !fits; i++)
                if (segment->problem.members[i].is_asked)
                    segment->problem.members[i].role = MOVES;
        }
    return VBS_OK;
}

/* ---- pushing ---- */

struct pushed {
    int member;
    int64_t at; /* the address at which its living bytes begin */
};

static int compare_pushed(const void *left, const void *right)
{
    const struct pushed *a = left, *b = right;

    return a->at < b->at ? -1 : a->at > b->at;
}

/* Lists the members that live at the cut and can move, by their addresses; *bottom is the end of
 * the members that cannot. */
static int list_pushed(const struct segment *segment, struct pushed *pushed, int64_t *bottom)
{
    int n = 0;

    *bottom = 0;
    for (int i = 0; i < segment->problem.n_crossing; i++) {
        const struct member *member = &segment->problem.members[i];
        const struct item_state *state = &segment->problem.items[member->item];

        if (member->live_bytes == 0)
            continue;
        if (state->moves)
            pushed[n++] = (struct pushed){i, state->base + member->from};
        else if (state->base + member->end > *bottom)
            *bottom = state->base + member->end;
    }
    if (n > 0)
        qsort(pushed, (size_t)n, sizeof *pushed, compare_pushed);
    return n;
}

/* Pushes the first n_down members down as far as they go, and the others up. */
static void push_members(struct segment *segment, const struct pushed *pushed, int n, int n_down,
                         int64_t bottom)
{
    int64_t top = segment->options.target_bytes;

    for (int i = 0; i < n_down; i++) {
        struct member *member = &segment->problem.members[pushed[i].member];
        int64_t alignment = segment->problem.buffers->items[member->item].alignment;
        int64_t low = member->from / alignment * alignment;

        member->role = STAYS;
        member->base = (bottom + alignment - 1) / alignment * alignment - low;
        bottom = member->base + member->end;
    }
    for (int i = n - 1; i >= n_down; i--) {
        struct member *member = &segment->problem.members[pushed[i].member];
        int64_t alignment = segment->problem.buffers->items[member->item].alignment;

        member->role = STAYS;
        member->base = (top - member->end) / alignment * alignment;
        if (top < member->end) /* division rounds down */
            member->base = -((member->end - top + alignment - 1) / alignment * alignment);
        top = member->base + member->from;
    }
}

/* Pushes the members apart in their present order, so that they can be moved there however little
 * memory there is, and free bytes are gathered at one place. */
static enum vbs_status push_all(struct segment *segment)
{
    struct pushed *pushed = malloc((size_t)segment->problem.n_crossing * sizeof *pushed + 1);
    int64_t bottom;
    enum vbs_status status = VBS_OK;
    int n;

    if (!pushed)
        return vbs_no_memory(segment->ctx);
    n = list_pushed(segment, pushed, &bottom);
    for (int n_down = n; n_down >= 0 && status == VBS_OK; n_down--) {
        bool fits;

        push_members(segment, pushed, n, n_down, bottom);
        status = ask(segment, FEW_STEPS, &fits);
    }
    free(pushed);
    return status;
}

/* ---- the whole ---- */

static void find_living(const struct segment *segment, struct member *member)
{
    const struct vbs_place_item *item = &segment->problem.buffers->items[member->item];

    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
        const struct vbs_place_rect *rect = &segment->problem.buffers->rects[r];

        if (!lives_at_cut(segment, r))
            continue;
        if (member->live_bytes == 0 || rect->offset < member->from)
            member->from = rect->offset;
        if (rect->offset + rect->size > member->end)
            member->end = rect->offset + rect->size;
        member->live_bytes += rect->size;
    }
}

/* Gives a member its first role. A member without living bytes at the cut can have any address
 * behind it. */
static enum role first_role(const struct segment *segment, const struct member *member)
{
    return segment->problem.items[member->item].moves && member->live_bytes == 0 ? MOVES : STAYS;
}

void vbs_segment_enter(const struct segment *segment, struct member *member)
{
    member->base = segment->problem.items[member->item].base;
    find_living(segment, member);
    member->role = first_role(segment, member);
}

void vbs_segment_stay(struct segment *segment)
{
    for (int i = 0; i < segment->problem.n_crossing; i++) {
        segment->problem.members[i].base =
            segment->problem.items[segment->problem.members[i].item].base;
        segment->problem.members[i].role = first_role(segment, &segment->problem.members[i]);
    }
}

enum vbs_status vbs_segment_place(struct segment *segment)
{
    bool fits;
    enum vbs_status status;

    segment->incumbent.exists = false;
    segment->layout->moves.n = segment->options.n_kept_moves;
    status = ask(segment, STEPS, &fits);
    if (status != VBS_OK)
        return status;
    if (!fits && segment->problem.n_crossing > 0) {
        free_all(segment);
        status = ask(segment, STEPS, &fits);
        if (status == VBS_OK && fits)
            status = keep_some(segment);
        if (status == VBS_OK)
            status = push_all(segment);
        vbs_segment_stay(segment);
    }
    return status;
}
