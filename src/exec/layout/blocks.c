#include "exec/layout/blocks.h"

#include "base/fail.h"
#include "vbslab/place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OPERAND_ALIGNMENT 64 /* struct vbs_operands */
#define MAX_LOOKS         ((int64_t)1 << 28)

struct segment {
    struct vbs_exec_range range;
    int load;
    int waits; /* streamed loads until it is there */
    bool is_resident;
    int64_t birth;
};

/* What is there of an image: segments apart from each other, ascending. */
struct image_state {
    int n, max;
    struct segment *segments;
};

struct piecing {
    struct vbs_ctx *ctx;
    const struct vbs_exec_walk *walk;
    const int *begins; /* of loads, or null */
    struct vbs_exec_pieces *out;
    struct image_state *images; /* [n_images] */
    int *parent;                /* [n_loads]: loads whose pieces belong together */
    int *image_of;              /* [n_loads] */
    int64_t *anchor; /* [n_loads] of roots: the first byte that a step reads; -1: none does */
    int64_t n_looks;
};

/* ---- what belongs together ---- */

static int find_root(const struct piecing *p, int load)
{
    while (p->parent[load] != load) {
        p->parent[load] = p->parent[p->parent[load]];
        load = p->parent[load];
    }
    return load;
}

/* The older root stays, so that paths are halved but the first anchor is kept. */
static void join(struct piecing *p, int a, int b)
{
    int low = find_root(p, a), high = find_root(p, b);

    if (low == high)
        return;
    if (low > high) {
        int swap = low;

        low = high;
        high = swap;
    }
    p->parent[high] = low;
    if (p->anchor[low] < 0)
        p->anchor[low] = p->anchor[high];
}

/* ---- what is there ---- */

static enum vbs_status refuse(struct piecing *p, int64_t i, const char *why)
{
    (void)vbs_fail(p->ctx, VBS_INVALID, "%s", why);
    return vbs_exec_refuse(p->ctx, p->walk, i);
}

static enum vbs_status refuse_many(struct piecing *p)
{
    return vbs_fail(p->ctx, VBS_USAGE,
                    "the schedule cuts weights into too many pieces to be executed");
}

