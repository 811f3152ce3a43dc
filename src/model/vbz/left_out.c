#include "model/vbz/left_out.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>

/* Where bytes begin or end that are needed, or that may be left out. */
struct vbz_mark {
    int64_t offset;
    int needed, left_out; /* +1 where they begin, -1 where they end */
};

struct vbz_marks {
    struct vbs_ctx *ctx;
    struct vbz_mark *marks;
    int64_t n, capacity;
};

static enum vbs_status mark(struct vbz_marks *m, struct vbs_extent extent, bool needed)
{
    int more = needed, out = !needed;

    if (extent.bytes == 0)
        return VBS_OK;
    VBS_TRY(vbs_grow(m->ctx, &m->marks, &m->capacity, m->n + 2, sizeof *m->marks));
    m->marks[m->n++] = (struct vbz_mark){extent.offset, more, out};
    m->marks[m->n++] = (struct vbz_mark){extent.offset + extent.bytes, -more, -out};
    return VBS_OK;
}

static int compare(const void *a, const void *b)
{
    const struct vbz_mark *left = a, *right = b;

    return (left->offset > right->offset) - (left->offset < right->offset);
}

/* Marks what parameters and loading read from the file. */
static enum vbs_status mark_all(struct vbz_marks *m, const struct vbs_network *network,
                                const bool *is_coded, int file)
{
    const struct vbs_parameters *p = network->parameters;

    for (int k = 1; k <= network->n_layers; k++)
        for (int at = p->first[k]; at <= p->first[k] + network->layers[k].n_fused; at++)
            for (int i = 0; i < VBS_N_PARAMETERS; i++) {
                const struct vbs_values *v = p->values[at].of[i];
                bool coded = at == p->first[k] && i == VBS_PARAMETER_WEIGHTS && is_coded[k];

                if (v && v->file == file)
                    VBS_TRY(mark(m, vbs_values_extent(v), !coded));
            }
    for (int64_t i = 0; i < vbs_source_n_kept(p->source); i++) {
        int of;
        struct vbs_extent kept = vbs_source_kept(p->source, i, &of);

        if (of == file)
            VBS_TRY(mark(m, kept, true));
    }
    return VBS_OK;
}

/* Adds the bytes from begin to end, as far as the source has them. */
static enum vbs_status add(struct vbs_ctx *ctx, const struct vbs_source *source, int file,
                           int64_t begin, int64_t end, struct vbs_vbz_extents *to)
{
    while (begin < end) {
        int64_t n;

        begin = vbs_source_next(source, file, begin);
        if (begin >= end)
            return VBS_OK;
        n = vbs_source_present(source, file, begin);
        n = n < end - begin ? n : end - begin;
        if (to->n > 0 && to->extents[to->n - 1].offset + to->extents[to->n - 1].bytes == begin) {
            to->extents[to->n - 1].bytes += n;
        } else {
            VBS_TRY(vbs_grow(ctx, &to->extents, &to->capacity, to->n + 1, sizeof *to->extents));
            to->extents[to->n++] = (struct vbs_extent){.offset = begin, .bytes = n};
        }
        begin += n;
    }
    return VBS_OK;
}

/* Walks over the marks in ascending order. */
static enum vbs_status add_remaining(const struct vbz_marks *m, const struct vbs_source *source,
                                     int file, struct vbs_vbz_extents *to)
{
    int64_t begin = 0;
    int needed = 0, left_out = 0;

    for (int64_t i = 0; i <= m->n; i++) {
        int64_t end = i < m->n ? m->marks[i].offset : vbs_source_bytes(source, file);

        if (needed > 0 || left_out == 0)
            VBS_TRY(add(m->ctx, source, file, begin, end, to));
        begin = end;
        if (i < m->n) {
            needed += m->marks[i].needed;
            left_out += m->marks[i].left_out;
        }
    }
    return VBS_OK;
}

enum vbs_status vbs_vbz_remaining(struct vbs_ctx *ctx, const struct vbs_network *network,
                                  const bool *is_coded, int file, struct vbs_vbz_extents *extents)
{
    struct vbz_marks m = {.ctx = ctx};
    struct vbs_vbz_extents made = {0};
    enum vbs_status status = mark_all(&m, network, is_coded, file);

    if (status == VBS_OK && m.n > 0)
        qsort(m.marks, (size_t)m.n, sizeof *m.marks, compare);
    if (status == VBS_OK)
        status = add_remaining(&m, network->parameters->source, file, &made);
    free(m.marks);
    if (status == VBS_OK)
        *extents = made;
    else
        free(made.extents);
    return status;
}
