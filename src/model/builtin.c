#include "base/embedded.h"
#include "base/fail.h"
#include "base/text.h"
#include "model/network/network.h"
#include "model/onnx/onnx.h"
#include "model/vbz/vbz.h"
#include "vbslab/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The texts models/NAME.net, embedded by tools/embed.sh; the Makefile fixes their order. */
extern const struct vbs_embedded vbs_models[];

#define MAX_MODELS 64 /* that are compared with an unknown name for a suggestion */

int vbs_model_count(void)
{
    int count = 0;

    while (vbs_models[count].name)
        count++;
    return count;
}

const char *vbs_model_name(int index)
{
    return vbs_models[index].name;
}

const char *vbs_model_text(int index)
{
    return vbs_models[index].text;
}

static const struct vbs_embedded *find_model(const char *name)
{
    for (const struct vbs_embedded *model = vbs_models; model->name; model++)
        if (strcmp(name, model->name) == 0)
            return model;
    return NULL;
}

static bool ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length > tail && strcmp(text + length - tail, ending) == 0;
}

enum vbs_status vbs_model_check_precision(struct vbs_ctx *ctx, const char *model)
{
    const char *colon = strrchr(model, ':');
    enum vbs_precision precision;
    bool is_known;
    char *word;

    if (!colon)
        return VBS_OK;
    word = strndup(model, (size_t)(colon - model));
    if (!word)
        return vbs_no_memory(ctx);
    is_known = find_model(word) || ends_in(word, ".net") || ends_in(word, ".onnx") ||
               ends_in(word, ".vbz");
    free(word);
    return is_known ? vbs_precision_parse(ctx, colon + 1, &precision) : VBS_OK;
}

static enum vbs_status unknown_model(struct vbs_ctx *ctx, const char *name)
{
    const char *names[MAX_MODELS];
    const char *nearest;
    int count = 0;

    VBS_TRY(vbs_model_check_precision(ctx, name));
    for (; count < MAX_MODELS && vbs_models[count].name; count++)
        names[count] = vbs_models[count].name;
    nearest = vbs_nearest_name(name, names, count);
    if (nearest)
        return vbs_fail(ctx, VBS_NOT_FOUND, "no network '%.100s'; did you mean '%s'?", name,
                        nearest);
    return vbs_fail(ctx, VBS_NOT_FOUND,
                    "no network '%.100s'; 'vbslab models' lists the built-in ones, and the path "
                    "of a file ends in .net, .onnx or .vbz",
                    name);
}

static enum vbs_status load_file(struct vbs_ctx *ctx, const char *path,
                                 const struct vbs_shape *input, struct vbs_network **network)
{
    enum vbs_status status;
    char *text = NULL;
    size_t length = 0;

    status = vbs_read_file(ctx, path, VBS_MAX_MODEL_TEXT, &text, &length);
    if (status == VBS_OK)
        status = vbs_network_parse(ctx, path, text, length, input, network);
    free(text);
    return status;
}

static enum vbs_status load_text(struct vbs_ctx *ctx, const char *model,
                                 const struct vbs_input_choice *choices, int n,
                                 struct vbs_network **network)
{
    const struct vbs_embedded *builtin = find_model(model);
    const struct vbs_shape *input;

    VBS_TRY(vbs_input_only(ctx, choices, n, &input));
    if (builtin)
        return vbs_network_parse(ctx, builtin->name, builtin->text, builtin->length, input,
                                 network);
    return load_file(ctx, model, input, network);
}

/* Loads a network in precision fp32. */
static enum vbs_status load_model(struct vbs_ctx *ctx, const char *model,
                                  const struct vbs_input_choice *choices, int n,
                                  struct vbs_network **network)
{
    if (find_model(model) || ends_in(model, ".net"))
        return load_text(ctx, model, choices, n, network);
    if (ends_in(model, ".onnx"))
        return vbs_onnx_load_inputs(ctx, model, choices, n, network);
    if (ends_in(model, ".vbz"))
        return vbs_vbz_load_inputs(ctx, model, choices, n, network);
    return unknown_model(ctx, model);
}

