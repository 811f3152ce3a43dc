#include "support/learn_help.h"

#include "base/ctx.h"
#include "support/bail_out.h"
#include "support/profile_help.h"
#include "vbslab/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char tiny_network[] = "model tiny\n"
                            "input 3x10x10\n"
                            "conv c1 out=16 kernel=3 pad=1\n"
                            "relu r1\n"
                            "conv c2 out=16 kernel=3 pad=1\n"
                            "fc f out=7\n";

static const int BATCHES[] = {1, 2, 3};

/* Makes a profile of the session's kernels, whose times are made up and take factor times as long.
 */
static struct vbs_profile *made_up(struct vbs_ctx *ctx, const struct vbs_session *session,
                                   double factor)
{
    double *times_us = calloc((size_t)session->n_kernels + 1, sizeof *times_us);
    struct vbs_profile *profile;

    if (!times_us)
        bail_out("no memory");
    for (int i = 0; i < session->n_kernels; i++)
        times_us[i] = factor * (5 + (20 + i % 3) * session->kernels[i].batch);
    profile = profile_of_session(ctx, session, times_us);
    free(times_us);
    return profile;
}

void tiny_open(const char *network, int64_t request, struct tiny *tiny)
{
    tiny_open_on("onednn", network, request, 1, tiny);
}

void tiny_open_on(const char *backend, const char *network, int64_t request, double factor,
                  struct tiny *tiny)
{
    const struct vbs_backend_options options = {
        .struct_size = sizeof options, .batches = BATCHES, .n_batches = 3, .threads = 1};
    struct vbs_session *session = NULL;
    struct vbs_ctx ctx = {0};

    *tiny = (struct tiny){.request = request};
    if (vbs_network_parse(&ctx, "tiny", network, strlen(network), NULL, &tiny->network) != VBS_OK ||
        vbs_backend_find(&ctx, backend, &tiny->backend) != VBS_OK ||
        tiny->backend->open(&ctx, tiny->network, &options, &session) != VBS_OK ||
        !(tiny->profile = made_up(&ctx, session, factor)))
        bail_out("no profile: %s", vbs_detail(&ctx));
    session->ops->close(session);
}

void tiny_close(struct tiny *tiny)
{
    vbs_profile_free(tiny->profile);
    vbs_network_free(tiny->network);
}

int64_t tiny_least_bytes(const struct tiny *tiny, const char *planner, enum vbs_weights weights)
{
    struct vbs_problem problem = {
        .profile = tiny->profile, .request = tiny->request, .weights = weights};
    const struct vbs_planner *found;
    struct vbs_solver *solver = NULL;
    struct vbs_ctx ctx = {0};
    int64_t bytes;

    if (weights == VBS_WEIGHTS_INCLUDED && tiny->profile->n_copies > 0)
        problem.copy = tiny->profile->copies[0].link;
    if (vbs_planner_find(&ctx, planner, &found) != VBS_OK ||
        vbs_solver_new(&ctx, found, &problem, NULL, &solver) != VBS_OK)
        bail_out("no solver: %s", vbs_detail(&ctx));
    bytes = vbs_solver_least_bytes(solver);
    vbs_solver_free(solver);
    return bytes;
}

enum vbs_status tiny_learn(struct vbs_ctx *ctx, const struct tiny *tiny,
                           const struct vbs_learn_options *options, struct vbs_learned **learned)
{
    return vbs_learn(ctx, tiny->network, tiny->backend, tiny->profile, options, learned);
}

static bool has_tried_all(const struct vbs_learned *learned)
{
    for (int i = 0; i < learned->n_budgets; i++)
        if (!learned->budgets[i].tried)
            return false;
    return true;
}

struct vbs_learned *tiny_learn_all(const struct tiny *tiny, const struct vbs_learn_options *options)
{
    struct vbs_learn_options own = *options;
    struct vbs_learned *learned = NULL;

    for (;; own.time_limit_s *= 2) {
        struct vbs_ctx ctx = {0};

        if (tiny_learn(&ctx, tiny, &own, &learned) != VBS_OK)
            bail_out("nothing learned: %s", vbs_detail(&ctx));
        if (has_tried_all(learned) || own.time_limit_s > 1000)
            return learned;
        vbs_learned_free(learned);
    }
}

bool tiny_replays(const struct vbs_profile *profile, const struct vbs_learned_budget *budget)
{
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};
    bool good = vbs_replay_run(&ctx, profile, budget->schedule, budget->memory_bytes, false,
                               &replay) == VBS_OK &&
                replay->fits;

    if (!good)
        printf("# %lld bytes: %s\n", (long long)budget->memory_bytes, vbs_detail(&ctx));
    vbs_replay_free(replay);
    return good;
}

bool tiny_agrees(const struct vbs_learned_budget *b)
{
    return b->n_schedules > 0 && b->n_turns >= 6 && b->low_us <= b->time_us &&
           b->time_us <= b->high_us && b->baseline_low_us <= b->baseline_us &&
           b->baseline_us <= b->baseline_high_us && b->ratio_low <= b->ratio &&
           b->ratio <= b->ratio_high && b->ratio > 0 && b->ratio <= 1 && b->baseline &&
           b->first_predicted_us > 0 &&
           (!b->is_baseline || (b->ratio == 1 && b->time_us == b->baseline_us));
}

void tiny_stop_soon(void *self, double done, double left_s, const char *text)
{
    struct tiny_stop *stopping = self;

    (void)done, (void)left_s, (void)text;
    if (--stopping->n_left == 0)
        stopping->stop = 1;
}