/* The first segment that ends above byte. */
static int find_segment(const struct image_state *image, int64_t byte)
{
    int low = 0, high = image->n;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (image->segments[middle].range.to > byte)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static enum vbs_status insert(struct piecing *p, struct image_state *image, int at,
                              const struct segment *segment)
{
    if (image->n == image->max) {
        int max = image->max ? 2 * image->max : 8;
        struct segment *segments = realloc(image->segments, (size_t)max * sizeof *segments);

        if (!segments)
            return vbs_no_memory(p->ctx);
        image->segments = segments;
        image->max = max;
    }
    memmove(&image->segments[at + 1], &image->segments[at],
            (size_t)(image->n - at) * sizeof *segment);
    p->n_looks += (image->n - at) / 16;
    image->segments[at] = *segment;
    image->n++;
    return VBS_OK;
}

/* Writes down that the bytes of range were there until slot death. */
static enum vbs_status end_piece(struct piecing *p, const struct segment *segment,
                                 const struct vbs_exec_range *range, int64_t death)
{
    struct vbs_exec_pieces *out = p->out;

    if (range->packed_from >= range->packed_to)
        return VBS_OK;
    if (out->n_pieces == out->max_pieces) {
        int max = out->max_pieces ? 2 * out->max_pieces : 64;
        struct vbs_exec_piece *pieces;

        if (max > VBS_MAX_PLACE_RECTS)
            return refuse_many(p);
        pieces = realloc(out->pieces, (size_t)max * sizeof *pieces);
        if (!pieces)
            return vbs_no_memory(p->ctx);
        out->pieces = pieces;
        out->max_pieces = max;
    }
    out->pieces[out->n_pieces++] = (struct vbs_exec_piece){.load = segment->load,
                                                           .birth = segment->birth,
                                                           .image = p->image_of[segment->load],
                                                           .death = death,
                                                           .is_resident = segment->is_resident,
                                                           .waits = segment->waits,
                                                           .from = range->packed_from,
                                                           .to = range->packed_to};
    return VBS_OK;
}

/* ---- steps ---- */

static struct vbs_exec_range range_of(const struct piecing *p, int64_t i)
{
    const struct vbs_step *step = &p->walk->schedule->steps[i];

    return vbs_exec_range(&p->walk->images[p->walk->steps[i].image], step->slice, step->n_slices);
}

static enum vbs_status load(struct piecing *p, int64_t i, int number)
{
    const struct vbs_step *step = &p->walk->schedule->steps[i];
    struct vbs_exec_piece_step *at = &p->out->steps[i];
    struct image_state *image = &p->images[p->walk->steps[i].image];
    struct segment segment = {.range = range_of(p, i),
                              .load = number,
                              .is_resident = step->resident,
                              .birth =
                                  step->resident ? 0 : 2 * (p->begins ? p->begins[number] : i)};
    int place = find_segment(image, segment.range.from);

    if (place < image->n && image->segments[place].range.from < segment.range.to)
        return refuse(p, i, "weights are loaded that are there");
    at->load = number;
    at->at = segment.range.packed_from;
    if (!step->resident)
        at->waits = segment.waits = ++p->out->n_streamed;
    p->image_of[number] = p->walk->steps[i].image;
    return insert(p, image, place, &segment);
}

static void wait_for(struct vbs_exec_piece_step *step, const struct segment *segment)
{
    if (segment->waits > step->waits)
        step->waits = segment->waits;
}

/* Takes what range and the segment have in common from the segment. *next: where to go on. */
static enum vbs_status cut(struct piecing *p, struct image_state *image, int place,
                           const struct vbs_exec_range *range, int64_t death, int *next)
{
    struct segment *segment = &image->segments[place];
    struct segment behind = *segment;
    struct vbs_exec_range common = segment->range;
    bool keeps_front = segment->range.from < range->from;
    bool keeps_back = segment->range.to > range->to;
    enum vbs_status status;

    if (keeps_front) {
        common.from = range->from;
        common.packed_from = range->packed_from;
    }
    if (keeps_back) {
        common.to = behind.range.from = range->to;
        common.packed_to = behind.range.packed_from = range->packed_to;
    }
    status = end_piece(p, segment, &common, death);
    if (status != VBS_OK)
        return status;
    *next = place + (keeps_front || keeps_back);
    if (keeps_front) {
        segment->range.to = common.from;
        segment->range.packed_to = common.packed_from;
        return keeps_back ? insert(p, image, place + 1, &behind) : VBS_OK;
    }
    if (keeps_back) {
        *segment = behind;
        return VBS_OK;
    }
    image->n--;
    memmove(segment, segment + 1, (size_t)(image->n - place) * sizeof *segment);
    p->n_looks += (image->n - place) / 16;
    return VBS_OK;
}

static enum vbs_status drop(struct piecing *p, int64_t i)
{
    struct image_state *image = &p->images[p->walk->steps[i].image];
    struct vbs_exec_range range = range_of(p, i);
    int place = find_segment(image, range.from);

    for (int64_t from = range.from; from < range.to;) {
        const struct segment *segment = &image->segments[place];
        int64_t end;
        enum vbs_status status;

        if (place >= image->n || segment->range.from > from)
            return refuse(p, i, "weights are dropped that are not there");
        end = segment->range.to;
        wait_for(&p->out->steps[i], segment);
        status = cut(p, image, place, &range, 2 * i, &place);
        if (status != VBS_OK)
            return status;
        from = end;
        p->n_looks++;
    }
    return VBS_OK;
}

/* Joins the pieces that hold range, on behalf of step i, to load number with; -1: to each other. */
static enum vbs_status join_range(struct piecing *p, int64_t i, const char *missing, int with)
{
    const struct image_state *image = &p->images[p->walk->steps[i].image];
    struct vbs_exec_piece_step *at = &p->out->steps[i];
    struct vbs_exec_range range = range_of(p, i);
    int64_t packed = range.packed_from;
    int place = find_segment(image, range.from);

    for (int64_t from = range.from; from < range.to; place++) {
        const struct segment *segment = &image->segments[place];

        if (place >= image->n || segment->range.from > from || segment->range.packed_from > packed)
            return refuse(p, i, missing);
        from = segment->range.to;
        packed = segment->range.packed_to;
        if (with < 0)
            with = segment->load;
        join(p, with, segment->load);
        wait_for(at, segment);
        p->n_looks++;
    }
    if (packed < range.packed_to)
        return refuse(p, i, missing);
    at->load = with;
    at->at = range.packed_from;
    return VBS_OK;
}

static enum vbs_status read_weights(struct piecing *p, int64_t i)
{
    enum vbs_status status = join_range(p, i, "its weights are not all there", -1);
    int root;

    if (status != VBS_OK)
        return status;
    root = find_root(p, p->out->steps[i].load);
    if (p->anchor[root] < 0)
        p->anchor[root] = p->out->steps[i].at;
    return VBS_OK;
}

/* What was resident must be where it was. */
static enum vbs_status return_residents(struct piecing *p)
{
    for (int i = 0; i < p->walk->n_residents; i++) {
        enum vbs_status status =
            join_range(p, i, "weights that are resident are not there after the last step", i);

        if (status != VBS_OK)
            return status;
        p->out->steps[i].waits = 0;
    }
    return VBS_OK;
}

static enum vbs_status piece_steps(struct piecing *p)
{
    const struct vbs_schedule *schedule = p->walk->schedule;
    int64_t end = 2 * schedule->n_steps + 2;
    int n_loads = 0;
    enum vbs_status status = VBS_OK;

    for (int64_t i = 0; i < schedule->n_steps && status == VBS_OK; i++) {
        if (p->walk->steps[i].image < 0)
            continue;
        if (schedule->steps[i].op == VBS_STEP_LOAD)
            status = load(p, i, n_loads++);
        else if (schedule->steps[i].op == VBS_STEP_EVICT)
            status = drop(p, i);
        else
            status = read_weights(p, i);
        if (p->n_looks > MAX_LOOKS)
            return refuse_many(p);
    }
    if (status == VBS_OK)
        status = return_residents(p);
    for (int k = 0; k < p->walk->n_images; k++)
        for (int s = 0; s < p->images[k].n && status == VBS_OK; s++)
            status = end_piece(p, &p->images[k].segments[s], &p->images[k].segments[s].range, end);
    return status;
}

/* ---- items ---- */

static const struct vbs_exec_piece *piece_at(const void *index)
{
    return *(const struct vbs_exec_piece *const *)index;
}

static int compare_residents(const void *left, const void *right)
{
    const struct vbs_exec_piece *a = piece_at(left), *b = piece_at(right);

    if (a->image != b->image)
        return a->image - b->image;
    if (a->death != b->death)
        return a->death < b->death ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* Residents side by side that leave together are one item: there may be thousands. */
static enum vbs_status join_residents(struct piecing *p)
{
    struct vbs_exec_pieces *out = p->out;
    const struct vbs_exec_piece **residents = malloc((size_t)out->n_pieces * sizeof *residents + 1);
    size_t n = 0;

    if (!residents)
        return vbs_no_memory(p->ctx);
    for (int i = 0; i < out->n_pieces; i++)
        if (out->pieces[i].is_resident)
            residents[n++] = &out->pieces[i];
    if (n > 0)
        qsort(residents, n, sizeof *residents, compare_residents);
    for (size_t i = 1; i < n; i++)
        if (residents[i]->image == residents[i - 1]->image &&
            residents[i]->death == residents[i - 1]->death &&
            residents[i]->from == residents[i - 1]->to)
            join(p, residents[i - 1]->load, residents[i]->load);
    free(residents);
    return VBS_OK;
}

/* Numbers the roots. */
static enum vbs_status number_items(struct piecing *p)
{
    struct vbs_exec_pieces *out = p->out;

    out->item_of = vbs_arena_alloc(&out->arena, (size_t)out->n_loads, sizeof *out->item_of);
    out->items = vbs_arena_alloc(&out->arena, (size_t)out->n_loads, sizeof *out->items);
    if (!out->item_of || !out->items)
        return vbs_no_memory(p->ctx);
    for (int i = 0; i < out->n_loads; i++) { /* roots are the least of theirs */
        int root = find_root(p, i);

        if (root == i) {
            out->items[out->n_items].origin = p->anchor[i];
            out->item_of[i] = out->n_items++;
        } else {
            out->item_of[i] = out->item_of[root];
        }
    }
    return VBS_OK;
}

static enum vbs_status sort_pieces(struct piecing *p)
{
    struct vbs_exec_pieces *out = p->out;
    size_t n = (size_t)out->n_pieces;
    struct vbs_exec_piece *sorted = malloc(n * sizeof *sorted + 1);
    int *ends = calloc((size_t)out->n_items + 2, sizeof *ends);

    if (!sorted || !ends) {
        free(sorted);
        free(ends);
        return vbs_no_memory(p->ctx);
    }
    for (size_t i = 0; i < n; i++)
        ends[out->item_of[out->pieces[i].load] + 1]++;
    for (int i = 0; i < out->n_items; i++)
        ends[i + 1] += ends[i];
    for (size_t i = 0; i < n; i++)
        sorted[ends[out->item_of[out->pieces[i].load]]++] = out->pieces[i];
    free(ends);
    free(out->pieces);
    out->pieces = sorted;
    out->max_pieces = out->n_pieces;
    return VBS_OK;
}

/* anchor: the first byte that a step reads, -1: none; low: the lowest byte of all. */
static void set_origin(struct vbs_exec_piece_item *item, int64_t anchor, int64_t low,
                       int64_t alignment)
{
    anchor = anchor < low ? low : anchor;
    if (anchor % OPERAND_ALIGNMENT == 0) {
        item->alignment = alignment;
        item->origin = low / alignment * alignment;
    } else {
        item->alignment = OPERAND_ALIGNMENT;
        item->origin =
            anchor - (anchor - low + OPERAND_ALIGNMENT - 1) / OPERAND_ALIGNMENT * OPERAND_ALIGNMENT;
    }
}

static void set_origins(struct vbs_exec_pieces *out, int64_t alignment)
{
    int at = 0;

    for (int i = 0; i < out->n_items; i++) {
        int64_t low = at < out->n_pieces ? out->pieces[at].from : 0;

        for (; at < out->n_pieces && out->item_of[out->pieces[at].load] == i; at++)
            low = out->pieces[at].from < low ? out->pieces[at].from : low;
        set_origin(&out->items[i], out->items[i].origin, low, alignment);
    }
}

/* ---- the whole ---- */

static enum vbs_status begin(struct piecing *p)
{
    const struct vbs_schedule *schedule = p->walk->schedule;
    struct vbs_exec_pieces *out = p->out;

    for (int64_t i = 0; i < schedule->n_steps; i++)
        out->n_loads += schedule->steps[i].op == VBS_STEP_LOAD;
    out->steps = vbs_arena_alloc(&out->arena, (size_t)schedule->n_steps, sizeof *out->steps);
    p->images = calloc((size_t)p->walk->n_images + 1, sizeof *p->images);
    p->parent = malloc(((size_t)out->n_loads + 1) * sizeof *p->parent);
    p->image_of = malloc(((size_t)out->n_loads + 1) * sizeof *p->image_of);
    p->anchor = malloc(((size_t)out->n_loads + 1) * sizeof *p->anchor);
    if (!out->steps || !p->images || !p->parent || !p->image_of || !p->anchor)
        return vbs_no_memory(p->ctx);
    for (int i = 0; i < out->n_loads; i++) {
        p->parent[i] = i;
        p->anchor[i] = -1;
    }
    for (int64_t i = 0; i < schedule->n_steps; i++)
        out->steps[i].load = -1;
    return VBS_OK;
}

enum vbs_status vbs_exec_pieces_init(struct vbs_ctx *ctx, struct vbs_exec_pieces *pieces,
                                     const struct vbs_exec_walk *walk, const int *begins,
                                     int64_t alignment)
{
    struct piecing p = {.ctx = ctx, .walk = walk, .begins = begins, .out = pieces};
    enum vbs_status status = begin(&p);

    if (status == VBS_OK)
        status = piece_steps(&p);
    if (status == VBS_OK)
        status = join_residents(&p);
    if (status == VBS_OK)
        status = number_items(&p);
    if (status == VBS_OK)
        status = sort_pieces(&p);
    if (status == VBS_OK)
        set_origins(pieces, alignment);
    for (int k = 0; k < walk->n_images && p.images; k++)
        free(p.images[k].segments);
    free(p.images);
    free(p.parent);
    free(p.image_of);
    free(p.anchor);
    return status;
}

void vbs_exec_pieces_clear(struct vbs_exec_pieces *pieces)
{
    free(pieces->pieces);
    vbs_arena_clear(&pieces->arena);
    *pieces = (struct vbs_exec_pieces){0};
}
