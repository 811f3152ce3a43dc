#include "sweep/items.h"

#include "base/fail.h"
#include "base/grow.h"
#include "sweep/claim.h"
#include "sweep/results.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 32  /* lists of a sweep */
#define FEW        256 /* tasks of which each is looked for by itself */

void vbs_items_free(struct vbs_sweep_items *items)
{
    free(items->items);
    free(items->table);
    *items = (struct vbs_sweep_items){0};
}

void vbs_items_set(struct vbs_sweep_items *items, struct vbs_sweep_item *item,
                   enum vbs_sweep_state state)
{
    items->counts.n[item->state]--;
    items->counts.n[state]++;
    item->state = (uint8_t)state;
}

const char *vbs_items_ending(const struct vbs_sweep *sweep, const struct vbs_sweep_item *item)
{
    int64_t digits[MAX_DIGITS];

    return sweep->groups[vbs_sweep_digits(sweep, item->index, digits)].ending;
}

/* ---- by name ---- */

/* Gives the place of a name in the table: names are hashes, whose lowest bits choose it. */
static uint32_t *slot_of(const struct vbs_sweep_items *items, uint64_t name)
{
    size_t i = (size_t)name & (items->size - 1);

    while (items->table[i] && items->items[items->table[i] - 1].name != name)
        i = (i + 1) & (items->size - 1);
    return &items->table[i];
}

struct vbs_sweep_item *vbs_items_find(const struct vbs_sweep_items *items, uint64_t name)
{
    uint32_t i = *slot_of(items, name);

    return i ? &items->items[i - 1] : NULL;
}

/* Enters all items into a table, the first of each name; the others are equal to it. */
static enum vbs_status enter_all(struct vbs_ctx *ctx, struct vbs_sweep_items *items)
{
    items->size = 64;
    while (items->size < 2 * (size_t)items->n)
        items->size *= 2;
    items->table = calloc(items->size, sizeof *items->table);
    if (!items->table)
        return vbs_no_memory(ctx);
    for (int64_t i = 0; i < items->n; i++) {
        uint32_t *slot = slot_of(items, items->items[i].name);

        if (*slot)
            vbs_items_set(items, &items->items[i], VBS_SWEEP_EQUAL);
        else
            *slot = (uint32_t)(i + 1);
    }
    return VBS_OK;
}

/* ---- which tasks ---- */

static enum vbs_status add(struct vbs_ctx *ctx, struct vbs_sweep_items *items, int64_t index)
{
    VBS_TRY(vbs_grow(ctx, &items->items, &items->capacity, items->n + 1, sizeof *items->items));
    items->items[items->n++] = (struct vbs_sweep_item){.index = (uint32_t)index};
    return VBS_OK;
}

/* Adds a task behind those whose results it reads. Their groups are of lower levels. */
static enum vbs_status add_with_needs(struct vbs_ctx *ctx, const struct vbs_sweep *sweep,
                                      struct vbs_sweep_items *items, int64_t index)
{
    int64_t digits[MAX_DIGITS];
    const struct vbs_sweep_rules *rules = &sweep->rules[vbs_sweep_digits(sweep, index, digits)];

    for (int i = 0; i < rules->n_needs; i++)
        VBS_TRY(add_with_needs(ctx, sweep, items, vbs_sweep_index(sweep, rules->needs[i], digits)));
    return add(ctx, items, index);
}

static int by_index(const void *a, const void *b)
{
    const struct vbs_sweep_item *one = a, *other = b;

    return one->index < other->index ? -1 : one->index > other->index;
}

static enum vbs_status choose(struct vbs_ctx *ctx, const struct vbs_sweep *sweep,
                              const int64_t *tasks, int64_t n, struct vbs_sweep_items *items)
{
    int64_t kept = 0;

    if (!tasks)
        VBS_TRY(vbs_grow(ctx, &items->items, &items->capacity, sweep->info.n_tasks,
                         sizeof *items->items));
    for (int64_t i = 0; !tasks && i < sweep->info.n_tasks; i++)
        VBS_TRY(add(ctx, items, i));
    for (int64_t i = 0; tasks && i < n; i++) {
        if (tasks[i] < 0 || tasks[i] >= sweep->info.n_tasks)
            return vbs_fail(ctx, VBS_USAGE, "there is no task %lld", (long long)tasks[i]);
        VBS_TRY(add_with_needs(ctx, sweep, items, tasks[i]));
    }
    if (!tasks || items->n == 0)
        return VBS_OK;
    qsort(items->items, (size_t)items->n, sizeof *items->items, by_index);
    for (int64_t i = 0; i < items->n; i++)
        if (i == 0 || items->items[i].index != items->items[kept - 1].index)
            items->items[kept++] = items->items[i];
    items->n = kept;
    return VBS_OK;
}

/* ---- states ---- */

/* What is listed, and of which sweep. */
struct state_listing {
    const struct vbs_sweep *sweep;
    struct vbs_sweep_items *items;
};

