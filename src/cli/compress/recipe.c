#include "cli/compress/compress.h"

#include "base/fail.h"
#include "base/parse.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CONV_BITS 8
#define DEFAULT_FC_BITS   5
#define N_LISTS           5

/* Percent of the weights that are pruned: layer by layer as in COMP's Table I, or of all layers. */
static const struct preset {
    const char *name;
    int n_conv, n_fc;  /* both 0: all layers have the first density */
    int index_bits;    /* 0: those that make each form smallest */
    double pruned[16]; /* convolutions, then inner products */
} PRESETS[] = {
    {"comp-alexnet", 5, 3, 4, {16, 62, 65, 63, 37, 91, 91, 75}},
    {"comp-vgg-16", 13, 3, 5, {42, 78, 66, 64, 47, 76, 58, 68, 73, 66, 65, 71, 64, 96, 96, 77}},
    {"70%", 0, 0, 0, {70}},
    {"80%", 0, 0, 0, {80}},
    {"90%", 0, 0, 0, {90}},
};

/* Reads the value of an option, for one layer or for several. */
typedef enum vbs_status read_value(struct vbs_ctx *ctx, const char *text, double *value);

/* The values that an option gives to layers. */
struct assignment {
    const char *option;
    const struct vbs_network *network;
    read_value *read;
    int pass;       /* 0: values for all layers, 1: for all of a kind, 2: for single ones */
    double *values; /* [1..n_layers]; NaN: none */
    bool *named;    /* [1..n_layers] in pass 2 */
};

static bool can_be_coded(const struct vbs_network *network, int layer)
{
    return network->layers[layer].op == VBS_OP_CONV || network->layers[layer].op == VBS_OP_FC;
}

/* ---- values ---- */

static enum vbs_status read_density(struct vbs_ctx *ctx, const char *text, double *value)
{
    char *end;
    double number = strtod(text, &end);

    if (end != text && strcmp(end, "%") == 0 && number >= 0 && number <= 100)
        return vbs_fail(ctx, VBS_USAGE,
                        "--density '%.40s': %g keeps %g%% of the weights, and %g prunes %g%%; "
                        "percentages are presets, which stand alone: 70%%, 80%% or 90%% pruned",
                        text, number / 100, number, 1 - number / 100, number);
    if (end == text || *end || !isfinite(number) || number < 0 || number > 1)
        return vbs_fail(ctx, VBS_USAGE,
                        "--density '%.40s': a density is a number from 0 to 1, the part of the "
                        "weights that remains; a preset stands alone: comp-alexnet, comp-vgg-16, "
                        "or 70%%, 80%% or 90%% pruned",
                        text);
    *value = number;
    return VBS_OK;
}

static enum vbs_status read_bits(struct vbs_ctx *ctx, const char *text, double *value)
{
    int64_t bits;

    VBS_TRY(vbs_parse_int(ctx, "--bits", text, 1, VBS_MAX_CODEBOOK_BITS, &bits));
    *value = (double)bits;
    return VBS_OK;
}

static enum vbs_status read_index_bits(struct vbs_ctx *ctx, const char *text, double *value)
{
    int64_t bits = 0;

    if (strcmp(text, "auto") != 0)
        VBS_TRY(vbs_parse_int(ctx, "--index-bits", text, 1, VBS_MAX_INDEX_BITS, &bits));
    *value = (double)bits;
    return VBS_OK;
}

static enum vbs_status read_excess(struct vbs_ctx *ctx, const char *text, double *value)
{
    char *end;
    double number = strtod(text, &end);
    bool percent = end != text && strcmp(end, "%") == 0;

    number = percent ? number / 100 : number;
    if (end == text || (*end && !percent) || !(number >= 0 && number <= VBS_MAX_EXCESS))
        return vbs_fail(ctx, VBS_USAGE,
                        "--excess '%.40s': it is a number from 0 on, or a percentage, by which the "
                        "squared error may exceed the least",
                        text);
    *value = number;
    return VBS_OK;
}

