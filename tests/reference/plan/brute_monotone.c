/* dp-monotone by its definitions: slow, and without saving memory. */
#include "reference/plan/brute_monotone.h"
#include "reference/plan/brute_common.h"

#include <math.h>

/* These functions are the recurrence of COMP V-D, for chains. */

static int64_t in_bytes(const struct vbs_problem *problem, int i, int b)
{
    return b * brute_sample_bytes(problem, i - 1);
}

/* Gives OUT, or the part of it that is not in place. */
static int64_t out_bytes(const struct vbs_problem *problem, int i, int b)
{
    int64_t out = b * brute_sample_bytes(problem, i), in = in_bytes(problem, i, b);

    return !problem->profile->layers[i].in_place ? out : out > in ? out - in : 0;
}

static void note_needs(struct brute_recurrence *dp, int i, int b, int64_t a_bytes)
{
    int n_rows;
    const struct vbs_profile_row *rows = brute_rows(dp->problem, i, b, &n_rows);

    if (dp->n_needs + n_rows > dp->capacity) {
        dp->capacity = 2 * (dp->n_needs + n_rows);
        dp->needs = brute_grow(dp->needs, (size_t)dp->capacity, sizeof *dp->needs);
    }
    for (int a = 0; a < n_rows; a++)
        dp->needs[dp->n_needs++] =
            a_bytes + in_bytes(dp->problem, i, b) + out_bytes(dp->problem, i, b) + rows[a].ws_bytes;
}

/* Computes OPT(i, B, A). The samples that wait before layer i take IN(i, B - b), or, with io
 * resident, the network's input of the samples to come, where this is more. */
static double opt_us(struct brute_recurrence *dp, int i, int b, int64_t a_bytes)
{
    const struct vbs_problem *problem = dp->problem;
    double before_us = i > 1 ? HUGE_VAL : 0, time_us;

    if (dp->tot_bytes < 0)
        note_needs(dp, i, b, a_bytes);
    time_us = brute_fastest_us(problem, i, b,
                               (dp->tot_bytes < 0 ? INT64_MAX : dp->tot_bytes) - a_bytes -
                                   in_bytes(problem, i, b) - out_bytes(problem, i, b));
    if (time_us == HUGE_VAL)
        return HUGE_VAL;
    for (int k = 0; i > 1 && k < problem->profile->n_batches; k++) {
        int b1 = problem->profile->batches[k];
        int64_t waits = in_bytes(problem, i, b - b1), comes = in_bytes(problem, 1, b - b1);

        if (b1 > b || b % b1 != 0)
            continue;
        if (problem->io == VBS_IO_RESIDENT && comes > waits)
            waits = comes;
        before_us = fmin(before_us, b / b1 * opt_us(dp, i - 1, b1, a_bytes + waits));
    }
    time_us += before_us;
    return problem->io == VBS_IO_EXTERNAL && problem->latency_us > 0 &&
                   time_us > problem->latency_us
               ? HUGE_VAL
               : time_us;
}

/* Composes the request: the best chunk that follows done samples, chunk_us(done, chunk), and then
 * the best of the rest. */
static double compose_us(const struct vbs_problem *problem, void *self,
                         double (*chunk_us)(void *self, int done, int chunk))
{
    int r = (int)problem->request;
    double least_us[BRUTE_MAX_REQUEST + 1] = {0}; /* of the last k samples */

    for (int k = 1; k <= r; k++) {
        least_us[k] = HUGE_VAL;
        for (int i = 0; i < problem->profile->n_batches; i++) {
            int b = problem->profile->batches[i];

            if (b <= k)
                least_us[k] = fmin(least_us[k], chunk_us(self, r - k, b) + least_us[k - b]);
        }
    }
    return problem->io == VBS_IO_RESIDENT && problem->latency_us > 0 &&
                   least_us[r] > problem->latency_us
               ? HUGE_VAL
               : least_us[r];
}

