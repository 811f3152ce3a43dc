/* The inputs of networks: parts of tensor 0, their seeded values, and the text of what a caller
 * chose of them. */
#include "model/network/inputs.h"

#include "base/fail.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int vbs_network_find_input(const struct vbs_network *network, const char *name)
{
    for (int i = 0; i < network->n_inputs; i++)
        if (strcmp(network->inputs[i].name, name) == 0)
            return i;
    return -1;
}

/* ---- seeded values ---- */

/* Turns values in [-1, 1) into whole numbers from low to high. */
static void scale(int64_t low, int64_t high, int64_t count, float *values)
{
    double n = (double)high - (double)low + 1;

    for (int64_t i = 0; i < count; i++) {
        double at = floor(((double)values[i] + 1) / 2 * n);

        values[i] = (float)((double)low + (at < n ? at : n - 1));
    }
}

void vbs_network_input_values(const struct vbs_network *network, int64_t first, int64_t count,
                              float *values)
{
    int64_t sample = vbs_shape_elements(&network->input), end = first + count;

    for (int64_t s = first / sample; s * sample < end; s++)
        for (int i = 0; i < network->n_inputs; i++) {
            const struct vbs_input *input = &network->inputs[i];
            int64_t begin = s * sample + input->first;
            int64_t from = begin > first ? begin : first;
            int64_t to = begin + vbs_shape_elements(&input->shape);

            to = to < end ? to : end;
            if (from >= to)
                continue;
            vbs_tensor_values(0, input->shared ? from - s * sample : from, to - from,
                              values + (from - first));
            if (input->low < input->high)
                scale(input->low, input->high, to - from, values + (from - first));
        }
}

void vbs_network_join_inputs(const struct vbs_network *network, int64_t n_samples,
                             const float *const *inputs, float *tensor)
{
    int64_t sample = vbs_shape_elements(&network->input);

    for (int64_t s = 0; s < n_samples; s++) {
        for (int i = 0; i < network->n_inputs; i++) {
            const struct vbs_input *input = &network->inputs[i];
            int64_t n = vbs_shape_elements(&input->shape);
            float *to = tensor + s * sample + input->first;

            if (inputs[i])
                memcpy(to, inputs[i] + (input->shared ? 0 : s * n), (size_t)n * sizeof *to);
            else
                vbs_network_input_values(network, (input->shared ? 0 : s * sample) + input->first,
                                         n, to);
        }
    }
}

/* ---- choices as text ---- */

/* Gives whether a character of a name stands for itself in the text. */
static bool is_plain(unsigned char c)
{
    return c > ' ' && c < 0x7f && !strchr("%;=,\"'#\\", c);
}

static void add_name(struct vbs_text *text, const char *name)
{
    for (; *name; name++)
        if (is_plain((unsigned char)*name))
            vbs_text_addf(text, "%c", *name);
        else
            vbs_text_addf(text, "%%%02X", (unsigned)(unsigned char)*name);
}

enum vbs_status vbs_network_inputs_text(struct vbs_ctx *ctx, const struct vbs_network *network,
                                        char **text)
{
    struct vbs_text made = {0};
    char shape[VBS_MAX_DIMS * 21];

    for (int i = 0; i < network->n_inputs; i++)
        vbs_text_addf(&made, "%s%s", i ? ";" : "",
                      network->inputs[i].shape.n_dims > 0
                          ? vbs_shape_format(&network->inputs[i].shape, shape, sizeof shape)
                          : "");
    for (int i = 0; i < network->n_fixed_inputs; i++) {
        vbs_text_add(&made, ";");
        add_name(&made, network->fixed_inputs[i].name);
        vbs_text_addf(&made, "=%.17g", network->fixed_inputs[i].value);
    }
    for (int i = 0; i < network->n_until; i++) {
        vbs_text_add(&made, ";>");
        add_name(&made, network->until[i]);
    }
    if (made.failed || !made.data) {
        vbs_text_clear(&made);
        return vbs_no_memory(ctx);
    }
    *text = made.data;
    return VBS_OK;
}