/* Gives a form of coded weights, or VBS_N_CODINGS for the smallest. */
static enum vbs_status read_format(struct vbs_ctx *ctx, const char *text, double *value)
{
    for (int c = 0; c < VBS_N_CODINGS; c++)
        if (strcmp(text, vbs_coding_name((enum vbs_coding)c)) == 0) {
            *value = c;
            return VBS_OK;
        }
    if (strcmp(text, "auto") != 0)
        return vbs_fail(ctx, VBS_USAGE, "--format '%.40s': it is auto, comp, joint or bytes", text);
    *value = VBS_N_CODINGS;
    return VBS_OK;
}

/* ---- lists ---- */

static enum vbs_status unknown_layer(struct vbs_ctx *ctx, const struct assignment *to,
                                     const char *name)
{
    const char *nearest = NULL;

    for (int k = 1; k <= to->network->n_layers; k++) {
        const char *const pair[] = {to->network->layers[k].name, nearest};

        if (can_be_coded(to->network, k))
            nearest = vbs_nearest_name(name, pair, nearest ? 2 : 1);
    }
    if (nearest)
        return vbs_fail(ctx, VBS_USAGE,
                        "--%s: no layer '%.100s' with weights that can be coded; did you mean "
                        "'%.100s'?",
                        to->option, name, nearest);
    return vbs_fail(ctx, VBS_USAGE,
                    "--%s: no layer '%.100s' with weights that can be coded; it is conv, fc, or "
                    "the name or number of a layer of 'vbslab models show'",
                    to->option, name);
}

static bool is_named(const struct vbs_network *network, int layer, const char *name)
{
    char number[16];

    snprintf(number, sizeof number, "%d", layer);
    return strcmp(name, number) == 0 || strcmp(name, network->layers[layer].name) == 0;
}

/* Gives a value to the layers that name stands for. */
static enum vbs_status assign(struct vbs_ctx *ctx, const struct assignment *to, const char *name,
                              double value)
{
    bool conv = strcmp(name, "conv") == 0, kind = conv || strcmp(name, "fc") == 0, found = kind;

    for (int k = 1; k <= to->network->n_layers; k++) {
        bool matches = kind ? to->network->layers[k].op == (conv ? VBS_OP_CONV : VBS_OP_FC)
                            : is_named(to->network, k, name);

        if (!matches || !can_be_coded(to->network, k))
            continue;
        found = true;
        if (to->pass == (kind ? 1 : 2))
            to->values[k] = value;
        if (to->pass == 2 && !kind)
            to->named[k] = true;
    }
    return found ? VBS_OK : unknown_layer(ctx, to, name);
}

static enum vbs_status take_item(struct vbs_ctx *ctx, const char *item, void *self)
{
    const struct assignment *to = self;
    const char *equals = strrchr(item, '=');
    char name[VBS_MAX_NAME];
    double value;

    VBS_TRY(to->read(ctx, equals ? equals + 1 : item, &value));
    if (equals) {
        snprintf(name, sizeof name, "%.*s", (int)(equals - item), item);
        return assign(ctx, to, name, value);
    }
    for (int k = 1; k <= to->network->n_layers && to->pass == 0; k++)
        if (can_be_coded(to->network, k))
            to->values[k] = value;
    return VBS_OK;
}

/* Reads a list; what names one layer goes before what names a kind, and that before all. */
static enum vbs_status read_list(struct cli *cli, struct assignment *to, const char *text)
{
    if (!text)
        return VBS_OK;
    if (cli_is_empty_list(text))
        return vbs_fail(&cli->ctx, VBS_USAGE, "--%s: the list is empty", to->option);
    for (to->pass = 0; to->pass < 3; to->pass++)
        VBS_TRY(cli_for_each(&cli->ctx, text, take_item, to));
    return VBS_OK;
}

