/*
 * Every allocation of a training, of an evaluation and of a sensitivity fails once, and then also
 * every one from it on: the call says that memory is out, leaves its output alone and nothing
 * behind (AddressSanitizer looks), and a checkpoint that was there is as it was or complete.
 */
#include "vbslab/vbslab.h"

#include "base/fail.h"
#include "support/bail_out.h"
#include "support/data_help.h"
#include "support/fault.h"
#include "support/tap.h"

#include <stdlib.h>

static const char TEXT[] = "model small\n"
                           "input 1x3x4\n"
                           "conv c out=4 kernel=3 pad=1 bias=no\n"
                           "batchnorm cb\n"
                           "relu cr\n"
                           "fc f out=4\n"
                           "softmax s\n";

struct subject {
    char folder[DATA_FOLDER_SIZE];
    char checkpoint[DATA_FOLDER_SIZE + 20];
    struct vbs_network *network;
    struct vbs_dataset *images, *test;
    struct vbs_normalise normalise;
};

typedef enum vbs_status task(struct vbs_ctx *ctx, const struct subject *s);

/* Trains for an epoch of two steps, or goes on from the checkpoint. */
static enum vbs_status train(struct vbs_ctx *ctx, const struct subject *s)
{
    const struct vbs_train_options options = {.struct_size = sizeof options,
                                              .epochs = 1,
                                              .batch = 8,
                                              .threads = 1,
                                              .optimiser = VBS_OPTIMISER_ADAM,
                                              .initialisation = VBS_INITIALISATION_KEEP,
                                              .checkpoint = s->checkpoint};
    struct vbs_network *trained = (void *)&fault_untouched;
    struct vbs_train_epoch last;
    enum vbs_status status =
        vbs_train(ctx, s->network, s->images, s->test, &s->normalise, &options, &trained, &last);

    if (status != VBS_OK)
        return fault_status(status, trained);
    vbs_network_free(trained);
    return status;
}

static enum vbs_status evaluate(struct vbs_ctx *ctx, const struct subject *s)
{
    const struct vbs_eval_options options = {
        .struct_size = sizeof options, .batch = 4, .threads = 1};
    struct vbs_score score = {.confusion = (void *)&fault_untouched};
    enum vbs_status status =
        vbs_evaluate(ctx, s->network, s->test, &s->normalise, &options, NULL, &score);

    if (status != VBS_OK)
        return fault_status(status, score.confusion);
    vbs_score_clear(&score);
    return status;
}

/* Measures the whole network and one point of a group, and writes the range of it. */
static enum vbs_status find_range(struct vbs_ctx *ctx, struct vbs_sensitivity *sensitivity)
{
    const struct vbs_prune_groups *groups = vbs_sensitivity_groups(sensitivity);
    struct vbs_sensitivity_point points[2];
    struct vbs_sensitivity_range ranges[2];
    char key[VBS_SENSITIVITY_KEY_SIZE], *text = (char *)&fault_untouched;
    enum vbs_status status;
    int n;

    VBS_TRY(vbs_sensitivity_key(ctx, sensitivity, key));
    VBS_TRY(vbs_sensitivity_measure(ctx, sensitivity, -1, 0, &points[0]));
    VBS_TRY(vbs_sensitivity_measure(ctx, sensitivity, 0, 2, &points[1]));
    VBS_TRY(vbs_sensitivity_propose(ctx, groups, points, 2, 1, 1, ranges, &n));
    status = vbs_sensitivity_toml(ctx, groups, ranges, n, &text);
    if (status != VBS_OK)
        return fault_status(status, text);
    free(text);
    return VBS_OK;
}

static enum vbs_status measure(struct vbs_ctx *ctx, const struct subject *s)
{
    const struct vbs_sensitivity_options options = {
        .struct_size = sizeof options, .limit = 4, .threads = 1};
    struct vbs_sensitivity *sensitivity = (void *)&fault_untouched;
    enum vbs_status status = vbs_sensitivity_open(ctx, s->network, NULL, s->images, &s->normalise,
                                                  &options, &sensitivity);

    if (status != VBS_OK)
        return fault_status(status, sensitivity);
    status = find_range(ctx, sensitivity);
    vbs_sensitivity_free(sensitivity);
    return status;
}

/* Runs the task with the failure of each allocation in turn. fresh: each begins without a
 * checkpoint. */
static void check(const char *name, task *run, const struct subject *s, bool fresh, bool lasting)
{
    int n_faults = 0, n_wrong = 0;
    enum vbs_status status = VBS_OK;

    for (bool hit = true; hit && n_faults < 100000;) {
        struct vbs_ctx ctx = {0};

        if (fresh)
            remove(s->checkpoint);
        allocation_faults = (struct faults){.countdown = n_faults + 1, .lasting = lasting};
        status = run(&ctx, s);
        hit = allocation_faults.hit;
        allocation_faults = (struct faults){0};
        n_faults += hit;
        if (hit && (status != VBS_NO_MEMORY || ctx.status != status) && ++n_wrong < 5)
            printf("# allocation %d: status %d (%s)\n", n_faults, (int)status, ctx.detail);
    }
    ok(n_faults > 15 && n_wrong == 0 && status == VBS_OK, "%s: %d allocations, %s", name, n_faults,
       lasting ? "all from one on fail" : "each fails once");
}

static void open_subject(struct subject *s)
{
    const struct vbs_data_options all = {sizeof all, -1};
    struct vbs_ctx ctx = {0};

    *s = (struct subject){.network = NULL};
    data_folder_new(s->folder);
    data_put_idx(s->folder, 16, 1, false);
    snprintf(s->checkpoint, sizeof s->checkpoint, "%s/checkpoint", s->folder);
    if (vbs_network_parse(&ctx, "test", TEXT, sizeof TEXT - 1, NULL, &s->network) != VBS_OK ||
        vbs_dataset_open(&ctx, s->folder, VBS_SPLIT_TRAIN, &all, &s->images) != VBS_OK ||
        vbs_dataset_open(&ctx, s->folder, VBS_SPLIT_TEST, &all, &s->test) != VBS_OK ||
        vbs_normalise_measure(&ctx, s->folder, &s->normalise) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
}

int main(void)
{
    struct vbs_ctx ctx = {0};
    struct subject s;

    open_subject(&s);
    for (int lasting = 0; lasting < 2; lasting++) {
        check("a training", train, &s, true, lasting);
        check("a training of which the checkpoint has all steps", train, &s, false, lasting);
        check("an evaluation", evaluate, &s, false, lasting);
        check("a sensitivity", measure, &s, false, lasting);
    }
    ok(train(&ctx, &s) == VBS_OK, "without faults the checkpoint is whole");
    vbs_network_free(s.network);
    vbs_dataset_free(s.images);
    vbs_dataset_free(s.test);
    data_remove(s.folder, "checkpoint");
    data_folder_remove(s.folder);
    return done_testing();
}
