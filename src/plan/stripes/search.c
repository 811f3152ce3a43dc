/* Which heights are tried, and the segments that are worth it. */
#include "plan/stripes/walk.h"

#include "base/arith.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LIMITS 16   /* limits of workspace that are tried for the same heights */
#define MAX_TRIES  1024 /* heights that are tried for one range */

/* ---- opening ---- */

static int compare_options(const void *a, const void *b)
{
    const struct stripe_option *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

/* Removes options that take no less time than one with fewer bytes. */
static void keep_best(struct stripe_height *height)
{
    int n = 0;

    qsort(height->options, (size_t)height->n_options, sizeof *height->options, compare_options);
    for (int i = 0; i < height->n_options; i++)
        if (n == 0 || height->options[i].ticks < height->options[n - 1].ticks)
            height->options[n++] = height->options[i];
    height->n_options = n;
}

static struct stripe_option option_of(const struct vbs_stripes *stripes,
                                      const struct vbs_profile_row *row)
{
    int64_t weight_bytes = stripes->loads ? row->weight_bytes : 0;

    return (struct stripe_option){.bytes = row->ws_bytes + weight_bytes,
                                  .ticks = vbs_task_ticks(stripes->clock, row->time_us),
                                  .weight_bytes = weight_bytes,
                                  .algorithm = row->algorithm,
                                  .format = row->format};
}

/* Lists the heights of a layer: those of stripes of one sample, which come first, and all rows. */
static bool find_heights(struct vbs_stripes *stripes, int place)
{
    const struct vbs_task *task = stripes->task;
    struct stripe_layer *layer = &stripes->layers[place];
    const struct vbs_profile_layer *about = &task->profile->layers[layer->layer];
    int n_rows, n_stripes;
    const struct vbs_profile_row *rows =
        vbs_profile_rows(task->profile, layer->layer, task->batch_index[1], &n_rows);
    const struct vbs_profile_stripe *list =
        vbs_profile_stripes(task->profile, layer->layer, &n_stripes);
    struct stripe_height *height;

    layer->heights =
        vbs_arena_alloc(&stripes->arena, (size_t)n_stripes + 1, sizeof *layer->heights);
    if (!layer->heights)
        return false;
    if (!about->reaches)
        return true;
    layer->rows = about->rows;
    for (int i = 0; i <= n_stripes; i++) {
        bool whole = i == n_stripes || list[i].batch != 1;
        int n = whole ? n_rows : 1;

        if (!whole && layer->n_heights > 0 &&
            layer->heights[layer->n_heights - 1].rows == list[i].row.rows) {
            height = &layer->heights[layer->n_heights - 1];
        } else {
            height = &layer->heights[layer->n_heights++];
            height->rows = whole ? layer->rows : list[i].row.rows;
            height->options = vbs_arena_alloc(&stripes->arena, (size_t)(whole ? n_rows : n_stripes),
                                              sizeof *height->options);
            if (!height->options)
                return false;
        }
        for (int a = 0; a < n; a++)
            height->options[height->n_options++] =
                option_of(stripes, whole ? &rows[a] : &list[i].row);
        if (whole)
            break;
    }
    for (int h = 0; h < layer->n_heights; h++)
        keep_best(&layer->heights[h]);
    return true;
}

static bool open_layers(struct vbs_stripes *stripes)
{
    int n = stripes->task->n_layers, all = 0;
    size_t size = (size_t)n + 1;

    stripes->place = vbs_arena_alloc(&stripes->arena, size, sizeof *stripes->place);
    stripes->layers = vbs_arena_alloc(&stripes->arena, size, sizeof *stripes->layers);
    stripes->states = vbs_arena_alloc(&stripes->arena, size, sizeof *stripes->states);
    stripes->first_height = vbs_arena_alloc(&stripes->arena, size, sizeof *stripes->first_height);
    stripes->of_segment = vbs_arena_alloc(&stripes->arena, size, sizeof *stripes->of_segment);
    if (!stripes->place || !stripes->layers || !stripes->states || !stripes->first_height ||
        !stripes->of_segment)
        return false;
    stripes->place[0] = -1;
    for (int p = 0; p < n; p++) {
        stripes->place[stripes->order[p]] = p;
        stripes->layers[p].layer = stripes->order[p];
        if (!find_heights(stripes, p))
            return false;
        stripes->first_height[p] = all;
        all += stripes->layers[p].n_heights;
    }
    stripes->first_height[n] = all;
    stripes->most_bytes =
        vbs_arena_alloc(&stripes->arena, (size_t)all + 1, sizeof *stripes->most_bytes);
    stripes->counts = vbs_arena_alloc(&stripes->arena, (size_t)all + 1, sizeof *stripes->counts);
    return stripes->most_bytes && stripes->counts;
}

enum vbs_status vbs_stripes_open(struct vbs_ctx *ctx, const struct vbs_task *task, const int *order,
                                 struct vbs_stripes **stripes)
{
    struct vbs_stripes *made = calloc(1, sizeof *made);

    if (!made)
        return vbs_no_memory(ctx);
    made->clock = task;
    made->loads = task->rows_source;
    made->task = made->loads ? made->loads->task : task;
    made->order = order;
    if (!open_layers(made)) {
        vbs_stripes_close(made);
        return vbs_no_memory(ctx);
    }
    *stripes = made;
    return VBS_OK;
}

void vbs_stripes_close(struct vbs_stripes *stripes)
{
    if (!stripes)
        return;
    free(stripes->pieces);
    vbs_arena_clear(&stripes->arena);
    free(stripes);
}

/* ---- segments of given heights ---- */

/* The search for the segments of one range. */
struct segment_search {
    struct vbs_ctx *ctx;
    struct vbs_stripes *stripes;
    int from, to;
    bool early;    /* the order of the steps that were walked through last */
    bool branches; /* the two orders may differ */
    int64_t before_bytes;
    struct vbs_segment_list *segments;
    int64_t first;             /* of the segments of this range in the list */
    uint64_t tried[MAX_TRIES]; /* hashes of the heights that were tried */
    int n_tried, most_tries;
    struct segment_layer *layers; /* [to - from + 1] */
};

/* Gives whether a takes no more bytes than b, and no more ticks for any number of samples. */
static bool is_as_good(const struct vbs_segment *a, const struct vbs_segment *b)
{
    return a->bytes <= b->bytes && a->ticks <= b->ticks &&
           a->ticks - a->once_ticks <= b->ticks - b->once_ticks;
}

/* Adds a segment unless one of the range is as good, and removes those that are no better. */
static enum vbs_status keep(struct segment_search *search, const struct vbs_segment *segment)
{
    struct vbs_segment_list *all = search->segments;
    int n = search->to - search->from + 1;
    int64_t end = search->first;
    int *heights;

    for (int64_t i = search->first; i < all->n; i++)
        if (is_as_good(&all->list[i], segment))
            return VBS_OK;
    for (int64_t i = search->first; i < all->n; i++)
        if (!is_as_good(segment, &all->list[i]))
            all->list[end++] = all->list[i];
    all->n = end;
    heights = vbs_arena_alloc(&search->stripes->arena, (size_t)n, sizeof *heights);
    if (!heights)
        return vbs_no_memory(search->ctx);
    for (int p = 0; p < n; p++)
        heights[p] = search->stripes->states[search->from + p].height;
    VBS_TRY(vbs_grow(search->ctx, &all->list, &all->capacity, all->n + 1, sizeof *all->list));
    all->list[all->n] = *segment;
    all->list[all->n++].heights = heights;
    return VBS_OK;
}

/* Computes what each layer of the segment that was walked through takes with at most most_ws, and
 * sets segment->ticks to the time of all steps. False: some step needs more. */
static bool find_layers(const struct segment_search *search, int64_t most_ws,
                        struct vbs_segment *segment)
{
    const struct vbs_stripes *stripes = search->stripes;

    *segment = (struct vbs_segment){
        .from = search->from, .to = search->to, .early = search->early, .most_ws = most_ws};
    for (int p = search->from; p <= search->to; p++) {
        struct segment_layer *layer = &search->layers[p - search->from];
        uint64_t formats = 0;

        *layer = (struct segment_layer){.runs = stripes->states[p].runs};
        for (int h = 0; h < stripes->layers[p].n_heights; h++) {
            int at = stripes->first_height[p] + h;
            const struct stripe_option *option;
            int64_t bytes;

            if (stripes->counts[at] == 0)
                continue;
            option = vbs_stripe_option(&stripes->layers[p].heights[h], most_ws);
            if (!option)
                return false;
            segment->ticks += stripes->counts[at] * option->ticks;
            bytes = stripes->most_bytes[at] + option->bytes - option->weight_bytes;
            layer->step_bytes = bytes > layer->step_bytes ? bytes : layer->step_bytes;
            layer->weight_bytes += formats >> option->format & 1 ? 0 : option->weight_bytes;
            formats |= (uint64_t)1 << option->format;
        }
    }
    return true;
}

static int by_worth(const void *a, const void *b)
{
    const struct segment_layer *x = a, *y = b;

    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    return (x->weight_bytes > y->weight_bytes) - (x->weight_bytes < y->weight_bytes);
}

/* Finds what loads cost, and sorts the layers so that those whose weights should stay come first.
 */
static void price_loads(const struct segment_search *search)
{
    const struct vbs_rows_source *loads = search->stripes->loads;
    int n = search->to - search->from + 1;

    for (int i = 0; i < n; i++) {
        struct segment_layer *layer = &search->layers[i];

        if (layer->weight_bytes == 0)
            continue;
        layer->load_ticks = vbs_task_ticks(
            search->stripes->clock, loads->load_us + loads->byte_us * (double)layer->weight_bytes);
        layer->worth =
            (double)layer->runs * (double)layer->load_ticks / (double)layer->weight_bytes;
    }
    qsort(search->layers, (size_t)n, sizeof *search->layers, by_worth);
}

/* Keeps the segments of these steps with the weights of none, the first, the first two, ... of the
 * layers staying until its end. */
static enum vbs_status keep_all(struct segment_search *search, const struct vbs_segment *steps)
{
    int n = search->to - search->from + 1;
    int64_t stay_bytes = 0;

    if (search->stripes->loads)
        price_loads(search);
    for (int n_stay = 0; n_stay <= n; n_stay++) {
        struct vbs_segment segment = *steps;

        if (n_stay > 0 && search->layers[n_stay - 1].worth <= 0)
            break; /* this saves no loads */
        if (n_stay > 0)
            stay_bytes += search->layers[n_stay - 1].weight_bytes;
        for (int i = 0; i < n; i++) {
            const struct segment_layer *layer = &search->layers[i];
            int64_t bytes = layer->step_bytes + stay_bytes + (i < n_stay ? 0 : layer->weight_bytes);

            segment.bytes = bytes > segment.bytes ? bytes : segment.bytes;
            segment.ticks += layer->load_ticks * (i < n_stay ? 1 : layer->runs);
            segment.once_ticks += i < n_stay ? layer->load_ticks : 0;
        }
        VBS_TRY(keep(search, &segment));
    }
    return VBS_OK;
}

static int compare_bytes(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Lists the bytes of the options of steps that were walked through, ascending, at most
 * MAX_LIMITS of them, the largest among them. */
static enum vbs_status find_limits(const struct segment_search *search, int64_t *limits, int *n)
{
    const struct vbs_stripes *stripes = search->stripes;
    int64_t *all = NULL, capacity = 0, count = 0, distinct = 0;

    for (int p = search->from; p <= search->to; p++)
        for (int h = 0; h < stripes->layers[p].n_heights; h++) {
            const struct stripe_height *height = &stripes->layers[p].heights[h];

            if (stripes->counts[stripes->first_height[p] + h] == 0)
                continue;
            for (int i = 0; i < height->n_options; i++) {
                enum vbs_status status =
                    vbs_grow(search->ctx, &all, &capacity, count + 1, sizeof *all);

                if (status != VBS_OK) {
                    free(all);
                    return status;
                }
                all[count++] = height->options[i].bytes;
            }
        }
    if (all)
        qsort(all, (size_t)count, sizeof *all, compare_bytes);
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || all[i] != all[distinct - 1])
            all[distinct++] = all[i];
    *n = (int)(distinct < MAX_LIMITS ? distinct : MAX_LIMITS);
    for (int i = 0; i < *n; i++)
        limits[i] = all[(int64_t)(i + 1) * distinct / *n - 1];
    free(all);
    return VBS_OK;
}

/* Notes that the heights in states are tried; false: they were, or there have been enough. */
static bool is_new(struct segment_search *search)
{
    uint64_t hash = VBS_MIX_FIRST;

    for (int p = search->from; p <= search->to; p++)
        hash = vbs_mix(hash, (uint64_t)search->stripes->states[p].height);
    for (int i = 0; i < search->n_tried; i++)
        if (search->tried[i] == hash)
            return false;
    if (search->n_tried == search->most_tries)
        return false;
    search->tried[search->n_tried++] = hash;
    return true;
}

/* Walks through the segment with the heights in states, and keeps what is worth it. */
static enum vbs_status try_order(struct segment_search *search, bool early)
{
    int64_t limits[MAX_LIMITS];
    int n_limits;
    bool walked;

    search->early = early;
    VBS_TRY(vbs_stripes_walk(search->ctx, search->stripes, search->from, search->to, early,
                             search->before_bytes, &walked));
    if (!walked)
        return VBS_OK;
    VBS_TRY(find_limits(search, limits, &n_limits));
    for (int i = 0; i < n_limits; i++) {
        struct vbs_segment segment;

        if (find_layers(search, limits[i], &segment))
            VBS_TRY(keep_all(search, &segment));
    }
    return VBS_OK;
}

/* Tries the heights in states in both orders of steps, while there is time. */
static enum vbs_status try_heights(struct segment_search *search)
{
    const struct vbs_task *clock = search->stripes->clock;

    if ((clock->rows_until_s > 0 && vbs_clock_s() > clock->rows_until_s) ||
        vbs_task_is_late(clock) || !is_new(search))
        return VBS_OK;
    VBS_TRY(vbs_check_cancel(search->ctx));
    VBS_TRY(try_order(search, false));
    return search->branches ? try_order(search, true) : VBS_OK;
}

/* ---- families of heights ---- */

/* Sets the layer's height to the largest that it has up to rows; true where this changes it. */
static bool set_height(struct vbs_stripes *stripes, int place, double rows)
{
    const struct stripe_layer *layer = &stripes->layers[place];
    int before = stripes->states[place].height, height = 0;

    while (height + 1 < layer->n_heights && layer->heights[height + 1].rows <= rows)
        height++;
    stripes->states[place].height = layer->heights[height].rows;
    return stripes->states[place].height != before;
}

/* Tries heights base * (rows of the layer / fewest rows)^(exponent / 2), for base 1, 2, 4, ...
 * until all are whole. */
static enum vbs_status try_family(struct segment_search *search, int exponent)
{
    struct vbs_stripes *stripes = search->stripes;
    int fewest = stripes->layers[search->from].rows;
    bool whole = false;

    for (int p = search->from; p <= search->to; p++)
        if (stripes->layers[p].rows < fewest)
            fewest = stripes->layers[p].rows;
    for (int base = 1; !whole; base *= 2) {
        bool changed = base == 1;

        whole = true;
        for (int p = search->from; p <= search->to; p++) {
            double share = (double)stripes->layers[p].rows / fewest;

            changed |= set_height(stripes, p, base * pow(share, exponent / 2.0));
            whole = whole && stripes->states[p].height == stripes->layers[p].rows;
        }
        if (changed && !whole)
            VBS_TRY(try_heights(search));
    }
    return VBS_OK;
}

/* ---- neighbours ---- */

/* Tries the heights of a segment with the height of one layer after another made one higher or one
 * lower. */
static enum vbs_status try_neighbours(struct segment_search *search, const int *heights)
{
    struct vbs_stripes *stripes = search->stripes;

    for (int p = search->from; p <= search->to; p++)
        for (int direction = -1; direction <= 1; direction += 2) {
            const struct stripe_layer *layer = &stripes->layers[p];
            int height = 0;

            for (int q = search->from; q <= search->to; q++)
                stripes->states[q].height = heights[q - search->from];
            while (layer->heights[height].rows < heights[p - search->from])
                height++;
            height += direction;
            if (height < 0 || height == layer->n_heights)
                continue;
            stripes->states[p].height = layer->heights[height].rows;
            VBS_TRY(try_heights(search));
        }
    return VBS_OK;
}

/* Tries the neighbours of all segments of the range, then of those that this adds, until there are
 * no more or enough were tried. */
static enum vbs_status climb(struct segment_search *search)
{
    struct vbs_segment_list *all = search->segments;
    int before = -1;

    while (search->n_tried > before) {
        int64_t n = all->n - search->first;
        const int **heights = malloc((size_t)(n + 1) * sizeof *heights);
        enum vbs_status status = heights ? VBS_OK : vbs_no_memory(search->ctx);

        before = search->n_tried;
        for (int64_t i = 0; i < n && status == VBS_OK; i++)
            heights[i] = all->list[search->first + i].heights;
        for (int64_t i = 0; i < n && status == VBS_OK; i++)
            status = try_neighbours(search, heights[i]);
        free(heights);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

/* Few layers take little time to walk through, and there are few of their heights. */
static int most_tries(int n_layers)
{
    int n = MAX_TRIES / (n_layers * n_layers);

    return n > 40 ? n : 40;
}

/* Gives whether the layer reads the one before it, and no other of the segment from place from. */
static bool follows(const struct vbs_stripes *stripes, int place, int from)
{
    const struct vbs_profile_layer *l = &stripes->task->profile->layers[stripes->order[place]];
    bool only = true, reads = false;

    for (int i = 0; i < l->n_inputs; i++) {
        int at = stripes->place[l->inputs[i]];

        only = only && (at < from || at == place - 1);
        reads = reads || at == place - 1;
    }
    return only && reads;
}

enum vbs_status vbs_stripes_find(struct vbs_ctx *ctx, struct vbs_stripes *stripes, int from, int to,
                                 int64_t before_bytes, struct vbs_segment_list *segments)
{
    struct segment_search search = {.ctx = ctx,
                                    .stripes = stripes,
                                    .from = from,
                                    .to = to,
                                    .before_bytes = before_bytes,
                                    .segments = segments,
                                    .first = segments->n,
                                    .most_tries = most_tries(to - from + 1),
                                    .layers = stripes->of_segment};
    bool same_rows = true;

    for (int p = from; p <= to; p++) {
        if (stripes->layers[p].rows == 0)
            return VBS_OK;
        same_rows = same_rows && stripes->layers[p].rows == stripes->layers[from].rows;
        search.branches |= p > from && !follows(stripes, p, from);
    }
    for (int exponent = 0; exponent <= (same_rows ? 0 : 2); exponent++)
        VBS_TRY(try_family(&search, exponent));
    return climb(&search);
}

/* ---- steps ---- */

enum vbs_status vbs_stripes_emit(struct vbs_ctx *ctx, struct vbs_stripes *stripes,
                                 const struct vbs_segment *segment, struct vbs_step_list *steps)
{
    bool walked;

    for (int p = segment->from; p <= segment->to; p++)
        stripes->states[p].height = segment->heights[p - segment->from];
    VBS_TRY(vbs_stripes_walk(ctx, stripes, segment->from, segment->to, segment->early, 0, &walked));
    for (int64_t i = 0; i < stripes->n_pieces; i++) {
        const struct stripe_piece *piece = &stripes->pieces[i];
        const struct stripe_layer *layer = &stripes->layers[piece->place];
        const struct stripe_height *height = &layer->heights[piece->height];
        const struct vbs_step step = {.layer = layer->layer,
                                      .batch = 1,
                                      .algorithm =
                                          vbs_stripe_option(height, segment->most_ws)->algorithm,
                                      .row = piece->row,
                                      .rows = height->rows,
                                      .window = stripes->states[piece->place].window};

        VBS_TRY(vbs_step_list_append(ctx, steps, &step));
    }
    return VBS_OK;
}