/* ---- presets ---- */

static const struct preset *find_preset(const char *name)
{
    for (size_t i = 0; name && i < sizeof PRESETS / sizeof PRESETS[0]; i++)
        if (strcmp(name, PRESETS[i].name) == 0)
            return &PRESETS[i];
    return NULL;
}

static enum vbs_status take_preset(struct vbs_ctx *ctx, const struct preset *preset,
                                   const struct vbs_network *network, double *densities)
{
    bool alike = preset->n_conv + preset->n_fc == 0;
    int n_conv = 0, n_fc = 0;

    for (int k = 1; k <= network->n_layers; k++) {
        n_conv += network->layers[k].op == VBS_OP_CONV;
        n_fc += network->layers[k].op == VBS_OP_FC;
    }
    if (!alike && (n_conv != preset->n_conv || n_fc != preset->n_fc))
        return vbs_fail(ctx, VBS_USAGE,
                        "--density %s is for %d convolutions and %d inner products, and '%.100s' "
                        "has %d and %d",
                        preset->name, preset->n_conv, preset->n_fc, network->name, n_conv, n_fc);
    n_conv = 0;
    n_fc = preset->n_conv;
    for (int k = 1; k <= network->n_layers; k++)
        if (can_be_coded(network, k)) {
            int i = network->layers[k].op == VBS_OP_CONV ? n_conv++ : n_fc++;

            densities[k] = 1 - preset->pruned[alike ? 0 : i] / 100;
        }
    return VBS_OK;
}

/* ---- blocks ---- */

static enum vbs_status read_block(struct vbs_ctx *ctx, const char *text,
                                  struct compress_recipe *recipe)
{
    const char *end;

    if (!text)
        return VBS_OK;
    if (!vbs_parse_digits(text, &end, &recipe->block_rows) || *end != 'x' ||
        !vbs_parse_digits(end + 1, &end, &recipe->block_columns) || *end ||
        recipe->block_rows < 1 || recipe->block_columns < 1)
        return vbs_fail(ctx, VBS_USAGE,
                        "--block '%.40s': it is ROWSxCOLUMNS, each a whole number from 1 on", text);
    return VBS_OK;
}

/* ---- choices ---- */

/* Gives the default of --bits: weights that are coded already keep their values. */
static int default_bits(const struct vbs_network *network, int layer)
{
    const struct vbs_coded *coded = vbs_network_coded(network, layer);
    struct vbs_coded_shape shape;

    if (coded) {
        vbs_coded_describe(coded, &shape);
        return shape.bits;
    }
    return network->layers[layer].op == VBS_OP_CONV ? DEFAULT_CONV_BITS : DEFAULT_FC_BITS;
}

/* Gives why a layer stays dense that no option names, or null. */
static const char *reason_of(const struct vbs_network *network, int layer)
{
    const struct vbs_layer *l = &network->layers[layer];

    if (l->op == VBS_OP_CONV_TRANSPOSE)
        return "a transposed convolution";
    if (!can_be_coded(network, layer))
        return NULL;
    if (l->op == VBS_OP_CONV && l->attributes.weighted.groups > 1 &&
        l->attributes.weighted.groups == l->views[0].dim[0])
        return "each channel on its own";
    return vbs_weight_count(network, layer) < COMPRESS_LEAST_WEIGHTS ? "few weights" : NULL;
}

static double or_default(double value, double otherwise)
{
    return isnan(value) ? otherwise : value;
}

/* values: [N_LISTS][n_layers + 1], of density, bits, index bits, excess and format. */
static enum vbs_status choose(struct vbs_ctx *ctx, const struct vbs_network *network,
                              const double *values, const bool *named, int index_bits,
                              struct compress_recipe *recipe)
{
    int n = network->n_layers + 1, n_coded = 0;

