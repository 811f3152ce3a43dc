#include "exec/row_deaths.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>

/* How far a layer is. */
struct progress {
    int64_t done;  /* samples that it has finished */
    int64_t batch; /* samples of which it has computed some rows; 0: none */
    int64_t rows;  /* of each of them */
};

struct finding {
    struct vbs_ctx *ctx;
    const struct vbs_exec_fit *fit;
    const struct vbs_profile *profile;
    struct vbs_exec_row_deaths *deaths;
    struct progress *layers; /* [n_layers + 1] */
    int64_t **dead;          /* [n_layers + 1][request] rows that have died; null: no rings */
};

/* Returns the first row of a sample of tensor that a reader still needs. One that has not begun the
 * sample has all its rows before it. */
static int64_t first_needed(const struct finding *f, int tensor, int reader, int64_t sample)
{
    const struct vbs_profile_layer *about = &f->profile->layers[reader];
    const struct progress *progress = &f->layers[reader];
    bool has_begun = progress->done + progress->batch > sample;
    int64_t first = f->profile->layers[tensor].rows;

    if (progress->done > sample)
        return first;
    if (!about->reaches)
        return 0;
    for (int i = 0; i < about->n_inputs; i++)
        if (about->inputs[i] == tensor) {
            const struct vbs_exec_rows rows =
                vbs_exec_rows_read(f->profile, reader, i, has_begun ? (int)progress->rows : 0, 1);

            first = rows.first < first ? rows.first : first;
        }
    return first;
}

static int64_t first_alive(const struct finding *f, int tensor, int64_t sample)
{
    int64_t first = f->profile->layers[tensor].rows;

    for (int k = tensor + 1; k <= f->profile->n_layers; k++) {
        bool reads = false;

        for (int i = 0; i < f->profile->layers[k].n_inputs; i++)
            reads |= f->profile->layers[k].inputs[i] == tensor;
        if (reads) {
            int64_t needed = first_needed(f, tensor, k, sample);

            first = needed < first ? needed : first;
        }
    }
    return first;
}

/* Adds bytes from..to - 1 of the rows of a sample, which lie in its ring. */
static enum vbs_status add_bytes(struct finding *f, int64_t step, int64_t ring, int64_t ring_bytes,
                                 int64_t from, int64_t to)
{
    struct vbs_exec_row_deaths *deaths = f->deaths;

    while (from < to) {
        int64_t at = from % ring_bytes, bytes = to - from;

        bytes = bytes < ring_bytes - at ? bytes : ring_bytes - at;
        VBS_TRY(vbs_grow(f->ctx, &deaths->list, &deaths->max, deaths->n + 1, sizeof *deaths->list));
        deaths->list[deaths->n++] = (struct vbs_exec_row_death){step, ring + at, bytes};
        from += bytes;
    }
    return VBS_OK;
}

/* Returns how many rows of a sample of tensor have been written. */
static int64_t count_written(const struct finding *f, int tensor, int64_t sample)
{
    const struct progress *progress = &f->layers[tensor];

    if (progress->done > sample)
        return f->profile->layers[tensor].rows;
    return progress->done + progress->batch > sample ? progress->rows : 0;
}

/* Adds the rows of a sample of tensor that have been written and that no step after this one reads.
 * Where no row is read any more, the whole ring dies. */
static enum vbs_status add_deaths(struct finding *f, int64_t step, int tensor, int64_t sample)
{
    const struct vbs_exec_groups *groups = &f->fit->groups;
    int64_t alive = first_alive(f, tensor, sample), written = count_written(f, tensor, sample);
    int64_t first = alive < written ? alive : written, *dead = &f->dead[tensor][sample];
    int64_t row_bytes = vbs_exec_row_bytes(f->profile, tensor), from = *dead;
    int group = vbs_exec_group_of(groups, tensor, (int)sample);
    bool is_ring;
    int64_t bytes = vbs_exec_place_bytes(groups, group, &is_ring);

    if (!is_ring || first <= from || first == f->profile->layers[tensor].rows)
        return VBS_OK;
    *dead = first;
    return add_bytes(f, step, vbs_exec_layout_find(&f->fit->layout, group, step)->base, bytes,
                     from * row_bytes, first * row_bytes);
}

static enum vbs_status take_step(struct finding *f, int64_t s)
{
    const struct vbs_step *step = &f->fit->checked->schedule->steps[s];
    const struct vbs_profile_layer *about = &f->profile->layers[step->layer];
    struct progress *progress = &f->layers[step->layer];
    int64_t first = f->fit->checked->steps[s].first;

    progress->batch = step->batch;
    progress->rows = step->row + (int64_t)step->rows;
    if (step->rows == 0 || progress->rows == about->rows) {
        progress->done = first + step->batch;
        progress->batch = progress->rows = 0;
    }
    for (int64_t n = first; step->rows > 0 && f->dead[step->layer] && n < first + step->batch; n++)
        VBS_TRY(add_deaths(f, s, step->layer, n)); /* rows that no layer reads */
    if (step->n_slices > 1) /* slices read whole samples, and are no readers of rings */
        return VBS_OK;
    for (int i = 0; i < about->n_inputs; i++)
        for (int64_t n = first; f->dead[about->inputs[i]] && n < first + step->batch; n++)
            VBS_TRY(add_deaths(f, s, about->inputs[i], n));
    return VBS_OK;
}

static enum vbs_status begin(struct finding *f)
{
    const struct vbs_exec_checked *checked = f->fit->checked;
    size_t n = (size_t)f->profile->n_layers + 1;

    f->layers = calloc(n, sizeof *f->layers);
    f->dead = calloc(n, sizeof *f->dead);
    if (!f->layers || !f->dead)
        return vbs_no_memory(f->ctx);
    for (size_t k = 0; k < n; k++) {
        if (!checked->has_rings[k])
            continue;
        f->dead[k] = calloc((size_t)checked->schedule->request, sizeof *f->dead[k]);
        if (!f->dead[k])
            return vbs_no_memory(f->ctx);
    }
    return VBS_OK;
}

enum vbs_status vbs_exec_row_deaths_find(struct vbs_ctx *ctx, const struct vbs_exec_fit *fit,
                                         struct vbs_exec_row_deaths *deaths)
{
    const struct vbs_exec_checked *checked = fit->checked;
    struct finding f = {.ctx = ctx, .fit = fit, .profile = checked->profile, .deaths = deaths};
    enum vbs_status status;

    if (!checked->needs_rings)
        return VBS_OK;
    status = begin(&f);
    for (int64_t s = 0; s < checked->schedule->n_steps && status == VBS_OK; s++)
        if (checked->steps[s].kernel >= 0)
            status = take_step(&f, s);
    for (int k = 0; k <= f.profile->n_layers && f.dead; k++)
        free(f.dead[k]);
    free(f.dead);
    free(f.layers);
    return status;
}
