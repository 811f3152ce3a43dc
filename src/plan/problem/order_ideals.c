#include "plan/problem/order_ideals.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

/* The sets of layers that are listed so far, found by hashing. */
struct listing {
    struct vbs_ctx *ctx;
    int n_words, n, capacity, limit;
    uint64_t *sets; /* [capacity][n_words] */
    int *table;     /* [2 * capacity], -1: free */
};

static uint64_t *set_at(const struct listing *listing, int i)
{
    return listing->sets + (size_t)i * (size_t)listing->n_words;
}

static size_t slot_of(const struct listing *listing, const uint64_t *set)
{
    uint64_t hash = 0x9e3779b97f4a7c15;
    size_t mask = 2 * (size_t)listing->capacity - 1;

    for (int w = 0; w < listing->n_words; w++) {
        hash = (hash ^ set[w]) * 0xff51afd7ed558ccd;
        hash ^= hash >> 32;
    }
    return hash & mask;
}

/* Finds the slot of set, or the free one where set belongs. */
static int *find_slot(const struct listing *listing, const uint64_t *set)
{
    size_t mask = 2 * (size_t)listing->capacity - 1, bytes = (size_t)listing->n_words * sizeof *set;
    size_t slot = slot_of(listing, set);

    while (listing->table[slot] >= 0 &&
           memcmp(set_at(listing, listing->table[slot]), set, bytes) != 0)
        slot = (slot + 1) & mask;
    return &listing->table[slot];
}

static enum vbs_status grow(struct listing *listing)
{
    int capacity = listing->capacity ? 2 * listing->capacity : 64;
    size_t bytes = (size_t)listing->n_words * sizeof(uint64_t);
    uint64_t *sets = realloc(listing->sets, (size_t)capacity * bytes);
    int *table;

    if (!sets)
        return vbs_no_memory(listing->ctx);
    listing->sets = sets;
    table = realloc(listing->table, 2 * (size_t)capacity * sizeof *table);
    if (!table)
        return vbs_no_memory(listing->ctx);
    listing->table = table;
    listing->capacity = capacity;
    memset(table, 0xff, 2 * (size_t)capacity * sizeof *table);
    for (int i = 0; i < listing->n; i++)
        *find_slot(listing, set_at(listing, i)) = i;
    return VBS_OK;
}

/* Gives the index of set, which is listed now if it was not; set may lie in the listing. */
static enum vbs_status list_set(struct listing *listing, const uint64_t *set, int *index)
{
    int *slot;

    if (listing->n == listing->capacity)
        VBS_TRY(grow(listing));
    slot = find_slot(listing, set);
    if (*slot < 0) {
        memcpy(set_at(listing, listing->n), set, (size_t)listing->n_words * sizeof *set);
        *slot = listing->n++;
    }
    *index = *slot;
    return VBS_OK;
}

static void listing_clear(struct listing *listing)
{
    free(listing->sets);
    free(listing->table);
}

static bool is_enabled(const struct vbs_task *task, const uint64_t *set, int layer)
{
    if (vbs_layers_have(set, layer))
        return false;
    for (int i = 0; i < task->n_inputs[layer]; i++)
        if (task->inputs[layer][i] && !vbs_layers_have(set, task->inputs[layer][i]))
            return false;
    return true;
}

/* Gives whether a reader of tensor other than layer is not in set. */
static bool is_awaited(const struct vbs_task *task, const uint64_t *set, int tensor, int layer)
{
    for (int i = 0; i < task->n_readers[tensor]; i++) {
        int reader = task->readers[tensor][i];

        if (reader != layer && !vbs_layers_have(set, reader))
            return true;
    }
    return false;
}

static int64_t live_bytes(const struct vbs_task *task, const uint64_t *set)
{
    int64_t bytes = 0;

    for (int t = 0; t <= task->n_layers; t++) {
        bool is_final = t > 0 && task->n_readers[t] == 0;

        if (vbs_task_kept(task, t) && (t == 0 || vbs_layers_have(set, t)) &&
            (is_final || is_awaited(task, set, t, 0)))
            bytes += vbs_task_bytes(task, t);
    }
    return bytes;
}

/* Lists every set, smaller ones first: each is reached from a set with one layer less. */
static enum vbs_status list_all(const struct vbs_task *task, struct listing *listing)
{
    uint64_t *set = calloc((size_t)listing->n_words, sizeof *set);
    int index;
    enum vbs_status status = set ? list_set(listing, set, &index) : vbs_no_memory(listing->ctx);

