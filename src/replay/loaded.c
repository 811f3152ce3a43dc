#include "replay/loaded.h"

#include "base/arith.h"

#include <search.h>
#include <stdlib.h>

struct loaded_segment {
    struct byte_range range;
    int64_t load;
};

/* Compares segments. In a tree whose segments do not overlap, a search finds one that overlaps the
 * key. */
static int compare(const void *left, const void *right)
{
    const struct loaded_segment *a = left, *b = right;

    if (a->range.to <= b->range.from)
        return -1;
    return a->range.from >= b->range.to;
}

/* Finds a segment with some byte of from..to - 1, or null. */
static struct loaded_segment *find(struct packed *packed, int64_t from, int64_t to)
{
    const struct loaded_segment key = {.range = {from, to}};
    void *found = tfind(&key, &packed->segments, compare);

    return found ? *(struct loaded_segment **)found : NULL;
}

static bool insert(struct packed *packed, const struct byte_range *range, int64_t load)
{
    struct loaded_segment *segment = malloc(sizeof *segment);

    if (!segment)
        return false;
    *segment = (struct loaded_segment){.range = *range, .load = load};
    if (!tsearch(segment, &packed->segments, compare)) {
        free(segment);
        return false;
    }
    return true;
}

static void erase(struct packed *packed, struct loaded_segment *segment)
{
    tdelete(segment, &packed->segments, compare);
    free(segment);
}

static int count_formats(const struct vbs_profile *profile)
{
    int n_formats = 1, n_rows;

    for (int k = 1; k <= profile->n_layers; k++) {
        const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, k, &n_rows);

        for (int i = 0; i < n_rows; i++)
            n_formats = stripes[i].row.format >= n_formats ? stripes[i].row.format + 1 : n_formats;
        for (int b = 0; b < profile->n_batches; b++) {
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, b, &n_rows);

            for (int i = 0; i < n_rows; i++)
                n_formats = rows[i].format >= n_formats ? rows[i].format + 1 : n_formats;
        }
    }
    return n_formats;
}

bool vbs_loaded_init(struct loaded *loaded, struct vbs_arena *arena,
                     const struct vbs_profile *profile)
{
    int n_formats = count_formats(profile), n_packed = (profile->n_layers + 1) * n_formats, n_rows;

    loaded->packed = vbs_arena_alloc(arena, (size_t)n_packed, sizeof *loaded->packed);
    if (!loaded->packed)
        return false;
    loaded->n_formats = n_formats;
    loaded->n_packed = n_packed;
    for (int k = 1; k <= profile->n_layers; k++) {
        const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, k, &n_rows);
        struct packed *packed = &loaded->packed[k * n_formats];

        for (int i = 0; i < n_rows; i++)
            packed[stripes[i].row.format].bytes = stripes[i].row.weight_bytes;
        for (int b = 0; b < profile->n_batches; b++) {
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, b, &n_rows);

            for (int i = 0; i < n_rows; i++)
                packed[rows[i].format].bytes = rows[i].weight_bytes;
        }
    }
    return true;
}

void vbs_loaded_clear(struct loaded *loaded)
{
    for (int i = 0; i < loaded->n_packed; i++)
        tdestroy(loaded->packed[i].segments, free);
    *loaded = (struct loaded){0};
}

struct packed *vbs_loaded_packed(const struct loaded *loaded, int layer, int format)
{
    struct packed *packed;

    if (format >= loaded->n_formats)
        return NULL;
    packed = &loaded->packed[layer * loaded->n_formats + format];
    return packed->bytes > 0 ? packed : NULL;
}

enum loaded_result vbs_loaded_add(struct loaded *loaded, struct packed *packed,
                                  const struct byte_range *range, int64_t load)
{
    int64_t bytes;

    if (find(packed, range->from, range->to))
        return LOADED_TWICE;
    if (!vbs_add(loaded->bytes, range->to - range->from, &bytes))
        return LOADED_TOO_MUCH;
    if (!insert(packed, range, load))
        return LOADED_NO_MEMORY;
    loaded->bytes = bytes;
    return LOADED_DONE;
}

/* Removes from..to - 1 from segment, which ends at from or behind. A segment that becomes shorter
 * keeps its place in the order of the tree. */
static enum loaded_result cut(struct packed *packed, struct loaded_segment *segment, int64_t from,
                              int64_t to)
{
    const struct byte_range behind = {to, segment->range.to};

    if (segment->range.from == from && behind.to <= to) {
        erase(packed, segment);
    } else if (segment->range.from == from) {
        segment->range.from = to;
    } else {
        segment->range.to = from;
        if (behind.to > to && !insert(packed, &behind, segment->load))
            return LOADED_NO_MEMORY;
    }
    return LOADED_DONE;
}

enum loaded_result vbs_loaded_remove(struct loaded *loaded, struct packed *packed,
                                     const struct byte_range *range, int64_t *load)
{
    int64_t from = range->from;

    *load = -1;
    while (from < range->to) {
        struct loaded_segment *segment = find(packed, from, from + 1);
        enum loaded_result result;
        int64_t end;

        if (!segment)
            return LOADED_MISSING;
        end = segment->range.to;
        if (segment->load > *load)
            *load = segment->load;
        result = cut(packed, segment, from, range->to);
        if (result != LOADED_DONE)
            return result;
        from = end;
    }
    loaded->bytes -= range->to - range->from;
    return LOADED_DONE;
}

enum loaded_result vbs_loaded_read(struct packed *packed, const struct byte_range *range,
                                   int64_t *load)
{
    struct loaded_segment *first = find(packed, range->from, range->from + 1);

    if (!first)
        return LOADED_MISSING;
    while (first->range.to < range->to) {
        struct loaded_segment *next = find(packed, first->range.to, first->range.to + 1);
        struct loaded_segment joined = *first;

        if (!next)
            return LOADED_MISSING;
        joined.range.to = next->range.to;
        if (next->load > joined.load) /* loads end in their order */
            joined.load = next->load;
        erase(packed, next);
        *first = joined;
    }
    *load = first->load;
    return LOADED_DONE;
}
