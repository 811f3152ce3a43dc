/* The states of a schedule under way, by the definitions of docs/accounting.md, for layers that
 * work in no place and run in no slices. */
#include "teach/teach.h"

static bool is_resident(const struct vbs_exercise *exercise)
{
    return exercise->io == VBS_IO_RESIDENT;
}

unsigned vbs_teach_weighted(const struct vbs_exercise *exercise)
{
    unsigned weighted = 0;

    if (exercise->weights == VBS_WEIGHTS_INCLUDED)
        for (int k = 1; k <= exercise->profile->n_layers; k++)
            if (exercise->profile->layers[k].weight_bytes > 0)
                weighted |= 1U << (k - 1);
    return weighted;
}

/* Gives the number of samples of a tensor that some layer still has to read, or, of a final output,
 * that stay until the end. */
static int64_t live_samples(const struct vbs_exercise *exercise, const struct teach_state *state,
                            int tensor)
{
    const struct vbs_profile *profile = exercise->profile;
    int64_t written = tensor == 0 ? exercise->request : state->done[tensor], least = -1;

    for (int k = tensor + 1; k <= profile->n_layers; k++)
        for (int i = 0; i < profile->layers[k].n_inputs; i++)
            if (profile->layers[k].inputs[i] == tensor && (least < 0 || state->done[k] < least))
                least = state->done[k];
    if (least < 0)
        return is_resident(exercise) ? written : 0;
    return tensor == 0 && !is_resident(exercise) ? 0 : written - least;
}

int64_t vbs_teach_between_bytes(const struct vbs_exercise *exercise,
                                const struct teach_state *state)
{
    const struct vbs_profile *profile = exercise->profile;
    int64_t bytes = 0;

    for (int k = 0; k <= profile->n_layers; k++)
        bytes += live_samples(exercise, state, k) * profile->layers[k].out_bytes;
    for (int k = 1; k <= profile->n_layers; k++)
        if (state->loaded & 1U << (k - 1))
            bytes += profile->layers[k].weight_bytes;
    return bytes;
}

int64_t vbs_teach_during_bytes(const struct vbs_exercise *exercise, const struct teach_state *state,
                               int layer, int batch)
{
    const struct vbs_profile_layer *layers = exercise->profile->layers;
    int64_t bytes = vbs_teach_between_bytes(exercise, state) + batch * layers[layer].out_bytes;

    for (int i = 0; i < layers[layer].n_inputs && !is_resident(exercise); i++)
        if (layers[layer].inputs[i] == 0)
            bytes += batch * layers[0].out_bytes;
    return bytes;
}

bool vbs_teach_is_ready(const struct vbs_exercise *exercise, const struct teach_state *state,
                        int layer, int batch)
{
    const struct vbs_profile_layer *reader = &exercise->profile->layers[layer];
    int done = state->done[layer] + batch;

    for (int i = 0; i < reader->n_inputs; i++)
        if (reader->inputs[i] > 0 && state->done[reader->inputs[i]] < done)
            return false;
    return done <= exercise->request;
}

static const struct vbs_profile_row *find_row(const struct vbs_profile *profile,
                                              const struct vbs_step *step)
{
    int index = vbs_profile_batch_index(profile, step->batch), n_rows;
    const struct vbs_profile_row *rows;

    if (index < 0)
        return NULL;
    rows = vbs_profile_rows(profile, step->layer, index, &n_rows);
    for (int i = 0; i < n_rows; i++)
        if (rows[i].algorithm == step->algorithm)
            return &rows[i];
    return NULL;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

static bool compute(const struct vbs_exercise *exercise, struct teach_state *state,
                    const struct vbs_step *step)
{
    const struct vbs_profile_row *row = find_row(exercise->profile, step);
    unsigned needed = vbs_teach_weighted(exercise) & 1U << (step->layer - 1);

    if (!row || step->n_slices > 1 ||
        !vbs_teach_is_ready(exercise, state, step->layer, step->batch) ||
        (needed & ~state->loaded) ||
        vbs_teach_during_bytes(exercise, state, step->layer, step->batch) + row->ws_bytes >
            exercise->memory_bytes)
        return false;
    if (needed)
        state->clock_us = later(state->clock_us, state->ready_us[step->layer]);
    state->clock_us += row->time_us;
    state->done[step->layer] += step->batch;
    return true;
}

static bool transfer(const struct vbs_exercise *exercise, struct teach_state *state,
                     const struct vbs_step *step)
{
    unsigned bit = vbs_teach_weighted(exercise) & 1U << (step->layer - 1);
    bool is_load = step->op == VBS_STEP_LOAD;

    if (!bit || step->n_slices > 1 || step->format != 0 ||
        step->bytes != exercise->profile->layers[step->layer].weight_bytes ||
        is_load == ((state->loaded & bit) != 0))
        return false;
    state->loaded ^= bit;
    if (is_load && step->resident) {
        state->ready_us[step->layer] = 0;
    } else if (is_load) {
        state->copy_us = later(state->clock_us, state->copy_us) + exercise->copy.latency_us +
                         (double)step->bytes / exercise->copy.bytes_per_us;
        state->ready_us[step->layer] = state->copy_us;
    }
    return vbs_teach_between_bytes(exercise, state) <= exercise->memory_bytes;
}

bool vbs_teach_move(const struct vbs_exercise *exercise, struct teach_state *state,
                    const struct vbs_step *step)
{
    if (step->layer < 1 || step->layer > exercise->profile->n_layers)
        return false;
    return step->op == VBS_STEP_COMPUTE ? compute(exercise, state, step)
                                        : transfer(exercise, state, step);
}

struct vbs_step vbs_teach_transfer(const struct vbs_exercise *exercise, enum vbs_step_op op,
                                   int layer, bool resident)
{
    return (struct vbs_step){.layer = layer,
                             .op = (uint8_t)op,
                             .resident = resident,
                             .bytes = exercise->profile->layers[layer].weight_bytes};
}

/* Appends the step where the state lets it happen. */
static int offer(const struct vbs_exercise *exercise, const struct teach_state *state,
                 const struct vbs_step *step, struct vbs_step moves[TEACH_MOVES], int n)
{
    struct teach_state next = *state;

    if (n < TEACH_MOVES && vbs_teach_move(exercise, &next, step))
        moves[n++] = *step;
    return n;
}

int vbs_teach_moves(const struct vbs_exercise *exercise, const struct teach_state *state,
                    struct vbs_step moves[TEACH_MOVES])
{
    const struct vbs_profile *profile = exercise->profile;
    unsigned weighted = vbs_teach_weighted(exercise);
    int n = 0;

    for (int k = 1; k <= profile->n_layers; k++)
        for (int b = 0; b < profile->n_batches; b++)
            for (int a = 0; a < profile->n_algorithms; a++) {
                struct vbs_step step = {.layer = k, .batch = profile->batches[b], .algorithm = a};

                n = offer(exercise, state, &step, moves, n);
            }
    for (int k = 1; k <= profile->n_layers; k++)
        if (weighted & 1U << (k - 1)) {
            struct vbs_step step = vbs_teach_transfer(
                exercise, state->loaded & 1U << (k - 1) ? VBS_STEP_EVICT : VBS_STEP_LOAD, k, false);

            n = offer(exercise, state, &step, moves, n);
        }
    return n;
}