    recipe->automatic = true;
    for (int k = 1; k < n; k++) {
        struct compress_choice *choice = &recipe->choices[k];

        choice->density = or_default(values[k], 1);
        choice->bits = (int)or_default(values[n + k], default_bits(network, k));
        choice->index_bits = (int)or_default(values[2 * n + k], index_bits);
        choice->excess = or_default(values[3 * n + k], 0);
        choice->coding = (enum vbs_coding)or_default(values[4 * n + k], VBS_N_CODINGS);
        choice->automatic = choice->coding == VBS_N_CODINGS;
        choice->why = reason_of(network, k);
        choice->coded =
            can_be_coded(network, k) && (!choice->why || named[k] || vbs_network_coded(network, k));
        if (!choice->coded)
            continue;
        n_coded++;
        recipe->automatic = recipe->automatic && choice->automatic;
        if (choice->coding == VBS_CODING_JOINT &&
            choice->bits + (choice->index_bits ? choice->index_bits : 1) > VBS_MAX_PAIR_BITS)
            return vbs_fail(ctx, VBS_USAGE,
                            "--format joint takes at most %d bits of value and distance together, "
                            "and layer %d '%.100s' has %d and %d; take --format comp",
                            VBS_MAX_PAIR_BITS, k, network->layers[k].name, choice->bits,
                            choice->index_bits ? choice->index_bits : 1);
    }
    return n_coded > 0
               ? VBS_OK
               : vbs_fail(ctx, VBS_USAGE,
                          "'%.100s' has no layer with weights to code: convolutions and inner "
                          "products of %d weights or more, or layers that an option names",
                          network->name, COMPRESS_LEAST_WEIGHTS);
}

/* Reads the lists of all options. */
static enum vbs_status read_lists(struct cli *cli, const char *const *texts,
                                  const struct vbs_network *network, struct compress_recipe *recipe,
                                  double *values, bool *named)
{
    static read_value *const READ[] = {read_density, read_bits, read_index_bits, read_excess,
                                       read_format};
    const char *const options[] = {"density", "bits", "index-bits", "excess", "format"};
    const char *density = cli_value(cli, texts, "density");
    const struct preset *preset = find_preset(density);
    int n = network->n_layers + 1;

    for (int i = 0; i < N_LISTS * n; i++)
        values[i] = NAN;
    recipe->preset = preset ? preset->name : "";
    if (preset)
        VBS_TRY(take_preset(&cli->ctx, preset, network, values));
    for (int i = preset ? 1 : 0; i < N_LISTS; i++) {
        struct assignment to = {.option = options[i],
                                .network = network,
                                .read = READ[i],
                                .values = values + (ptrdiff_t)i * n,
                                .named = named};

        VBS_TRY(read_list(cli, &to, cli_value(cli, texts, options[i])));
    }
    return choose(&cli->ctx, network, values, named, preset ? preset->index_bits : 0, recipe);
}

enum vbs_status compress_recipe_read(struct cli *cli, const char *const *values,
                                     const struct vbs_network *network,
                                     struct compress_recipe *recipe)
{
    size_t n = (size_t)network->n_layers + 1;
    double *lists = malloc(N_LISTS * n * sizeof *lists);
    bool *named = calloc(n, sizeof *named);
    enum vbs_status status;

    *recipe = (struct compress_recipe){.choices = calloc(n, sizeof *recipe->choices)};
    status = lists && named && recipe->choices ? VBS_OK : vbs_no_memory(&cli->ctx);
    if (status == VBS_OK)
        status = read_block(&cli->ctx, cli_value(cli, values, "block"), recipe);
    if (status == VBS_OK)
        status = read_lists(cli, values, network, recipe, lists, named);
    free(lists);
    free(named);
    if (status != VBS_OK)
        compress_recipe_clear(recipe);
    return status;
}

void compress_recipe_clear(struct compress_recipe *recipe)
{
    free(recipe->choices);
    *recipe = (struct compress_recipe){0};
}
