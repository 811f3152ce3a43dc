#include "vbslab/schedule.h"

#include "base/arena.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

/* The result of vbs_schedule_copy. The schedule comes first, so that its address is that of the
 * whole. */
struct owned {
    struct vbs_schedule schedule;
    struct vbs_arena arena;
};

const char *vbs_io_word(enum vbs_io io)
{
    return io == VBS_IO_RESIDENT ? "resident" : "external";
}

enum vbs_status vbs_io_parse(struct vbs_ctx *ctx, const char *word, enum vbs_io *io)
{
    for (enum vbs_io candidate = VBS_IO_EXTERNAL; candidate <= VBS_IO_RESIDENT; candidate++) {
        if (strcmp(word, vbs_io_word(candidate)) == 0) {
            *io = candidate;
            return VBS_OK;
        }
    }
    return vbs_fail(ctx, VBS_USAGE, "io '%s' is neither external nor resident", word);
}

const char *vbs_weights_word(enum vbs_weights weights)
{
    return weights == VBS_WEIGHTS_INCLUDED ? "included" : "excluded";
}

enum vbs_status vbs_weights_parse(struct vbs_ctx *ctx, const char *word, enum vbs_weights *weights)
{
    for (enum vbs_weights candidate = VBS_WEIGHTS_EXCLUDED; candidate <= VBS_WEIGHTS_INCLUDED;
         candidate++) {
        if (strcmp(word, vbs_weights_word(candidate)) == 0) {
            *weights = candidate;
            return VBS_OK;
        }
    }
    return vbs_fail(ctx, VBS_USAGE, "weights '%s' are neither excluded nor included", word);
}

const char *vbs_step_word(enum vbs_step_op op)
{
    static const char *const WORDS[] = {"compute", "load", "drop"};

    return WORDS[op];
}

int64_t vbs_window_bytes(const struct vbs_profile_layer *layer, int window)
{
    int64_t bytes;

    if (window == layer->rows)
        return layer->out_bytes;
    bytes = layer->out_bytes / layer->rows * window + VBS_WINDOW_ALIGNMENT - 1;
    return bytes - bytes % VBS_WINDOW_ALIGNMENT;
}

void vbs_schedule_free(struct vbs_schedule *schedule)
{
    struct owned *owned = (struct owned *)schedule;
    struct vbs_arena arena;

    if (!owned)
        return;
    arena = owned->arena;
    vbs_arena_clear(&arena);
}

static int copy_algorithms(struct owned *owned, const struct vbs_schedule *draft)
{
    const char **names = vbs_arena_alloc(&owned->arena, (size_t)draft->n_algorithms, sizeof *names);

    for (int i = 0; names && i < draft->n_algorithms; i++) {
        names[i] = vbs_arena_strdup(&owned->arena, draft->algorithms[i]);
        if (!names[i])
            return 0;
    }
    owned->schedule.algorithms = names;
    return names != NULL;
}

/* Copies text to *to, which stays null where text is null. */
static int copy_text(struct owned *owned, const char *text, const char **to)
{
    *to = text ? vbs_arena_strdup(&owned->arena, text) : NULL;
    return !text || *to;
}

static int copy_provenance(struct owned *owned, const struct vbs_schedule *draft)
{
    struct vbs_schedule *made = &owned->schedule;

    return copy_text(owned, draft->provenance.hash, &made->provenance.hash) &&
           copy_text(owned, draft->provenance.device, &made->provenance.device) &&
           copy_text(owned, draft->provenance.library, &made->provenance.library) &&
           copy_text(owned, draft->provenance.backend, &made->provenance.backend) &&
           copy_text(owned, draft->provenance.date, &made->provenance.date);
}

static int copy_layer_names(struct owned *owned, const struct vbs_schedule *draft)
{
    const char **names;

    owned->schedule.layer_names = NULL;
    if (!draft->layer_names)
        return 1;
    names = vbs_arena_alloc(&owned->arena, (size_t)draft->n_layers + 1, sizeof *names);
    for (int k = 1; names && k <= draft->n_layers; k++)
        if (!copy_text(owned, draft->layer_names[k], &names[k]))
            return 0;
    owned->schedule.layer_names = names;
    return names != NULL;
}

/* Copies the factors of the link, of which there is one more than layers. */
static int copy_beside(struct owned *owned, const struct vbs_schedule *draft)
{
    size_t n = (size_t)draft->n_layers + 1;
    double *beside;

    owned->schedule.copy.beside = NULL;
    if (!draft->copy.beside || draft->n_layers == 0)
        return 1;
    beside = vbs_arena_alloc(&owned->arena, n, sizeof *beside);
    if (beside)
        memcpy(beside, draft->copy.beside, n * sizeof *beside);
    owned->schedule.copy.beside = beside;
    return beside != NULL;
}

enum vbs_status vbs_schedule_copy(struct vbs_ctx *ctx, const struct vbs_schedule *draft,
                                  struct vbs_schedule **schedule)
{
    struct vbs_arena arena = {0};
    struct owned *owned = vbs_arena_alloc(&arena, 1, sizeof *owned);
    struct vbs_step *steps;

    if (!owned)
        goto no_memory;
    owned->arena = arena;
    owned->schedule = *draft;
    owned->schedule.model = vbs_arena_strdup(&owned->arena, draft->model);
    owned->schedule.planner = vbs_arena_strdup(&owned->arena, draft->planner);
    if (draft->copy.source)
        owned->schedule.copy.source = vbs_arena_strdup(&owned->arena, draft->copy.source);
    steps = vbs_arena_alloc(&owned->arena, (size_t)draft->n_steps, sizeof *steps);
    if (!copy_algorithms(owned, draft) || !copy_provenance(owned, draft) ||
        !copy_layer_names(owned, draft) || !copy_beside(owned, draft) || !owned->schedule.model ||
        !owned->schedule.planner || (draft->copy.source && !owned->schedule.copy.source) ||
        !steps) {
        arena = owned->arena;
        goto no_memory;
    }
    if (draft->n_steps > 0)
        memcpy(steps, draft->steps, (size_t)draft->n_steps * sizeof *steps);
    owned->schedule.steps = steps;
    *schedule = &owned->schedule;
    return VBS_OK;

no_memory:
    vbs_arena_clear(&arena);
    return vbs_no_memory(ctx);
}