    for (int i = 0; status == VBS_OK && i < listing->n && listing->n <= listing->limit; i++) {
        if (vbs_cancelled(listing->ctx))
            status = vbs_fail(listing->ctx, VBS_INTERRUPTED, "interrupted");
        for (int k = 1; status == VBS_OK && k <= task->n_layers; k++) {
            if (!is_enabled(task, set_at(listing, i), k))
                continue;
            memcpy(set, set_at(listing, i), (size_t)listing->n_words * sizeof *set);
            vbs_layers_add(set, k);
            status = list_set(listing, set, &index);
        }
    }
    free(set);
    return status;
}

/* Allocates n ideals without moves. */
static enum vbs_status init(struct vbs_ctx *ctx, struct vbs_order_ideals *ideals, int n,
                            int n_words)
{
    struct vbs_arena *arena = &ideals->arena;

    ideals->n = n;
    ideals->n_words = n_words;
    ideals->live_bytes = vbs_arena_alloc(arena, (size_t)n, sizeof *ideals->live_bytes);
    ideals->done = vbs_arena_alloc(arena, (size_t)n, (size_t)n_words * sizeof *ideals->done);
    ideals->n_done = vbs_arena_alloc(arena, (size_t)n, sizeof *ideals->n_done);
    ideals->first_move = vbs_arena_alloc(arena, (size_t)n + 1, sizeof *ideals->first_move);
    return ideals->live_bytes && ideals->done && ideals->n_done && ideals->first_move
               ? VBS_OK
               : vbs_no_memory(ctx);
}

static void take_sets(struct vbs_order_ideals *ideals, const struct listing *listing)
{
    size_t n_words = (size_t)listing->n_words;

    memcpy(ideals->done, listing->sets, (size_t)listing->n * n_words * sizeof *listing->sets);
    for (int p = 0; p < listing->n; p++)
        for (size_t w = 0; w < n_words; w++)
            ideals->n_done[p] += __builtin_popcountll(listing->sets[(size_t)p * n_words + w]);
}

static struct vbs_move move_of(const struct vbs_task *task, const uint64_t *set, int64_t live,
                               int layer, int to)
{
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    struct vbs_move move = {.layer = layer, .to = to, .base_bytes = live};

    if (vbs_task_reads_input(task, layer) && !vbs_task_kept(task, 0))
        move.base_bytes += vbs_task_bytes(task, 0);
    if (l->in_place && !is_awaited(task, set, l->inputs[0], layer))
        move.place_bytes = vbs_task_bytes(task, l->inputs[0]);
    return move;
}

static enum vbs_status find_moves(const struct vbs_task *task, const struct listing *listing,
                                  struct vbs_order_ideals *ideals)
{
    size_t bytes = (size_t)listing->n_words * sizeof(uint64_t);
    uint64_t *set = malloc(bytes);
    int n_moves = 0;
    int64_t capacity = 0;
    struct vbs_move *moves = NULL;
    enum vbs_status status = set ? VBS_OK : vbs_no_memory(listing->ctx);

    for (int i = 0; status == VBS_OK && i < ideals->n; i++) {
        ideals->first_move[i] = n_moves;
        for (int k = 1; status == VBS_OK && k <= task->n_layers; k++) {
            if (!is_enabled(task, set_at(listing, i), k))
                continue;
            status = vbs_grow(listing->ctx, &moves, &capacity, n_moves + 1, sizeof *moves);
            if (status != VBS_OK)
                break;
            memcpy(set, set_at(listing, i), bytes);
            vbs_layers_add(set, k);
            moves[n_moves++] = move_of(task, set_at(listing, i), ideals->live_bytes[i], k,
                                       *find_slot(listing, set));
        }
    }
    if (status == VBS_OK) {
        ideals->first_move[ideals->n] = n_moves;
        ideals->moves = vbs_arena_alloc(&ideals->arena, (size_t)n_moves, sizeof *ideals->moves);
        if (ideals->moves)
            memcpy(ideals->moves, moves, (size_t)n_moves * sizeof *moves);
        else
            status = vbs_no_memory(listing->ctx);
    }
    free(moves);
    free(set);
    return status;
}

enum vbs_status vbs_order_ideals_list(struct vbs_ctx *ctx, const struct vbs_task *task,
                                      struct vbs_order_ideals *ideals, bool *listed)
{
    struct listing listing = {
        .ctx = ctx, .n_words = (task->n_layers + 63) / 64, .limit = VBS_MAX_ORDER_IDEALS};
    enum vbs_status status = list_all(task, &listing);

    *ideals = (struct vbs_order_ideals){0};
    *listed = listing.n <= listing.limit;
    if (status == VBS_OK && *listed)
        status = init(ctx, ideals, listing.n, listing.n_words);
    if (status == VBS_OK && *listed) {
        take_sets(ideals, &listing);
        for (int i = 0; i < listing.n; i++)
            ideals->live_bytes[i] = live_bytes(task, set_at(&listing, i));
        status = find_moves(task, &listing, ideals);
    }
    listing_clear(&listing);
    if (status != VBS_OK)
        vbs_order_ideals_clear(ideals);
    return status;
}

