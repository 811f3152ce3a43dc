/*
 * Pruned networks compute what the whole networks compute with the removed channels masked to zero:
 * the built-in ones that are small, networks from ONNX files, and random ones with all operators
 * through which channels are followed. What a group says that a channel costs is what its removal
 * saves. Networks of the same shapes have the same hash.
 */
#include "vbslab/prune.h"

#include "cases/random_network.h"
#include "cases/random_profile.h"
#include "prune/groups.h"
#include "reference/prune/masked.h"
#include "support/tally.h"
#include "support/trials.h"

#include <stdlib.h>

#define PROPERTIES(X)                                                                              \
    X(FOUND, "groups are found")                                                                   \
    X(COVERED, "every filter is in one group, as often as every other channel of it")              \
    X(PRUNED, "channels are removed")                                                              \
    X(SAME, "outputs are those of the masked network")                                             \
    X(SHAPES, "a network of its shapes alone is made of the same tensors and the same work")       \
    X(WORK, "one channel less saves what its group says")

enum property { TALLY_ENUM(PROPERTIES, N_PROPERTIES) };

static const char *const TEXTS[] = {TALLY_TEXTS(PROPERTIES)};

/* A network that is pruned. */
struct prune_subject {
    struct vbs_ctx ctx;
    const char *name;
    int number;
    struct vbs_network *network;
    struct vbs_prune_groups *groups;
    double *scores;
    int64_t *keep;
    bool *stays; /* [n_channels] by score, found by counting those that are better */
};

static void describe(const void *self)
{
    const struct prune_subject *s = self;

    printf("%s %d", s->name, s->number);
    if (vbs_detail(&s->ctx)[0])
        printf(" (%s)", vbs_detail(&s->ctx));
}

/* ---- groups ---- */

/* Counts filters by group, and by channel where they are filters of layer. */
static bool is_covered(const struct prune_subject *s)
{
    const struct vbs_prune_whole *whole = (const struct vbs_prune_whole *)s->groups;
    int64_t filters = 0, in_groups = 0;

    for (int k = 1; k <= s->network->n_layers; k++)
        if (vbs_weight_count(s->network, k) > 0)
            filters += s->network->layers[k].attributes.weighted.out_channels;
    for (int g = 0; g < s->groups->n_groups; g++) {
        const struct vbs_prune_group *group = &s->groups->groups[g];
        int64_t of_first = 0;

        for (int m = 0; m < group->n_members; m++) {
            const struct vbs_prune_member *member = &group->members[m];

            in_groups += member->n;
            of_first += member->layer == group->members[0].layer ? member->n : 0;
            for (int64_t i = member->first; i < member->first + member->n; i++) {
                int channel = whole->tensors[member->layer].channels[i];

                if (channel < group->first || channel >= group->first + group->n_channels)
                    return false;
            }
        }
        if (of_first != group->unit * group->n_channels)
            return false;
    }
    return in_groups == filters;
}

/* ---- pruning ---- */

/* Gives whether a filter is removed. */
static bool is_removed(void *self, int layer, int64_t filter)
{
    const struct prune_subject *s = self;
    const struct vbs_prune_whole *whole = (const struct vbs_prune_whole *)s->groups;

    return !s->stays[whole->tensors[layer].channels[filter]];
}

static void choose(struct prune_subject *s, gsl_rng *rng)
{
    for (int64_t i = 0; i < s->groups->n_channels; i++)
        s->scores[i] = random_int(rng, 0, 9);
    for (int g = 0; g < s->groups->n_groups; g++) {
        const struct vbs_prune_group *group = &s->groups->groups[g];

        s->keep[g] = group->fixed ? group->n_channels : random_int(rng, 1, (int)group->n_channels);
        for (int64_t i = group->first; i < group->first + group->n_channels; i++) {
            int64_t better = 0;

            for (int64_t j = group->first; j < group->first + group->n_channels; j++)
                better += s->scores[j] > s->scores[i] || (s->scores[j] == s->scores[i] && j < i);
            s->stays[i] = better < s->keep[g];
        }
    }
}

/* Gives whether the outputs of the pruned network are those of the masked one. */
static bool same_outputs(struct prune_subject *s, const struct vbs_network *pruned)
{
    int64_t n_input = vbs_shape_elements(&s->network->input);
    float *input = malloc((size_t)n_input * sizeof *input);
    float **want = NULL, **got = NULL;
    bool same;

    if (!input)
        return false;
    vbs_tensor_values(0, 0, n_input, input);
    same = masked_run(s->network, input, is_removed, s, &want) &&
           masked_run(pruned, input, NULL, NULL, &got);
    for (int o = 0; same && o < pruned->n_outputs; o++) {
        int layer = pruned->outputs[o].layer;
        int64_t n = vbs_shape_elements(&pruned->layers[layer].shape);
        double most = 1e-3, worst = 0;

        for (int64_t i = 0; i < n; i++) {
            most = fmax(most, fabs((double)want[layer][i]));
            worst = fmax(worst, fabs((double)want[layer][i] - (double)got[layer][i]));
        }
        same = worst <= 2e-5 * most;
    }
    if (want)
        masked_free(s->network, want);
    if (got)
        masked_free(pruned, got);
    free(input);
    return same;
}

static int64_t macs_of(const struct vbs_network *network)
{
    int64_t macs = 0;

    for (int k = 1; k <= network->n_layers; k++)
        macs += network->layers[k].macs;
    return macs;
}

