#include "exec/layout/blocks.h"

#include "base/fail.h"
#include "base/grow.h"
#include "vbslab/place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OPERAND_ALIGNMENT 64 /* of the weights in struct vbs_operands */
#define MAX_LOOKS         ((int64_t)1 << 28)

/* A run of bytes of packed weights that one load brought and that no evict has freed so far. */
struct loaded_run {
    struct vbs_exec_range range;
    int load;
    int waits; /* the number of loads, resident ones not counted, that have ended once the bytes
                  are there */
    bool is_resident;
    int64_t birth;
};

/* The bytes of one layer's packed weights that are in the arena: runs apart from each other,
 * ascending. */
struct loaded_runs {
    int n;
    int64_t max;
    struct loaded_run *runs;
};

struct blocking {
    struct vbs_ctx *ctx;
    const struct vbs_exec_checked *checked;
    const int *begins; /* of loads, or null */
    struct vbs_exec_blocks *out;
    struct loaded_runs *packed; /* [n_packed] */
    int *parent;                /* [n_loads] of a forest whose trees are loads with linked blocks */
    int *packed_of;             /* [n_loads] */
    int64_t *anchor; /* [n_loads] of roots: the first byte that a step reads; -1: no step reads
                        any */
    int64_t n_looks;
};

/* ---- what belongs together ---- */

static int find_root(const struct blocking *p, int load)
{
    while (p->parent[load] != load) {
        p->parent[load] = p->parent[p->parent[load]];
        load = p->parent[load];
    }
    return load;
}

/* Joins the trees of two loads. The root of the earlier load stays the root, so that the first
 * anchor is kept; paths are halved when they are walked. */
static void join(struct blocking *p, int a, int b)
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

/* ---- what is loaded ---- */

static enum vbs_status refuse_many(struct blocking *p)
{
    return vbs_fail(p->ctx, VBS_USAGE,
                    "the schedule cuts weights into too many blocks to be executed");
}