static void note_file(void *self, uint64_t name, const char *ending, bool claim)
{
    const struct state_listing *l = self;
    struct vbs_sweep_item *item = vbs_items_find(l->items, name);
    enum vbs_sweep_state state = VBS_SWEEP_LEFT;

    if (!item || item->state == VBS_SWEEP_DONE)
        return;
    if (claim)
        state = vbs_claim_is_held(l->sweep, name) ? VBS_SWEEP_RUNNING : VBS_SWEEP_LEFT;
    else if (strcmp(ending, vbs_items_ending(l->sweep, item)) == 0)
        state = VBS_SWEEP_DONE;
    else if (strcmp(ending, "failed") == 0)
        state = VBS_SWEEP_FAILED;
    if (state != VBS_SWEEP_LEFT)
        vbs_items_set(l->items, item, state);
}

static enum vbs_status find_states(struct vbs_ctx *ctx, struct vbs_sweep *sweep,
                                   struct vbs_sweep_items *items)
{
    struct state_listing listing = {sweep, items};

    if (items->n > FEW)
        return vbs_results_list(ctx, sweep, note_file, &listing);
    for (int64_t i = 0; i < items->n; i++) {
        struct vbs_sweep_item *item = &items->items[i];
        enum vbs_sweep_state state;

        if (item->state == VBS_SWEEP_EQUAL)
            continue;
        state = vbs_results_state(sweep, item->name, vbs_items_ending(sweep, item));
        if (state == VBS_SWEEP_LEFT && vbs_claim_is_held(sweep, item->name))
            state = VBS_SWEEP_RUNNING;
        vbs_items_set(items, item, state);
    }
    return VBS_OK;
}

enum vbs_status vbs_items_make(struct vbs_ctx *ctx, struct vbs_sweep *sweep, const int64_t *tasks,
                               int64_t n, struct vbs_sweep_items *items)
{
    struct vbs_sweep_items made = {0};
    enum vbs_status status = choose(ctx, sweep, tasks, n, &made);

    made.counts.n[VBS_SWEEP_LEFT] = made.n;
    for (int64_t i = 0; status == VBS_OK && i < made.n; i++) {
        if (i % 4096 == 0)
            status = vbs_check_cancel(ctx);
        if (status == VBS_OK)
            status = vbs_sweep_hash(ctx, sweep, made.items[i].index, &made.items[i].name);
    }
    if (status == VBS_OK)
        status = enter_all(ctx, &made);
    if (status == VBS_OK)
        status = find_states(ctx, sweep, &made);
    if (status == VBS_OK)
        *items = made;
    else
        vbs_items_free(&made);
    return status;
}

enum vbs_status vbs_items_needs(struct vbs_ctx *ctx, struct vbs_sweep *sweep,
                                const struct vbs_sweep_items *items,
                                const struct vbs_sweep_item *item, enum vbs_sweep_state *state)
{
    int64_t digits[MAX_DIGITS];
    const struct vbs_sweep_rules *rules =
        &sweep->rules[vbs_sweep_digits(sweep, item->index, digits)];
    enum vbs_sweep_state all = VBS_SWEEP_DONE;

    for (int i = 0; i < rules->n_needs; i++) {
        const struct vbs_sweep_item *need;
        uint64_t name;

        VBS_TRY(vbs_sweep_hash(ctx, sweep, vbs_sweep_index(sweep, rules->needs[i], digits), &name));
        need = vbs_items_find(items, name);
        if (need->state == VBS_SWEEP_FAILED || need->state == VBS_SWEEP_BLOCKED)
            all = VBS_SWEEP_BLOCKED;
        else if (need->state != VBS_SWEEP_DONE && all == VBS_SWEEP_DONE)
            all = VBS_SWEEP_LEFT;
    }
    *state = all;
    return VBS_OK;
}

/* Marks the tasks that read results of tasks that failed. */
static enum vbs_status block(struct vbs_ctx *ctx, struct vbs_sweep *sweep,
                             struct vbs_sweep_items *items)
{
    for (int64_t i = 0; i < items->n; i++) {
        struct vbs_sweep_item *item = &items->items[i];
        enum vbs_sweep_state needs;

        if (items->counts.n[VBS_SWEEP_FAILED] == 0 || item->state != VBS_SWEEP_LEFT)
            continue;
        VBS_TRY(vbs_items_needs(ctx, sweep, items, item, &needs));
        if (needs == VBS_SWEEP_BLOCKED)
            vbs_items_set(items, item, VBS_SWEEP_BLOCKED);
    }
    return VBS_OK;
}

enum vbs_status vbs_sweep_look(struct vbs_ctx *ctx, struct vbs_sweep *sweep, vbs_sweep_visit *visit,
                               void *self, struct vbs_sweep_counts *counts)
{
    struct vbs_sweep_items items = {0};
    enum vbs_status status;

    VBS_TRY(vbs_items_make(ctx, sweep, NULL, 0, &items));
    status = block(ctx, sweep, &items);
    for (int64_t i = 0; visit && status == VBS_OK && i < items.n; i++) {
        const struct vbs_sweep_item *item = &items.items[i];
        char name[VBS_SWEEP_NAME_SIZE];

        vbs_sweep_write_name(item->name, name);
        status = visit(self, item->index, name, (enum vbs_sweep_state)item->state);
    }
    if (status == VBS_OK)
        *counts = items.counts;
    vbs_items_free(&items);
    return status;
}
