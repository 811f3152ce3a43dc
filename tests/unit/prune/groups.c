/*
 * Groups, one operator at a time: which filters go together, what fixes them, and the reason that
 * is given; names and patterns; how many channels stay; scores by their definitions; and what is
 * refused.
 */
#include "vbslab/prune.h"

#include "model/network/network.h"
#include "support/bail_out.h"
#include "support/data_help.h"
#include "support/model_help.h"
#include "support/tap.h"

#include <stdlib.h>

static struct vbs_ctx ctx;

static struct vbs_prune_groups *groups_of(const struct vbs_network *network)
{
    struct vbs_prune_groups *groups;

    if (vbs_prune_groups(&ctx, network, &groups) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    return groups;
}

/* ---- groups ---- */

/* Writes "a[0+4] b[0+4] x4 unit 1; ..." for all groups, with an exclamation mark where one is
 * fixed. */
static void write_groups(const struct vbs_network *network, const struct vbs_prune_groups *groups,
                         char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (int g = 0; g < groups->n_groups && n < size; g++) {
        const struct vbs_prune_group *group = &groups->groups[g];

        n += (size_t)snprintf(text + n, size - n, "%s%s:", g > 0 ? "; " : "", group->name);
        for (int m = 0; m < group->n_members && n < size; m++)
            n += (size_t)snprintf(text + n, size - n, " %s[%d+%d]",
                                  network->layers[group->members[m].layer].name,
                                  (int)group->members[m].first, (int)group->members[m].n);
        if (n < size)
            n += (size_t)snprintf(text + n, size - n, " %dx%d%s", (int)group->n_channels,
                                  (int)group->unit, group->fixed ? "!" : "");
    }
}

static const struct {
    const char *about, *text, *groups;
} GRAPHS[] = {
    {"a chain", "model m\ninput 3x4x4\nconv a out=4 kernel=3\nconv b out=5 kernel=1\nfc c out=2\n",
     "a: a[0+4] 4x1; b: b[0+5] 5x1; c: c[0+2] 2x1!"},
    {"residual sums join the layers of all summands",
     "model m\ninput 3x4x4\nconv a out=4 kernel=1\nconv b out=6 kernel=1\nconv c out=4 kernel=1\n"
     "add s from=a,c\nconv d out=4 kernel=1\nadd t from=s,d\nfc f out=2\n",
     "a: a[0+4] c[0+4] d[0+4] 4x1; b: b[0+6] 6x1; f: f[0+2] 2x1!"},
    {"a sum with a tensor that stays fixes the other",
     "model m\ninput 3x4x4\nconv a out=3 kernel=1\nadd s from=input,a\nfc f out=2\n",
     "a: a[0+3] 3x1!; f: f[0+2] 2x1!"},
    {"concatenated channels keep their groups; a sum behind divides its other layer",
     "model m\ninput 3x4x4\nconv a out=4 kernel=1\nconv b out=2 kernel=1 from=input\n"
     "concat k from=a,b\nconv c out=6 kernel=1 from=a\nadd s from=k,c\nfc f out=2\n",
     "a: a[0+4] c[0+4] 4x1; b: b[0+2] c[4+2] 2x1; f: f[0+2] 2x1!"},
    {"a depthwise convolution goes with what it reads",
     "model m\ninput 3x4x4\nconv a out=4 kernel=1\nconv b out=8 kernel=3 groups=4\nfc f out=2\n",
     "a: a[0+4] b[0+8] 4x1; f: f[0+2] 2x1!"},
    {"few groups keep equal widths: the same position of each goes",
     "model m\ninput 3x4x4\nconv a out=6 kernel=1\nconv b out=8 kernel=1 groups=2\nfc f out=2\n",
     "a: a[0+6] 3x2; b: b[0+8] 4x2; f: f[0+2] 2x1!"},
    {"many small groups go whole",
     "model m\ninput 3x4x4\nconv a out=12 kernel=1\nconv b out=12 kernel=1 groups=6\nfc f out=2\n",
     "a: a[0+12] b[0+12] 6x2; f: f[0+2] 2x1!"},
    {"an inner product reads a whole image of every channel",
     "model m\ninput 3x4x4\nconv a out=4 kernel=1\nbatchnorm n\nrelu r\nmaxpool p kernel=2\n"
     "lrn l size=3 alpha=1 beta=1\nfc f out=6\nfc g out=2\n",
     "a: a[0+4] 4x1; f: f[0+6] 6x1; g: g[0+2] 2x1!"},
    {"one channel is all that there is",
     "model m\ninput 3x4x4\nconv a out=1 kernel=1\nfc f out=2\n", "a: a[0+1] 1x1!; f: f[0+2] 2x1!"},
    {"a tensor that is an output fixes what it is summed with",
     "model m\ninput 3x4x4\nconv a out=4 kernel=1\nconv b out=4 kernel=1\nadd s from=a,b\n",
     "a: a[0+4] b[0+4] 4x1!"},
};

static void test_graphs(void)
{
    for (size_t i = 0; i < sizeof GRAPHS / sizeof *GRAPHS; i++) {
        struct vbs_network *network = parse_network(GRAPHS[i].text);
        struct vbs_prune_groups *groups = groups_of(network);
        char text[1024];

        write_groups(network, groups, text, sizeof text);
        is_str(text, GRAPHS[i].groups, GRAPHS[i].about);
        vbs_prune_groups_free(groups);
        vbs_network_free(network);
    }
}

static void test_reasons(void)
{
    struct vbs_network *network = parse_network(
        "model m\ninput 3x4x4\nconv a out=3 kernel=1\nadd s from=input,a\nconv b out=4 "
        "kernel=1\nsoftmax p\nconv c out=1 kernel=1\nconv d out=4 kernel=1\n");
    struct vbs_prune_groups *groups = groups_of(network);

    is_str(groups->groups[0].fixed, "'s' combines its channels with a tensor that stays whole",
           "a sum with the input");
    is_str(groups->groups[1].fixed, "'p' mixes its channels", "a softmax");
    is_str(groups->groups[2].fixed, "its filters could only be removed all together",
           "a single channel");
    is_str(groups->groups[3].fixed, "'d' is an output of the network", "an output");
    vbs_prune_groups_free(groups);
    vbs_network_free(network);
}

/* ---- choosing ---- */

static int count(const bool *chosen, int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += chosen[i];
    return sum;
}

static void test_names(void)
{
    struct vbs_network *network;
    struct vbs_prune_groups *groups;
    bool chosen[64] = {false};

    if (vbs_network_load(&ctx, "resnet-56-cifar", NULL, &network) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    groups = groups_of(network);
    ok(vbs_prune_choose(&ctx, groups, NULL, "stage1/*/conv1", chosen) == VBS_OK &&
           count(chosen, groups->n_groups) == 9,
       "a star stands for any part of a name");
    ok(vbs_prune_choose(&ctx, groups, NULL, "conv1", chosen) == VBS_OK &&
           count(chosen, groups->n_groups) == 10,
       "choices are added up");
    memset(chosen, 0, sizeof chosen);
    ok(vbs_prune_choose(&ctx, groups, NULL, "all", chosen) == VBS_OK &&
           count(chosen, groups->n_groups) == groups->n_groups - 1,
       "all passes over the output");
    for (int i = 0; i < vbs_prune_preset_at(0)->n_labels; i++) {
        static const int WANT[] = {9, 6, 1, 6};
        const char *label = vbs_prune_preset_at(0)->labels[i].name;

        memset(chosen, 0, sizeof chosen);
        ok(vbs_prune_choose(&ctx, groups, "tune-resnet-56", label, chosen) == VBS_OK &&
               count(chosen, groups->n_groups) == WANT[i],
           "%s has %d groups", label, WANT[i]);
    }
    memset(chosen, 0, sizeof chosen);
    is_int(vbs_prune_choose(&ctx, groups, NULL, "stage1/block1/conv9", chosen), VBS_NOT_FOUND,
           "an unknown name");
    ok(strstr(vbs_detail(&ctx), "did you mean 'stage1/block1/conv1'?"), "... the nearest is named");
    is_int(vbs_prune_choose(&ctx, groups, NULL, "fc", chosen), VBS_USAGE, "a group that is fixed");
    is_int(vbs_prune_choose(&ctx, groups, "best", "all", chosen), VBS_NOT_FOUND,
           "an unknown preset");
    is_int(count(chosen, groups->n_groups), 0, "... and nothing is chosen");
    ok(vbs_prune_preset_at(1) == NULL && vbs_prune_preset_at(-1) == NULL, "presets end");
    vbs_prune_groups_free(groups);
    vbs_network_free(network);
}

static void test_keep(void)
{
    const struct vbs_prune_group plain = {.n_channels = 10, .unit = 1};
    const struct vbs_prune_group wide = {.n_channels = 10, .unit = 6};
    const struct vbs_prune_group fixed = {.n_channels = 10, .unit = 1, .fixed = "it is"};

    is_int(vbs_prune_keep(&plain, 0.5, 0), 5, "half is removed");
    is_int(vbs_prune_keep(&plain, 0.3, 0), 7, "0.3 of 10 is 3");
    is_int(vbs_prune_keep(&plain, 0.39, 1), 7, "what is removed is rounded down");
    is_int(vbs_prune_keep(&plain, 0.99, 0), 1, "one stays");
    is_int(vbs_prune_keep(&plain, 0, 0), 10, "nothing is removed");
    is_int(vbs_prune_keep(&plain, 0.5, 8), 8, "what stays is rounded up");
    is_int(vbs_prune_keep(&plain, 0.5, 16), 10, "... to all at most");
    is_int(vbs_prune_keep(&wide, 0.5, 16), 6, "... in filters: 30 of 60 become 32, 6 channels");
    is_int(vbs_prune_keep(&fixed, 0.5, 0), 10, "a fixed group keeps all");
}

/* ---- scores ---- */

#define SMALL                                                                                      \
    "model m\ninput 1x3x4\nconv a out=4 kernel=3 pad=1\nconv b out=6 kernel=1\nconv c out=4 "      \
    "kernel=1\nadd s from=a,c\nrelu r\nfc f out=4\n"

/* Gives the sum over the weights of a filter, of their absolute values or of their squares. */
static double filter_sum(const struct vbs_network *network, int layer, int64_t filter, bool squares)
{
    int64_t n =
        vbs_weight_count(network, layer) / network->layers[layer].attributes.weighted.out_channels;
    float w[64];
    double sum = 0;

    if (n > 64 || vbs_parameter_values(&ctx, network, layer, -1, VBS_PARAMETER_WEIGHTS, filter * n,
                                       n, w) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    for (int64_t i = 0; i < n; i++)
        sum += squares ? (double)w[i] * (double)w[i] : fabs((double)w[i]);
    return sum;
}

static void test_sums(void)
{
    struct vbs_network *network = parse_network(SMALL);
    struct vbs_prune_groups *groups = groups_of(network);
    struct vbs_prune_options options = {.struct_size = sizeof options};
    double l1[64], l2[64], random[64], again[64];
    double worst = 0;

    ok(vbs_prune_scores(&ctx, network, groups, NULL, l1) == VBS_OK, "l1 is the default");
    options.ranking = VBS_PRUNE_L2;
    ok(vbs_prune_scores(&ctx, network, groups, &options, l2) == VBS_OK, "l2");
    for (int64_t i = 0; i < 4; i++) {
        worst = fmax(worst, fabs(l1[i] - filter_sum(network, 1, i, false) -
                                 filter_sum(network, 3, i, false)));
        worst = fmax(worst, fabs(l2[i] - sqrt(filter_sum(network, 1, i, true) +
                                              filter_sum(network, 3, i, true))));
    }
    for (int64_t i = 0; i < 6; i++) {
        worst = fmax(worst, fabs(l1[4 + i] - filter_sum(network, 2, i, false)));
        worst = fmax(worst, fabs(l2[4 + i] - sqrt(filter_sum(network, 2, i, true))));
    }
    ok(worst < 1e-12, "sums are over all filters of a channel (%g)", worst);
    options.ranking = VBS_PRUNE_RANDOM;
    options.seed = 7;
    ok(vbs_prune_scores(&ctx, network, groups, &options, random) == VBS_OK &&
           vbs_prune_scores(&ctx, network, groups, &options, again) == VBS_OK &&
           memcmp(random, again, (size_t)groups->n_channels * sizeof *random) == 0,
       "random numbers are those of the seed");
    options.seed = 8;
    ok(vbs_prune_scores(&ctx, network, groups, &options, again) == VBS_OK &&
           memcmp(random, again, (size_t)groups->n_channels * sizeof *random) != 0,
       "... another seed has others");
    options.ranking = VBS_PRUNE_TAYLOR;
    is_int(vbs_prune_scores(&ctx, network, groups, &options, again), VBS_USAGE,
           "taylor needs images");
    options.ranking = VBS_N_PRUNE_RANKINGS;
    is_int(vbs_prune_scores(&ctx, network, groups, &options, again), VBS_USAGE,
           "there is no such ranking");
    vbs_prune_groups_free(groups);
    vbs_network_free(network);
}

/* Gives the loss of a network on all images, in double precision: inner product and softmax. */
static double loss_of(const float *w, const float *bias, const float *images, const int *labels,
                      int n)
{
    double loss = 0;

    for (int i = 0; i < n; i++) {
        double score[4], total = 0;

        for (int c = 0; c < 4; c++) {
            score[c] = (double)bias[c];
            for (int p = 0; p < 12; p++)
                score[c] += (double)w[c * 12 + p] * (double)images[i * 12 + p];
            total += exp(score[c]);
        }
        loss += log(total) - score[labels[i]];
    }
    return loss;
}

/* The scores of a single inner product are finite differences of its loss, in one batch. Its group
 * is fixed, but has scores. */
static void test_taylor(void)
{
    struct vbs_network *network = parse_network("model m\ninput 1x3x4\nfc f out=4\nsoftmax p\n");
    struct vbs_prune_groups *groups = groups_of(network);
    char folder[DATA_FOLDER_SIZE];
    struct vbs_dataset *data;
    const struct vbs_data_options all = {.struct_size = sizeof all, .n_validation = -1};
    struct vbs_prune_options options = {
        .struct_size = sizeof options, .ranking = VBS_PRUNE_TAYLOR, .n_images = 100, .threads = 1};
    double scores[4] = {0}, worst = 0;
    float w[48], bias[4], images[12 * 12];
    int labels[12];

    data_folder_new(folder);
    data_put_idx(folder, 12, 1, false);
    if (vbs_dataset_open(&ctx, folder, VBS_SPLIT_TRAIN, &all, &data) != VBS_OK ||
        vbs_parameter_values(&ctx, network, 1, -1, VBS_PARAMETER_WEIGHTS, 0, 48, w) != VBS_OK ||
        vbs_parameter_values(&ctx, network, 1, -1, VBS_PARAMETER_BIAS, 0, 4, bias) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    vbs_dataset_images(data, NULL, 12, NULL, NULL, images);
    for (int i = 0; i < 12; i++)
        labels[i] = vbs_dataset_label(data, i);
    options.images = data;
    ok(vbs_prune_scores(&ctx, network, groups, &options, scores) == VBS_OK, "taylor: %s",
       vbs_detail(&ctx));
    for (int c = 0; c < 4; c++) {
        double want = 0;

        for (int i = c * 12; i < c * 12 + 12 + 1; i++) {
            float *value = i < c * 12 + 12 ? &w[i] : &bias[c], kept = *value, step = 0.0078125f;
            double above, below;

            *value = kept + step;
            above = loss_of(w, bias, images, labels, 12);
            *value = kept - step;
            below = loss_of(w, bias, images, labels, 12);
            *value = kept;
            want += fabs((above - below) / (2 * (double)step) * (double)kept);
        }
        worst = fmax(worst, fabs(scores[c] - want) / fmax(want, 1e-6));
    }
    ok(worst < 1e-3, "scores are sums of |gradient x value| of weights and bias (%g)", worst);
    options.n_images = -1;
    is_int(vbs_prune_scores(&ctx, network, groups, &options, scores), VBS_USAGE,
           "a number of images below 0");
    vbs_dataset_free(data);
    data_folder_remove(folder);
    vbs_prune_groups_free(groups);
    vbs_network_free(network);
}

/* ---- what is refused ---- */

static void test_refusals(void)
{
    struct vbs_network *network = parse_network(SMALL),
                       *other = parse_network("model m\ninput 4\nfc f out=2\n");
    struct vbs_network *pruned = NULL;
    struct vbs_prune_groups *groups = groups_of(network);
    int64_t keep[3] = {4, 6, 4};
    double scores[64] = {0};
    volatile sig_atomic_t stop = 1;
    struct vbs_ctx stopped = {.cancel = &stop};

    keep[0] = 0;
    is_int(vbs_prune_apply(&ctx, network, groups, NULL, keep, &pruned), VBS_USAGE,
           "a group without channels");
    is_str(vbs_detail(&ctx), "group 'a' cannot keep 0 channels; it can keep 1 to 4",
           "... says what can stay");
    keep[0] = 5;
    is_int(vbs_prune_apply(&ctx, network, groups, NULL, keep, &pruned), VBS_USAGE,
           "more channels than there are");
    keep[0] = 4;
    keep[2] = 3;
    is_int(vbs_prune_apply(&ctx, network, groups, NULL, keep, &pruned), VBS_USAGE,
           "less of a fixed group");
    is_str(vbs_detail(&ctx), "group 'f' cannot be pruned: 'f' is an output of the network",
           "... says why it is fixed");
    keep[2] = 4;
    scores[2] = NAN;
    is_int(vbs_prune_apply(&ctx, network, groups, scores, keep, &pruned), VBS_USAGE,
           "a score that is no number");
    is_int(vbs_prune_apply(&ctx, other, groups, NULL, keep, &pruned), VBS_USAGE,
           "groups of another network");
    is_int(vbs_prune_apply(&stopped, network, groups, NULL, keep, &pruned), VBS_INTERRUPTED,
           "a stop");
    ok(!pruned, "outputs are untouched");
    ok(vbs_network_set_normalise(&ctx, network, "0.5;0.25") == VBS_OK &&
           vbs_prune_apply(&ctx, network, groups, NULL, keep, &pruned) == VBS_OK &&
           vbs_network_hash(pruned) == vbs_network_hash(network),
       "without removals it is a copy");
    is_str(pruned ? pruned->normalise : NULL, "0.5;0.25", "... with the normalisation of inputs");
    vbs_network_free(pruned);
    vbs_prune_groups_free(groups);
    vbs_network_free(other);
    vbs_network_free(network);
}

/* Cuts that do not fit together are refused by the copy itself. */
static void test_cuts(void)
{
    static const bool FIRST[] = {false, true, true, true}, LAST[] = {true, true, true, false};
    struct vbs_network *network = parse_network(
                           "model m\ninput 3x2x2\nconv a out=4 kernel=1\nconv b out=4 "
                           "kernel=1\nadd s from=a,b\nconv c out=4 kernel=1 groups=2\n"
                           "fc f out=2\n"),
                       *copy = NULL;
    struct vbs_cut cuts[6] = {{0, NULL}};

    cuts[1].keep = FIRST;
    is_int(vbs_network_cut(&ctx, network, cuts, false, &copy), VBS_USAGE, "one summand alone");
    is_str(vbs_detail(&ctx), "layer 3 's': its output would lose other channels than its inputs",
           "... says where");
    cuts[2].keep = cuts[3].keep = LAST;
    is_int(vbs_network_cut(&ctx, network, cuts, false, &copy), VBS_USAGE,
           "other channels of the other summand");
    cuts[2].keep = cuts[3].keep = FIRST;
    is_int(vbs_network_cut(&ctx, network, cuts, false, &copy), VBS_USAGE, "groups of two widths");
    is_str(vbs_detail(&ctx), "layer 4 'c': its groups would have different numbers of channels",
           "... says where");
    cuts[1].keep = cuts[2].keep = cuts[3].keep = NULL;
    cuts[5].keep = (const bool[]){true, false};
    is_int(vbs_network_cut(&ctx, network, cuts, false, &copy), VBS_USAGE, "an output");
    ok(!copy, "nothing is made");
    vbs_network_free(network);
}

int main(void)
{
    test_graphs();
    test_reasons();
    test_names();
    test_keep();
    test_sums();
    test_taylor();
    test_refusals();
    test_cuts();
    return done_testing();
}