/* Gives whether one channel less of each group saves what the group says. */
static bool right_work(struct prune_subject *s)
{
    bool right = true;

    for (int g = 0; g < s->groups->n_groups; g++)
        s->keep[g] = s->groups->groups[g].n_channels;
    for (int g = 0; g < s->groups->n_groups && right; g++) {
        const struct vbs_prune_group *group = &s->groups->groups[g];
        struct vbs_network *pruned;

        if (group->fixed)
            continue;
        s->keep[g]--;
        right = vbs_prune_shapes(&s->ctx, s->network, s->groups, s->keep, &pruned) == VBS_OK;
        s->keep[g]++;
        if (!right)
            return false;
        right = vbs_network_parameters(s->network) - vbs_network_parameters(pruned) ==
                    group->parameters &&
                macs_of(s->network) - macs_of(pruned) == group->macs;
        vbs_network_free(pruned);
    }
    return right;
}

/* Gives whether two networks have tensors and layers of the same sizes. */
static bool same_sizes(const struct vbs_network *a, const struct vbs_network *b)
{
    bool same = a->n_layers == b->n_layers;

    for (int k = 1; same && k <= a->n_layers; k++)
        same = vbs_shape_elements(&a->layers[k].shape) == vbs_shape_elements(&b->layers[k].shape) &&
               a->layers[k].parameters == b->layers[k].parameters &&
               a->layers[k].macs == b->layers[k].macs;
    return same;
}

static void check_pruned(struct tally *tally, struct prune_subject *s, gsl_rng *rng)
{
    struct vbs_network *pruned = NULL, *shapes = NULL;
    bool made;

    choose(s, rng);
    made = vbs_prune_apply(&s->ctx, s->network, s->groups, s->scores, s->keep, &pruned) == VBS_OK;
    tally_check_of(tally, s, PRUNED, made);
    if (made) {
        tally_check_of(tally, s, SAME, same_outputs(s, pruned));
        tally_check_of(tally, s, SHAPES,
                       vbs_prune_shapes(&s->ctx, s->network, s->groups, s->keep, &shapes) ==
                               VBS_OK &&
                           same_sizes(shapes, pruned));
    }
    vbs_network_free(pruned);
    vbs_network_free(shapes);
    tally_check_of(tally, s, WORK, right_work(s));
}

/* Checks a network, which it frees. */
static void check(struct tally *tally, const char *name, int number, struct vbs_network *network,
                  gsl_rng *rng)
{
    struct prune_subject s = {.name = name, .number = number, .network = network};
    size_t n;

    if (!network || vbs_prune_groups(&s.ctx, network, &s.groups) != VBS_OK) {
        tally_check_of(tally, &s, FOUND, false);
        vbs_network_free(network);
        return;
    }
    tally_check_of(tally, &s, FOUND, true);
    tally_check_of(tally, &s, COVERED, is_covered(&s));
    n = (size_t)s.groups->n_channels + 1;
    s.scores = calloc(n, sizeof *s.scores);
    s.stays = calloc(n, sizeof *s.stays);
    s.keep = calloc((size_t)s.groups->n_groups + 1, sizeof *s.keep);
    if (!s.scores || !s.stays || !s.keep)
        bail_out("out of memory");
    check_pruned(tally, &s, rng);
    free(s.scores);
    free(s.stays);
    free(s.keep);
    vbs_prune_groups_free(s.groups);
    vbs_network_free(network);
}

/* ---- networks ---- */

static const struct {
    const char *model;
    struct vbs_shape input;
} MODELS[] = {
    {"lenet-300-100", {0}},
    {"lenet-5", {0}},
    {"resnet-8", {3, {1, 8, 8}}},
    {"resnet-20", {3, {1, 8, 8}}},
    {"resnet-56-cifar", {3, {3, 4, 4}}},
    {"mobilenet-v1", {3, {3, 32, 32}}},
    {"squeezenet-v1.0", {3, {3, 32, 32}}},
    {"tests/data/onnx/keras_nhwc.onnx", {0}},
    {"tests/data/onnx/old_01.onnx", {0}},
    {"tests/data/onnx/one_channel.onnx", {0}},
    {"tests/data/onnx/opset_13.onnx", {0}},
    {"tests/data/onnx/outputs.onnx", {0}},
    {"tests/data/onnx/segment.onnx", {0}},
    {"tests/data/onnx/torch_flatten_14.onnx", {0}},
    {"tests/data/onnx/torch_gates.onnx", {0}},
    {"tests/data/onnx/whole.onnx", {0}},
};

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, 400, 5, "random networks");
    struct tally known = tally_of(N_PROPERTIES, TEXTS, describe, NULL);
    struct tally random = tally_of(N_PROPERTIES, TEXTS, describe, NULL);
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    gsl_rng_set(rng, trials.seed);
    for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++) {
        struct vbs_ctx ctx = {0};
        struct vbs_network *network = NULL;

        if (vbs_network_load(&ctx, MODELS[i].model,
                             MODELS[i].input.n_dims ? &MODELS[i].input : NULL, &network) != VBS_OK)
            printf("# %s: %s\n", MODELS[i].model, vbs_detail(&ctx));
        check(&known, MODELS[i].model, 0, network, rng);
    }
    for (int i = 0; i < trials.n; i++) {
        struct vbs_ctx ctx = {0};
        struct vbs_network *network = random_network(&ctx, rng, random_int(rng, 4, 20));

        if (!network)
            printf("# random network %d: %s\n", i, vbs_detail(&ctx));
        check(&random, "random network", i, network, rng);
    }
    gsl_rng_free(rng);
    tally_report(&known, "networks");
    tally_report(&random, "random networks");
    return done_testing();
}