/* Replaces %XX in a name by the characters that they stand for. */
static void decode_name(char *name)
{
    char *to = name;

    for (const char *from = name; *from; from++) {
        unsigned code;

        if (*from == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2]) &&
            sscanf(from + 1, "%2x", &code) == 1 && code > 0) {
            *to++ = (char)code;
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* Reads one choice; item, which lives as long as the choice, is changed. */
static enum vbs_status read_choice(struct vbs_ctx *ctx, char *item, struct vbs_input_choice *choice)
{
    char *equals = strchr(item, '='), *end;

    *choice = (struct vbs_input_choice){.name = NULL};
    if (item[0] == '\0')
        return VBS_OK; /* a scalar */
    if (!equals && item[0] == '>') {
        decode_name(item + 1);
        *choice = (struct vbs_input_choice){.name = item + 1, .until = true};
        return VBS_OK;
    }
    if (!equals)
        return vbs_shape_parse(ctx, item, &choice->shape);
    *equals = '\0';
    choice->value = strtod(equals + 1, &end);
    if (end == equals + 1 || *end || !isfinite(choice->value))
        return vbs_fail(ctx, VBS_USAGE, "'%.40s' is no number", equals + 1);
    decode_name(item);
    choice->name = item;
    choice->fixed = true;
    return VBS_OK;
}

enum vbs_status vbs_input_choices_read(struct vbs_ctx *ctx, const char *text,
                                       struct vbs_input_choices *choices)
{
    size_t room = 1;

    *choices = (struct vbs_input_choices){.n = 0};
    for (const char *c = text; *c; c++)
        room += *c == ';';
    choices->names = strdup(text);
    choices->choices = calloc(room, sizeof *choices->choices);
    if (!choices->names || !choices->choices)
        return vbs_no_memory(ctx);
    for (char *item = choices->names; text[0] && item;) {
        char *next = strchr(item, ';');

        if (next)
            *next++ = '\0';
        VBS_TRY(read_choice(ctx, item, &choices->choices[choices->n]));
        choices->n++;
        item = next;
    }
    return VBS_OK;
}

void vbs_input_choices_clear(struct vbs_input_choices *choices)
{
    free(choices->choices);
    free(choices->names);
    *choices = (struct vbs_input_choices){.n = 0};
}

enum vbs_status vbs_input_only(struct vbs_ctx *ctx, const struct vbs_input_choice *choices, int n,
                               const struct vbs_shape **input)
{
    bool other = n > 0 && choices[0].name && strcmp(choices[0].name, VBS_INPUT_NAME) != 0;

    for (int i = 0; i < n; i++)
        if (choices[i].until)
            return vbs_fail(ctx, VBS_USAGE, "only the network of an ONNX file can end at a node");
    if (n > 0 && choices[0].fixed)
        return vbs_fail(ctx, VBS_USAGE, "only inputs of an ONNX file can be fixed to a number");
    if (n > 1 || other)
        return vbs_fail(ctx, VBS_USAGE, "the network has one input, '%s'", VBS_INPUT_NAME);
    *input = n > 0 && choices[0].shape.n_dims > 0 ? &choices[0].shape : NULL;
    return VBS_OK;
}

enum vbs_status vbs_input_choices_refuse(struct vbs_ctx *ctx,
                                         const struct vbs_input_choice *choices, int n)
{
    char prefix[96], text[64];

    if (n > 1 || choices[0].shape.n_dims == 0)
        snprintf(prefix, sizeof prefix, "what is given of inputs does not suit the model");
    else
        snprintf(prefix, sizeof prefix, "input %s does not suit the model",
                 vbs_shape_format(&choices[0].shape, text, sizeof text));
    return vbs_fail_within(ctx, VBS_USAGE, prefix);
}