/* Finds the first run that ends above byte. */
static int find_run(const struct loaded_runs *loaded, int64_t byte)
{
    int low = 0, high = loaded->n;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (loaded->runs[middle].range.to > byte)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static enum vbs_status insert(struct blocking *p, struct loaded_runs *loaded, int at,
                              const struct loaded_run *run)
{
    VBS_TRY(vbs_grow(p->ctx, &loaded->runs, &loaded->max, loaded->n + 1, sizeof *loaded->runs));
    memmove(&loaded->runs[at + 1], &loaded->runs[at], (size_t)(loaded->n - at) * sizeof *run);
    p->n_looks += (loaded->n - at) / 16;
    loaded->runs[at] = *run;
    loaded->n++;
    return VBS_OK;
}

/* Appends a block: the bytes of range, which were in memory until slot death. */
static enum vbs_status end_block(struct blocking *p, const struct loaded_run *run,
                                 const struct vbs_exec_range *range, int64_t death)
{
    struct vbs_exec_blocks *out = p->out;

    if (range->packed_from >= range->packed_to)
        return VBS_OK;
    if (out->n_blocks >= VBS_MAX_PLACE_RECTS)
        return refuse_many(p);
    VBS_TRY(
        vbs_grow(p->ctx, &out->blocks, &out->max_blocks, out->n_blocks + 1, sizeof *out->blocks));
    out->blocks[out->n_blocks++] = (struct vbs_exec_block){.load = run->load,
                                                           .birth = run->birth,
                                                           .packed = p->packed_of[run->load],
                                                           .death = death,
                                                           .is_resident = run->is_resident,
                                                           .waits = run->waits,
                                                           .from = range->packed_from,
                                                           .to = range->packed_to};
    return VBS_OK;
}

/* ---- steps ---- */

static struct vbs_exec_range range_of(const struct blocking *p, int64_t i)
{
    const struct vbs_step *step = &p->checked->schedule->steps[i];

    return vbs_exec_slice_range(&p->checked->packed[p->checked->steps[i].packed], step->slice,
                                step->n_slices);
}

static enum vbs_status load_block(struct blocking *p, int64_t i, int number)
{
    const struct vbs_step *step = &p->checked->schedule->steps[i];
    const struct vbs_exec_checked_step *noted = &p->checked->steps[i];
    struct loaded_runs *loaded = &p->packed[noted->packed];
    struct loaded_run run = {.range = range_of(p, i),
                             .load = number,
                             .waits = noted->waits,
                             .is_resident = step->resident,
                             .birth = step->resident ? 0 : 2 * (p->begins ? p->begins[number] : i)};

    p->out->steps[i] = (struct vbs_exec_block_step){number, run.range.packed_from};
    p->out->n_streamed += !step->resident;
    p->packed_of[number] = noted->packed;
    return insert(p, loaded, find_run(loaded, run.range.from), &run);
}

/* Removes the bytes of range from a run; *next is the place of the next run to look at. */
static enum vbs_status cut_run(struct blocking *p, struct loaded_runs *loaded, int place,
                               const struct vbs_exec_range *range, int64_t death, int *next)
{
    struct loaded_run *run = &loaded->runs[place];
    struct loaded_run behind = *run;
    struct vbs_exec_range common = run->range;
    bool keeps_front = run->range.from < range->from;
    bool keeps_back = run->range.to > range->to;

    if (keeps_front) {
        common.from = range->from;
        common.packed_from = range->packed_from;
    }
    if (keeps_back) {
        common.to = behind.range.from = range->to;
        common.packed_to = behind.range.packed_from = range->packed_to;
    }
    VBS_TRY(end_block(p, run, &common, death));
    *next = place + (keeps_front || keeps_back);
    if (keeps_front) {
        run->range.to = common.from;
        run->range.packed_to = common.packed_from;
        return keeps_back ? insert(p, loaded, place + 1, &behind) : VBS_OK;
    }
    if (keeps_back) {
        *run = behind;
        return VBS_OK;
    }
    loaded->n--;
    memmove(run, run + 1, (size_t)(loaded->n - place) * sizeof *run);
    p->n_looks += (loaded->n - place) / 16;
    return VBS_OK;
}

static enum vbs_status evict(struct blocking *p, int64_t i)
{
    struct loaded_runs *loaded = &p->packed[p->checked->steps[i].packed];
    struct vbs_exec_range range = range_of(p, i);
    int place = find_run(loaded, range.from);

    while (place < loaded->n && loaded->runs[place].range.from < range.to) {
        VBS_TRY(cut_run(p, loaded, place, &range, 2 * i, &place));
        p->n_looks++;
    }
    return VBS_OK;
}

/* Joins the blocks that hold the weights of step i to load number with; where with is -1, to each
 * other. */
static void join_range(struct blocking *p, int64_t i, int with)
{
    const struct loaded_runs *loaded = &p->packed[p->checked->steps[i].packed];
    struct vbs_exec_range range = range_of(p, i);

    for (int place = find_run(loaded, range.from);
         place < loaded->n && loaded->runs[place].range.from < range.to; place++) {
        if (with < 0)
            with = loaded->runs[place].load;
        join(p, with, loaded->runs[place].load);
        p->n_looks++;
    }
    p->out->steps[i] = (struct vbs_exec_block_step){with, range.packed_from};
}

static void read_weights(struct blocking *p, int64_t i)
{
    int root;

    join_range(p, i, -1);
    root = find_root(p, p->out->steps[i].load);
    if (p->anchor[root] < 0)
        p->anchor[root] = p->out->steps[i].at;
}

/* Joins the blocks of resident weights that are back in memory at the end, because they must lie
 * where they lay at the beginning. */
static void return_residents(struct blocking *p)
{
    for (int i = 0; i < p->checked->n_residents; i++)
        join_range(p, i, i);
}

static enum vbs_status block_steps(struct blocking *p)
{
    const struct vbs_schedule *schedule = p->checked->schedule;
    int64_t end = 2 * schedule->n_steps + 2;
    int n_loads = 0;
    enum vbs_status status = VBS_OK;

    for (int64_t i = 0; i < schedule->n_steps && status == VBS_OK; i++) {
        if (p->checked->steps[i].packed < 0)
            continue;
        if (schedule->steps[i].op == VBS_STEP_LOAD)
            status = load_block(p, i, n_loads++);
        else if (schedule->steps[i].op == VBS_STEP_EVICT)
            status = evict(p, i);
        else
            read_weights(p, i);
        if (p->n_looks > MAX_LOOKS)
            return refuse_many(p);
    }
    if (status == VBS_OK)
        return_residents(p);
    for (int k = 0; k < p->checked->n_packed; k++)
        for (int s = 0; s < p->packed[k].n && status == VBS_OK; s++)
            status = end_block(p, &p->packed[k].runs[s], &p->packed[k].runs[s].range, end);
    return status;
}

/* ---- items ---- */

static const struct vbs_exec_block *block_at(const void *index)
{
    return *(const struct vbs_exec_block *const *)index;
}

static int compare_residents(const void *left, const void *right)
{
    const struct vbs_exec_block *a = block_at(left), *b = block_at(right);

    if (a->packed != b->packed)
        return a->packed - b->packed;
    if (a->death != b->death)
        return a->death < b->death ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* Joins residents that lie side by side and are evicted together into one item, because there may
 * be thousands of them. */
static enum vbs_status join_residents(struct blocking *p)
{
    struct vbs_exec_blocks *out = p->out;
    const struct vbs_exec_block **residents = malloc((size_t)out->n_blocks * sizeof *residents + 1);
    size_t n = 0;

    if (!residents)
        return vbs_no_memory(p->ctx);
    for (int i = 0; i < out->n_blocks; i++)
        if (out->blocks[i].is_resident)
            residents[n++] = &out->blocks[i];
    if (n > 0)
        qsort(residents, n, sizeof *residents, compare_residents);
    for (size_t i = 1; i < n; i++)
        if (residents[i]->packed == residents[i - 1]->packed &&
            residents[i]->death == residents[i - 1]->death &&
            residents[i]->from == residents[i - 1]->to)
            join(p, residents[i - 1]->load, residents[i]->load);
    free(residents);
    return VBS_OK;
}

/* Numbers the items, which are the roots. */
static enum vbs_status number_items(struct blocking *p)
{
    struct vbs_exec_blocks *out = p->out;

    out->item_of = vbs_arena_alloc(&out->arena, (size_t)out->n_loads, sizeof *out->item_of);
    out->items = vbs_arena_alloc(&out->arena, (size_t)out->n_loads, sizeof *out->items);
    if (!out->item_of || !out->items)
        return vbs_no_memory(p->ctx);
    for (int i = 0; i < out->n_loads; i++) { /* a root is the smallest number of its tree */
        int root = find_root(p, i);

        if (root == i) {
            out->items[out->n_items].anchor = p->anchor[i];
            out->item_of[i] = out->n_items++;
        } else {
            out->item_of[i] = out->item_of[root];
        }
    }
    return VBS_OK;
}

static enum vbs_status sort_blocks(struct blocking *p)
{
    struct vbs_exec_blocks *out = p->out;
    size_t n = (size_t)out->n_blocks;
    struct vbs_exec_block *sorted = malloc(n * sizeof *sorted + 1);
    int *ends = calloc((size_t)out->n_items + 2, sizeof *ends);

    if (!sorted || !ends) {
        free(sorted);
        free(ends);
        return vbs_no_memory(p->ctx);
    }
    for (size_t i = 0; i < n; i++)
        ends[out->item_of[out->blocks[i].load] + 1]++;
    for (int i = 0; i < out->n_items; i++)
        ends[i + 1] += ends[i];
    for (size_t i = 0; i < n; i++)
        sorted[ends[out->item_of[out->blocks[i].load]]++] = out->blocks[i];
    free(ends);
    free(out->blocks);
    out->blocks = sorted;
    out->max_blocks = out->n_blocks;
    return VBS_OK;
}

/* Sets the origin of an item; low: the lowest byte of all. */
static void set_origin(struct vbs_exec_block_item *item, int64_t low, int64_t alignment)
{
    int64_t anchor = item->anchor < low ? low : item->anchor;

    if (anchor % OPERAND_ALIGNMENT == 0 || alignment < OPERAND_ALIGNMENT) {
        item->alignment = alignment;
        item->origin = low / alignment * alignment;
    } else {
        item->alignment = OPERAND_ALIGNMENT;
        item->origin =
            anchor - (anchor - low + OPERAND_ALIGNMENT - 1) / OPERAND_ALIGNMENT * OPERAND_ALIGNMENT;
    }
}

/* Returns the alignment of weights of so many bytes that have to be dense: all of their values have
 * the same width, by which the bytes can be divided. */
static int64_t dense_alignment(int64_t bytes)
{
    int64_t alignment = bytes & -bytes;

    return alignment == 0 || alignment > VBS_EXEC_DENSE ? VBS_EXEC_DENSE : alignment;
}

void vbs_exec_blocks_align(struct vbs_exec_blocks *blocks, const struct vbs_exec_checked *checked,
                           int64_t alignment)
{
    int at = 0;

    for (int i = 0; i < blocks->n_items; i++) {
        const struct vbs_exec_block *first = &blocks->blocks[at];
        bool has_any = at < blocks->n_blocks && blocks->item_of[first->load] == i;
        int64_t low = has_any ? first->from : 0, own = alignment;

        if (alignment == VBS_EXEC_DENSE && has_any)
            own = dense_alignment(checked->packed[first->packed].packed_bytes);
        for (; at < blocks->n_blocks && blocks->item_of[blocks->blocks[at].load] == i; at++)
            low = blocks->blocks[at].from < low ? blocks->blocks[at].from : low;
        set_origin(&blocks->items[i], low, own);
    }
}

/* ---- the whole ---- */

static enum vbs_status begin_blocks(struct blocking *p)
{
    const struct vbs_schedule *schedule = p->checked->schedule;
    struct vbs_exec_blocks *out = p->out;

    for (int64_t i = 0; i < schedule->n_steps; i++)
        out->n_loads += schedule->steps[i].op == VBS_STEP_LOAD;
    out->steps = vbs_arena_alloc(&out->arena, (size_t)schedule->n_steps, sizeof *out->steps);
    p->packed = calloc((size_t)p->checked->n_packed + 1, sizeof *p->packed);
    p->parent = malloc(((size_t)out->n_loads + 1) * sizeof *p->parent);
    p->packed_of = malloc(((size_t)out->n_loads + 1) * sizeof *p->packed_of);
    p->anchor = malloc(((size_t)out->n_loads + 1) * sizeof *p->anchor);
    if (!out->steps || !p->packed || !p->parent || !p->packed_of || !p->anchor)
        return vbs_no_memory(p->ctx);
    for (int i = 0; i < out->n_loads; i++) {
        p->parent[i] = i;
        p->anchor[i] = -1;
    }
    for (int64_t i = 0; i < schedule->n_steps; i++)
        out->steps[i].load = -1;
    return VBS_OK;
}

enum vbs_status vbs_exec_blocks_init(struct vbs_ctx *ctx, struct vbs_exec_blocks *blocks,
                                     const struct vbs_exec_checked *checked, const int *begins)
{
    struct blocking p = {.ctx = ctx, .checked = checked, .begins = begins, .out = blocks};
    enum vbs_status status = begin_blocks(&p);

    if (status != VBS_OK)
        goto done;
    status = block_steps(&p);
    if (status != VBS_OK)
        goto done;
    status = join_residents(&p);
    if (status != VBS_OK)
        goto done;
    status = number_items(&p);
    if (status != VBS_OK)
        goto done;
    status = sort_blocks(&p);
done:
    for (int k = 0; k < checked->n_packed && p.packed; k++)
        free(p.packed[k].runs);
    free(p.packed);
    free(p.parent);
    free(p.packed_of);
    free(p.anchor);
    return status;
}

void vbs_exec_blocks_clear(struct vbs_exec_blocks *blocks)
{
    free(blocks->blocks);
    vbs_arena_clear(&blocks->arena);
    *blocks = (struct vbs_exec_blocks){0};
}