/* Merges a move of the original into those of its class: the cheapest of each layer. */
static void merge_move(struct vbs_move *moves, int *n_moves, const struct vbs_move *move, int to)
{
    for (int m = 0; m < *n_moves; m++) {
        if (moves[m].layer != move->layer)
            continue;
        if (move->base_bytes < moves[m].base_bytes)
            moves[m].base_bytes = move->base_bytes;
        if (move->place_bytes > moves[m].place_bytes)
            moves[m].place_bytes = move->place_bytes;
        return;
    }
    moves[*n_moves] = *move;
    moves[(*n_moves)++].to = to;
}

/* Gives each class a number, in the order of its first member. So classes are sorted by their
 * number of layers, as ideals are. */
static enum vbs_status classify(struct vbs_ctx *ctx, const struct vbs_order_ideals *all,
                                const uint64_t *layers, struct listing *listing,
                                struct vbs_order_ideals *projection)
{
    uint64_t *set = malloc((size_t)all->n_words * sizeof *set);
    enum vbs_status status = VBS_OK;

    projection->projected =
        vbs_arena_alloc(&projection->arena, (size_t)all->n, sizeof *projection->projected);
    projection->n_original = all->n;
    if (!set || !projection->projected)
        status = vbs_no_memory(ctx);
    for (int i = 0; status == VBS_OK && i < all->n; i++) {
        for (int w = 0; w < all->n_words; w++)
            set[w] = all->done[(size_t)i * (size_t)all->n_words + (size_t)w] & layers[w];
        status = list_set(listing, set, &projection->projected[i]);
    }
    free(set);
    return status;
}

static enum vbs_status merge_classes(struct vbs_ctx *ctx, const struct vbs_order_ideals *all,
                                     const uint64_t *layers, int n_layers,
                                     struct vbs_order_ideals *projection)
{
    size_t n = (size_t)projection->n, capacity = n * (size_t)n_layers;
    struct vbs_move *moves = vbs_arena_alloc(&projection->arena, capacity, sizeof *moves);
    int *n_moves = calloc(n, sizeof *n_moves), count = 0;

    if (!moves || !n_moves) {
        free(n_moves);
        return vbs_no_memory(ctx);
    }
    for (int i = 0; i < projection->n; i++)
        projection->live_bytes[i] = INT64_MAX;
    for (int i = 0; i < all->n; i++) {
        int c = projection->projected[i];

        if (all->live_bytes[i] < projection->live_bytes[c])
            projection->live_bytes[c] = all->live_bytes[i];
        for (int m = all->first_move[i]; m < all->first_move[i + 1]; m++)
            if (vbs_layers_have(layers, all->moves[m].layer))
                merge_move(moves + (size_t)c * (size_t)n_layers, &n_moves[c], &all->moves[m],
                           projection->projected[all->moves[m].to]);
    }
    for (int c = 0; c < projection->n; c++) { /* closes the gaps */
        projection->first_move[c] = count;
        memmove(moves + count, moves + (size_t)c * (size_t)n_layers,
                (size_t)n_moves[c] * sizeof *moves);
        count += n_moves[c];
    }
    projection->first_move[projection->n] = count;
    projection->moves = moves;
    free(n_moves);
    return VBS_OK;
}

enum vbs_status vbs_order_ideals_project(struct vbs_ctx *ctx, const struct vbs_order_ideals *all,
                                         const uint64_t *layers,
                                         struct vbs_order_ideals *projection)
{
    struct listing listing = {.ctx = ctx, .n_words = all->n_words, .limit = all->n};
    enum vbs_status status;
    int n_layers = 0;

    *projection = (struct vbs_order_ideals){0};
    for (int w = 0; w < all->n_words; w++)
        n_layers += __builtin_popcountll(layers[w]);
    status = classify(ctx, all, layers, &listing, projection);
    if (status == VBS_OK)
        status = init(ctx, projection, listing.n, listing.n_words);
    if (status == VBS_OK) {
        take_sets(projection, &listing);
        status = merge_classes(ctx, all, layers, n_layers, projection);
    }
    listing_clear(&listing);
    if (status != VBS_OK)
        vbs_order_ideals_clear(projection);
    return status;
}

void vbs_order_ideals_clear(struct vbs_order_ideals *ideals)
{
    vbs_arena_clear(&ideals->arena);
    *ideals = (struct vbs_order_ideals){0};
}
