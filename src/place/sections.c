/*
 * Sections: the steps at which the set of living items is maximal. At every other step a subset of
 * the items of some section lives, so that bounds of the sums in sections are enough.
 */
#include "place/internal.h"

#include "base/fail.h"

struct marks {
    int base;    /* the component's first step; the arrays count from it */
    int n_steps; /* of the component */
    bool *begins, *ends;
    int *section; /* [n_steps + 1]: sections before the step */
};

static const struct place_rect *rects_of(const struct place_search *search,
                                         const struct place_component *component, int item, int *n)
{
    const struct place_item *of = &search->items[component->first + item];

    *n = of->n_rects;
    return &search->rects[of->first_rect];
}

/* Finds the sections: there is one between a begin and the next end. */
static int find_sections(struct marks *marks)
{
    bool begun = false;
    int n = 0;

    for (int s = 0; s < marks->n_steps; s++) {
        marks->section[s] = n;
        begun = begun || marks->begins[s];
        if (begun && marks->ends[s + 1]) {
            begun = false;
            n++;
        }
    }
    marks->section[marks->n_steps] = n;
    return n;
}

static void mark_rects(const struct place_search *search, const struct place_component *component,
                       struct marks *marks)
{
    for (int i = 0; i < component->n; i++) {
        int n;
        const struct place_rect *rects = rects_of(search, component, i, &n);

        for (int r = 0; r < n; r++) {
            marks->begins[rects[r].lower - marks->base] = true;
            marks->ends[rects[r].upper - marks->base] = true;
        }
    }
}

/* Counts the members of sections, or, once there is room for them, writes them. */
static void add_members(const struct place_search *search, const struct place_component *component,
                        const struct marks *marks, struct place_sections *sections)
{
    for (int i = 0; i < component->n; i++) {
        int n;
        const struct place_rect *rects = rects_of(search, component, i, &n);

        for (int r = 0; r < n; r++) {
            int upper = marks->section[rects[r].upper - marks->base];

            for (int s = marks->section[rects[r].lower - marks->base]; s < upper; s++)
                if (sections->members)
                    sections->members[sections->first[s]++] =
                        (struct place_member){i, rects[r].offset, rects[r].size};
                else
                    sections->first[s + 1]++;
        }
    }
}

enum vbs_status vbs_place_sections(const struct place_search *search,
                                   const struct place_component *component, struct vbs_arena *arena,
                                   struct place_sections *sections)
{
    struct marks marks = {.base = search->items[component->first].lower};
    size_t n_items = (size_t)component->n, n_steps;

    *sections = (struct place_sections){0};
    for (int i = component->first; i < component->first + component->n; i++)
        if (search->items[i].upper - marks.base > marks.n_steps)
            marks.n_steps = search->items[i].upper - marks.base;
    n_steps = (size_t)marks.n_steps + 1;
    marks.begins = vbs_arena_alloc(arena, n_steps, sizeof *marks.begins);
    marks.ends = vbs_arena_alloc(arena, n_steps, sizeof *marks.ends);
    marks.section = vbs_arena_alloc(arena, n_steps, sizeof *marks.section);
    sections->first = vbs_arena_alloc(arena, n_steps + 1, sizeof *sections->first);
    sections->lower = vbs_arena_alloc(arena, n_items, sizeof *sections->lower);
    sections->upper = vbs_arena_alloc(arena, n_items, sizeof *sections->upper);
    if (!marks.begins || !marks.ends || !marks.section || !sections->first || !sections->lower ||
        !sections->upper)
        return vbs_no_memory(search->ctx);
    mark_rects(search, component, &marks);
    sections->n = find_sections(&marks);
    for (int i = 0; i < component->n; i++) {
        const struct place_item *item = &search->items[component->first + i];

        sections->lower[i] = marks.section[item->lower - marks.base];
        sections->upper[i] = marks.section[item->upper - marks.base];
    }
    add_members(search, component, &marks, sections);
    for (int s = 0; s < sections->n; s++)
        sections->first[s + 1] += sections->first[s];
    sections->members =
        vbs_arena_alloc(arena, (size_t)sections->first[sections->n] + 1, sizeof *sections->members);
    if (!sections->members)
        return vbs_no_memory(search->ctx);
    add_members(search, component, &marks, sections);
    for (int s = sections->n; s > 0; s--)
        sections->first[s] = sections->first[s - 1];
    sections->first[0] = 0;
    return VBS_OK;
}