static double recurrence_chunk_us(void *self, int done, int chunk)
{
    struct brute_recurrence *dp = self;
    const struct vbs_problem *problem = dp->problem;
    int n = problem->profile->n_layers, to_come = (int)problem->request - done - chunk;
    int64_t outside = problem->io == VBS_IO_EXTERNAL
                          ? 0
                          : done * brute_sample_bytes(problem, n) + in_bytes(problem, 1, to_come);

    return opt_us(dp, n, chunk, outside);
}

double brute_recurrence_us(struct brute_recurrence *dp, int64_t memory_bytes)
{
    dp->tot_bytes = memory_bytes;
    return compose_us(dp->problem, dp, recurrence_chunk_us);
}

/* The following functions go through all monotone schedules, for any graph. */

/* Runs a chunk: layer k runs as soon as its batch is complete. */
static void run_batching(const struct vbs_problem *problem, struct brute_batching *batching)
{
    int n = problem->profile->n_layers, done[BRUTE_MAX_LAYERS + 1];

    for (int k = 0; k <= n; k++)
        done[k] = batching->done;
    while (done[n] < batching->done + batching->chunk)
        for (int k = 1; k <= n && (k == 1 || done[k - 1] - done[k] == batching->batches[k]); k++) {
            int64_t bytes = brute_step_bytes(problem, done, k, batching->batches[k]);

            if (bytes > batching->base_bytes[k])
                batching->base_bytes[k] = bytes;
            done[k] += batching->batches[k];
        }
}

/* Fills in the batches of layers k..1, in every possible combination. */
static void enumerate(struct brute_enumeration *all, struct brute_batching *batching, int k)
{
    const struct vbs_profile *profile = all->problem->profile;

    if (k == 0) {
        if (all->n_batchings == all->capacity) {
            all->capacity = 2 * all->capacity + 64;
            all->batchings =
                brute_grow(all->batchings, (size_t)all->capacity, sizeof *all->batchings);
        }
        all->batchings[all->n_batchings] = *batching;
        run_batching(all->problem, &all->batchings[all->n_batchings++]);
        return;
    }
    for (int i = 0; i < profile->n_batches; i++) {
        int next = k == profile->n_layers ? batching->chunk : batching->batches[k + 1];

        batching->batches[k] = profile->batches[i];
        if (k == profile->n_layers ? batching->batches[k] == next
                                   : next % batching->batches[k] == 0)
            enumerate(all, batching, k - 1);
    }
}

void brute_enumerate(struct brute_enumeration *all)
{
    const struct vbs_profile *profile = all->problem->profile;

    for (int done = 0; done < all->problem->request; done++)
        for (int i = 0; i < profile->n_batches; i++)
            if (done + profile->batches[i] <= all->problem->request)
                enumerate(all, &(struct brute_batching){.done = done, .chunk = profile->batches[i]},
                          profile->n_layers);
}

static double enumeration_chunk_us(void *self, int done, int chunk)
{
    const struct brute_enumeration *all = self;
    const struct vbs_problem *problem = all->problem;
    double least_us = HUGE_VAL;

    for (const struct brute_batching *batching = all->batchings;
         batching < all->batchings + all->n_batchings; batching++) {
        double time_us = 0;

        if (batching->done != done || batching->chunk != chunk)
            continue;
        for (int k = 1; k <= problem->profile->n_layers; k++)
            time_us += chunk / batching->batches[k] *
                       brute_fastest_us(problem, k, batching->batches[k],
                                        all->memory_bytes - batching->base_bytes[k]);
        if (problem->io == VBS_IO_RESIDENT || problem->latency_us == 0 ||
            time_us <= problem->latency_us)
            least_us = fmin(least_us, time_us);
    }
    return least_us;
}

double brute_enumeration_us(struct brute_enumeration *all, int64_t memory_bytes)
{
    all->memory_bytes = memory_bytes;
    return compose_us(all->problem, all, enumeration_chunk_us);
}
