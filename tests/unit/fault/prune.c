/* Every allocation of finding groups, scoring and removing channels fails once, and then also every
 * one after it: the call says that memory is out, leaves its outputs as they were and nothing
 * behind (AddressSanitizer looks). */
#include "vbslab/prune.h"

#include "support/bail_out.h"
#include "support/data_help.h"
#include "support/fault.h"
#include "support/tap.h"

#define MAX_GROUPS   8
#define MAX_CHANNELS 64

static const char TEXT[] = "model pruned\n"
                           "input 1x3x4\n"
                           "conv a out=6 kernel=3 pad=1\n"
                           "batchnorm ab\n"
                           "relu ar\n"
                           "conv b out=6 kernel=3 pad=1 groups=6\n"
                           "add s from=ar,b\n"
                           "conv c out=4 kernel=1 groups=2\n"
                           "concat k from=s,c\n"
                           "fc f out=4\n"
                           "softmax o\n";

/* What the tasks work on. */
struct prune_place {
    struct vbs_network *network;
    struct vbs_prune_groups *groups;
    struct vbs_dataset *images;
};

static enum vbs_status find_groups(struct vbs_ctx *ctx, const void *subject)
{
    const struct prune_place *place = subject;
    struct vbs_prune_groups *groups = (void *)&fault_untouched;
    enum vbs_status status = vbs_prune_groups(ctx, place->network, &groups);

    if (status != VBS_OK)
        return fault_status(status, groups);
    vbs_prune_groups_free(groups);
    return VBS_OK;
}

static enum vbs_status score(struct vbs_ctx *ctx, const void *subject)
{
    const struct prune_place *place = subject;
    struct vbs_prune_options options = {
        .struct_size = sizeof options, .images = place->images, .n_images = 4, .threads = 1};
    double scores[MAX_CHANNELS];

    for (int r = 0; r < VBS_N_PRUNE_RANKINGS; r++) {
        enum vbs_status status;

        scores[0] = -1;
        options.ranking = (enum vbs_prune_ranking)r;
        status = vbs_prune_scores(ctx, place->network, place->groups, &options, scores);
        if (status != VBS_OK)
            return scores[0] == -1 ? status : VBS_N_STATUS;
    }
    return VBS_OK;
}

static enum vbs_status apply(struct vbs_ctx *ctx, const void *subject)
{
    const struct prune_place *place = subject;
    int64_t keep[MAX_GROUPS];

    for (int g = 0; g < place->groups->n_groups; g++)
        keep[g] = vbs_prune_keep(&place->groups->groups[g], 0.5, 0);
    for (int shapes = 0; shapes < 2; shapes++) {
        struct vbs_network *pruned = (void *)&fault_untouched;
        enum vbs_status status =
            shapes ? vbs_prune_shapes(ctx, place->network, place->groups, keep, &pruned)
                   : vbs_prune_apply(ctx, place->network, place->groups, NULL, keep, &pruned);

        if (status != VBS_OK)
            return fault_status(status, pruned);
        vbs_network_free(pruned);
    }
    return VBS_OK;
}

static enum vbs_status choose(struct vbs_ctx *ctx, const void *subject)
{
    const struct prune_place *place = subject;
    bool chosen[MAX_GROUPS] = {false};
    enum vbs_status status = vbs_prune_choose(ctx, place->groups, NULL, "a*", chosen);

    if (status != VBS_OK)
        return chosen[0] ? VBS_N_STATUS : status;
    /* the refusal, too, needs memory */
    status = vbs_prune_choose(ctx, place->groups, NULL, "q", chosen);
    return status == VBS_NOT_FOUND ? VBS_OK : status;
}

static void test(const char *name, enum vbs_status (*run)(struct vbs_ctx *ctx, const void *subject),
                 const struct prune_place *place, int fewest)
{
    for (int lasting = 0; lasting < 2; lasting++) {
        struct fault_trial trial = {.run = run, .subject = place, .lasting = lasting};

        fault_each(&trial);
        ok(trial.n_faults >= fewest && trial.n_wrong == 0 && trial.status == VBS_OK,
           "%s: %d allocations, %s", name, trial.n_faults, trial.way);
    }
}

int main(void)
{
    struct prune_place place = {NULL, NULL, NULL};
    struct vbs_ctx ctx = {0};
    char folder[DATA_FOLDER_SIZE];

    data_folder_new(folder);
    data_put_idx(folder, 12, 1, false);
    if (vbs_network_parse(&ctx, "test", TEXT, sizeof TEXT - 1, NULL, &place.network) != VBS_OK ||
        vbs_prune_groups(&ctx, place.network, &place.groups) != VBS_OK ||
        vbs_dataset_open(&ctx, folder, VBS_SPLIT_TRAIN, NULL, &place.images) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    if (place.groups->n_groups > MAX_GROUPS || place.groups->n_channels > MAX_CHANNELS)
        bail_out("the arrays of the test are too short");
    test("groups", find_groups, &place, 20);
    test("scores", score, &place, 20);
    test("pruned networks", apply, &place, 40);
    test("names", choose, &place, 3);
    vbs_dataset_free(place.images);
    vbs_prune_groups_free(place.groups);
    vbs_network_free(place.network);
    data_folder_remove(folder);
    return done_testing();
}
