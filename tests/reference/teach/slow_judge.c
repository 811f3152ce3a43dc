#include "reference/teach/slow_judge.h"

#include "reference/plan/brute_common.h"
#include "reference/plan/brute_transfer.h"

#include <math.h>
#include <stdlib.h>

#define LAYERS 8 /* more than any exercise has */

/* An answer while it is judged. */
struct slow_state {
    const struct vbs_exercise *exercise;
    struct vbs_problem problem;
    int done[LAYERS + 1];
    bool loaded[LAYERS + 1], resident[LAYERS + 1];
    bool started; /* a step that is no resident load was there */
};

static bool includes_weights(const struct slow_state *state)
{
    return state->exercise->weights == VBS_WEIGHTS_INCLUDED;
}

static int64_t weight_bytes(const struct slow_state *state)
{
    int64_t bytes = 0;

    for (int k = 1; k <= state->exercise->profile->n_layers; k++)
        bytes += state->loaded[k] ? state->exercise->profile->layers[k].weight_bytes : 0;
    return bytes;
}

static const struct vbs_profile_row *find_row(const struct slow_state *state,
                                              const struct vbs_step *step)
{
    int n_rows;
    const struct vbs_profile_row *rows =
        brute_rows(&state->problem, step->layer, step->batch, &n_rows);

    for (int i = 0; i < n_rows; i++)
        if (rows[i].algorithm == step->algorithm)
            return &rows[i];
    return NULL;
}

/* Does a step that moves weights; false where it cannot be. */
static bool transfer(struct slow_state *state, const struct vbs_step *step, int64_t *bytes)
{
    bool is_load = step->op == VBS_STEP_LOAD;

    if (!includes_weights(state) || state->loaded[step->layer] == is_load ||
        step->bytes != state->exercise->profile->layers[step->layer].weight_bytes ||
        (step->resident && state->started))
        return false;
    state->loaded[step->layer] = is_load;
    if (step->resident)
        state->resident[step->layer] = true;
    *bytes = brute_live_bytes(&state->problem, state->done) + weight_bytes(state);
    return true;
}

static bool compute(struct slow_state *state, const struct vbs_step *step, int64_t *bytes)
{
    const struct vbs_profile_row *row = find_row(state, step);

    if (!row || !brute_step_allowed(&state->problem, state->done, step->layer, step->batch) ||
        (includes_weights(state) && !state->loaded[step->layer]))
        return false;
    *bytes = brute_step_bytes(&state->problem, state->done, step->layer, step->batch) +
             row->ws_bytes + weight_bytes(state);
    state->done[step->layer] += step->batch;
    return true;
}

static bool is_over(const struct slow_state *state)
{
    for (int k = 1; k <= state->exercise->profile->n_layers; k++)
        if (state->done[k] != state->exercise->request || (state->resident[k] && !state->loaded[k]))
            return false;
    return true;
}

static double time_of(const struct slow_state *state, const struct vbs_schedule *answer)
{
    double time_us = 0;

    if (includes_weights(state)) {
        struct brute_event *events = brute_alloc((size_t)answer->n_steps, sizeof *events);

        brute_transfer_events(state->exercise->profile, answer, &state->exercise->copy, events);
        for (int64_t i = 0; i < answer->n_steps; i++)
            time_us = fmax(time_us, events[i].end_us);
        free(events);
    } else {
        for (int64_t i = 0; i < answer->n_steps; i++)
            time_us += find_row(state, &answer->steps[i])->time_us;
    }
    return time_us;
}

static struct vbs_problem problem_of(const struct vbs_exercise *exercise)
{
    return (struct vbs_problem){
        .profile = exercise->profile, .request = exercise->request, .io = exercise->io};
}

struct slow_verdict slow_judge(const struct vbs_exercise *exercise,
                               const struct vbs_schedule *answer)
{
    struct slow_state state = {.exercise = exercise, .problem = problem_of(exercise)};
    struct slow_verdict verdict = {0};
    int64_t over = 0;

    for (int64_t i = 0; i < answer->n_steps; i++) {
        const struct vbs_step *step = &answer->steps[i];
        int64_t bytes = 0;

        if (step->layer < 1 || step->layer > exercise->profile->n_layers ||
            !(step->op == VBS_STEP_COMPUTE ? compute(&state, step, &bytes)
                                           : transfer(&state, step, &bytes))) {
            verdict.step = i + 1;
            return verdict;
        }
        state.started = state.started || !step->resident;
        if (bytes > verdict.peak_bytes)
            verdict.peak_bytes = bytes;
        if (bytes > exercise->memory_bytes && over == 0)
            over = i + 1;
    }
    if (!is_over(&state))
        return verdict;
    verdict.is_schedule = true;
    verdict.fits = over == 0;
    verdict.step = over;
    verdict.time_us = time_of(&state, answer);
    return verdict;
}

double slow_optimum_us(const struct vbs_exercise *exercise)
{
    const struct vbs_problem problem = problem_of(exercise);
    struct brute_lattice *lattice;
    double time_us;

    if (exercise->weights == VBS_WEIGHTS_INCLUDED)
        return brute_transfer_best(&(struct brute_best){.of = {.profile = exercise->profile,
                                                               .request = (int)exercise->request,
                                                               .io = exercise->io},
                                                        .memory_bytes = exercise->memory_bytes,
                                                        .link = exercise->copy,
                                                        .max_slices = 1},
                                   NULL, NULL);
    lattice = brute_lattice_new(&problem);
    time_us = brute_optimum_us(lattice, exercise->memory_bytes);
    brute_lattice_free(lattice);
    return time_us;
}
