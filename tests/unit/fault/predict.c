/* Every allocation of learning from kernel times and of predicting a profile fails once, and then
 * also every one after it: the call reports it, leaves nothing behind (AddressSanitizer looks), and
 * leaves its outputs alone. */
#include "base/ctx.h"
#include "predict/predict.h"
#include "support/fault.h"
#include "support/profile_help.h"
#include "support/store_help.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>

#define N 36

/* What the tasks work on. */
struct subject {
    struct predict_point points[N];
    struct vbs_store *store;
    struct vbs_predictor *predictor;
    struct vbs_network *network;
};

/* Two algorithms of nine layers at two batches. */
static void fill(struct predict_point *points)
{
    for (int i = 0; i < N; i++) {
        points[i] = (struct predict_point){.op = VBS_OP_CONV,
                                           .algorithm = i % 2 ? "a" : "b",
                                           .geometry = i / 4,
                                           .terms = {1, i + 1, i * i % 7 + 1, i / 4 % 3, 0},
                                           .features = {i % 5 * 0.1, i / 4 * 0.1, i % 2}};
        points[i].time_us = 5 + i + 3 * sin(i);
    }
}

static enum vbs_status learn(struct vbs_ctx *ctx, const void *subject)
{
    const struct subject *s = subject;
    struct predict_model model;
    struct predict_time times[N] = {{.log_us = -7}};
    enum vbs_status status = vbs_predict_learn(ctx, s->points, N, &model);

    if (status != VBS_OK)
        return model.families || model.arena.blocks ? VBS_N_STATUS : status;
    status = vbs_predict_times(ctx, &model, s->points, N, times);
    vbs_predict_clear(&model);
    return status;
}

static enum vbs_status predict(struct vbs_ctx *ctx, const void *subject)
{
    static const int BATCHES[] = {1, 3};
    const struct subject *s = subject;
    struct vbs_profile *profile = (void *)&fault_untouched;
    enum vbs_status status =
        vbs_predict_profile(ctx, s->store, s->predictor, s->network, BATCHES, 2, &profile);

    if (status != VBS_OK)
        return fault_status(status, profile);
    vbs_profile_free(profile);
    return status;
}

static void each_allocation(const char *name, const struct subject *s,
                            enum vbs_status (*run)(struct vbs_ctx *ctx, const void *subject))
{
    for (int lasting = 0; lasting < 2; lasting++) {
        struct fault_trial trial = {.run = run, .subject = s, .lasting = lasting};

        fault_each(&trial);
        ok(trial.n_faults > 5 && trial.n_wrong == 0 && trial.status == VBS_OK,
           "%s: %d allocations, %s", name, trial.n_faults, trial.way);
    }
}

static void set_up(struct vbs_ctx *ctx, const char *path, struct subject *s)
{
    struct vbs_predict_options options = {.struct_size = sizeof options};

    fill(s->points);
    s->store = open_store(ctx, path, VBS_STORE_WRITE);
    if (!s->store || vbs_backend_find(ctx, "analytic", &options.backend) != VBS_OK ||
        vbs_predict_calibrate(ctx, s->store, &options, NULL) != VBS_OK ||
        vbs_predictor_load(ctx, s->store, &options, &s->predictor) != VBS_OK ||
        vbs_network_load(ctx, "lenet-5", NULL, &s->network) != VBS_OK)
        bail_out("%s", ctx->detail);
}

int main(void)
{
    char *folder = temporary_folder(), *path = path_in(folder, "store.sqlite");
    static struct subject subject;
    struct vbs_ctx ctx = {0};

    set_up(&ctx, path, &subject);
    each_allocation("learning and predicting", &subject, learn);
    each_allocation("a predicted profile", &subject, predict);
    vbs_network_free(subject.network);
    vbs_predictor_free(subject.predictor);
    vbs_store_close(subject.store);
    free(path);
    remove_folder(folder);
    return done_testing();
}