/* Puts the precision behind the network's name. */
static enum vbs_status name_precision(struct vbs_ctx *ctx, struct vbs_network *network,
                                      enum vbs_precision precision)
{
    char name[VBS_MAX_NAME];

    if (snprintf(name, sizeof name, "%s:%s", network->name, vbs_precision_word(precision)) >=
        (int)sizeof name)
        return vbs_fail(ctx, VBS_USAGE, "name '%.40s...' is longer than %d bytes", network->name,
                        VBS_MAX_NAME - 6);
    return vbs_network_rename(ctx, network, name);
}

static enum vbs_status set_as(struct vbs_ctx *ctx, struct vbs_network *network,
                              enum vbs_precision precision)
{
    if (precision == VBS_PRECISION_INT8 && !vbs_network_rounds(network))
        return vbs_fail(ctx, VBS_USAGE, "precision int8: '%.100s' is not quantised to 8 bits",
                        network->name);
    return vbs_network_set_precision(ctx, network, precision);
}

/* Sets the precision that stands behind the model, or (VBS_N_PRECISIONS) the file's. */
static enum vbs_status set_asked(struct vbs_ctx *ctx, struct vbs_network *network,
                                 enum vbs_precision asked)
{
    enum vbs_precision own = vbs_network_rounds(network) ? VBS_PRECISION_INT8 : VBS_PRECISION_FP32;

    if (asked == VBS_N_PRECISIONS)
        return vbs_network_set_precision(ctx, network, own);
    VBS_TRY(set_as(ctx, network, asked));
    return asked == own ? VBS_OK : name_precision(ctx, network, asked);
}

enum vbs_status vbs_network_load_inputs(struct vbs_ctx *ctx, const char *model,
                                        const struct vbs_input_choice *choices, int n,
                                        struct vbs_network **network)
{
    enum vbs_precision precision = VBS_N_PRECISIONS;
    char *word = strndup(model, vbs_model_word_length(model, &precision));
    struct vbs_network *made = NULL;
    enum vbs_status status = word ? load_model(ctx, word, choices, n, &made) : vbs_no_memory(ctx);

    free(word);
    if (status == VBS_OK)
        status = set_asked(ctx, made, precision);
    if (status != VBS_OK) {
        vbs_network_free(made);
        return status;
    }
    *network = made;
    return VBS_OK;
}

enum vbs_status vbs_network_load_as(struct vbs_ctx *ctx, const char *model,
                                    const struct vbs_input_choice *choices, int n,
                                    enum vbs_precision precision, struct vbs_network **network)
{
    struct vbs_network *made = NULL;
    enum vbs_status status = load_model(ctx, model, choices, n, &made);

    if (status == VBS_OK)
        status = set_as(ctx, made, precision);
    if (status != VBS_OK) {
        vbs_network_free(made);
        return status;
    }
    *network = made;
    return VBS_OK;
}

enum vbs_status vbs_network_load_by_text(struct vbs_ctx *ctx, const char *model, const char *text,
                                         struct vbs_network **network)
{
    struct vbs_input_choices choices;
    enum vbs_status status = vbs_input_choices_read(ctx, text, &choices);

    if (status == VBS_OK)
        status = vbs_network_load_inputs(ctx, model, choices.choices, choices.n, network);
    vbs_input_choices_clear(&choices);
    return status;
}

enum vbs_status vbs_network_load(struct vbs_ctx *ctx, const char *model,
                                 const struct vbs_shape *input, struct vbs_network **network)
{
    struct vbs_input_choice choice = {.name = NULL};

    if (input && !vbs_shape_valid(input))
        return vbs_fail(ctx, VBS_USAGE, "the input given is no valid shape");
    if (input)
        choice.shape = *input;
    return vbs_network_load_inputs(ctx, model, &choice, input ? 1 : 0, network);
}
