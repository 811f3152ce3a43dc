/*
 * Reading model texts. The format is described in models/README.md: one statement a line; first the
 * name and the input of the network, then its operators in an order in which they can run.
 */
#include "base/fail.h"
#include "base/grow.h"
#include "base/text.h"
#include "model/text/keys.h"
#include "model/text/lines.h"
#include "model/network/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_SOURCE 100 /* characters of the source's name in messages */
#define LONGEST_PLACE  80  /* and of what follows it */

struct parser {
    struct vbs_ctx *ctx;
    const struct vbs_shape *override; /* of the input, or null */
    char *rest;                       /* of the text, below the current line */
    int line;
    const char *operator_name; /* of the current line; null where it has none */
    const char *name, *about;  /* as in the text; null before */
    struct vbs_shape input;    /* n_dims 0 before */
    struct vbs_builder *builder;
    int *inputs; /* of the current operator */
    int n_inputs;
    int64_t inputs_capacity;
};

/* Puts "source" and place before the reason of a failure. */
static enum vbs_status at_place(struct vbs_ctx *ctx, enum vbs_status status, const char *source,
                                const char *place)
{
    size_t length = strlen(source);
    bool cut = length > LONGEST_SOURCE;
    char prefix[LONGEST_SOURCE + LONGEST_PLACE + 8];

    if (status == VBS_NO_MEMORY)
        return status;
    snprintf(prefix, sizeof prefix, "%s%s%s", cut ? "..." : "",
             source + (cut ? length - LONGEST_SOURCE : 0), place);
    return vbs_fail_within(ctx, status, prefix);
}

/* Puts "source:line" before the reason; without the line when it is 0. */
static enum vbs_status at_line(struct vbs_ctx *ctx, enum vbs_status status, const char *source,
                               int line)
{
    char place[LONGEST_PLACE] = "";

    if (line > 0)
        snprintf(place, sizeof place, ":%d", line);
    return at_place(ctx, status, source, place);
}

/* Puts "source: layer 'name'" before the reason: a line of a text that is right would not help, and
 * a built-in network shows none. */
static enum vbs_status at_layer(struct vbs_ctx *ctx, enum vbs_status status, const char *source,
                                const char *name)
{
    char place[LONGEST_PLACE];

    snprintf(place, sizeof place, ": layer '%.60s'", name);
    return at_place(ctx, status, source, place);
}

static enum vbs_status read_name(struct parser *parser, char *rest)
{
    const char *name = vbs_lines_word(&rest);

    if (!name || vbs_lines_word(&rest))
        return vbs_fail(parser->ctx, VBS_FORMAT, "a model's name is one word: model NAME");
    if (strlen(name) >= VBS_MAX_NAME)
        return vbs_fail(parser->ctx, VBS_FORMAT, "model's name '%.40s...' is longer than %d bytes",
                        name, VBS_MAX_NAME - 1);
    parser->name = name;
    return VBS_OK;
}

/* Returns the caller's shape of the input, without the 1 in front that counts one sample where it
 * has one dimension more than the model's own. */
static struct vbs_shape shape_given(const struct vbs_shape *override, const struct vbs_shape *own)
{
    struct vbs_shape shape = *override;

    if (shape.n_dims != own->n_dims + 1 || shape.dim[0] != 1)
        return shape;
    shape.n_dims--;
    memmove(shape.dim, shape.dim + 1, (size_t)shape.n_dims * sizeof shape.dim[0]);
    return shape;
}

static enum vbs_status read_input(struct parser *parser, char *rest)
{
    const char *text = vbs_lines_word(&rest);
    struct vbs_shape shape, given;
    enum vbs_status status;

    if (!text || vbs_lines_word(&rest))
        return vbs_fail(parser->ctx, VBS_FORMAT, "an input is one shape, as in input 3x224x224");
    status = vbs_shape_parse(parser->ctx, text, &shape);
    if (status != VBS_OK)
        return status == VBS_USAGE ? VBS_FORMAT : status;
    if (shape.n_dims > 1 + VBS_MAX_SPATIAL)
        return vbs_fail(parser->ctx, VBS_FORMAT, "input %s has more than %d spatial dimensions",
                        text, VBS_MAX_SPATIAL);
    given = parser->override ? shape_given(parser->override, &shape) : shape;
    if (given.n_dims != shape.n_dims)
        return vbs_fail(parser->ctx, VBS_FORMAT, "the model's input %s has %d dimensions, not %d",
                        text, shape.n_dims, given.n_dims);
    parser->input = given;
    return VBS_OK;
}

/* Reads the statements before the operators; *known tells whether word is one of them. */
static enum vbs_status read_header(struct parser *parser, const char *word, char *rest, bool *known)
{
    bool is_model = strcmp(word, "model") == 0, is_input = strcmp(word, "input") == 0;

    *known = is_model || is_input || strcmp(word, "about") == 0;
    if (!*known)
        return VBS_OK;
    if (parser->builder)
        return vbs_fail(parser->ctx, VBS_FORMAT, "'%s' must stand above the first operator", word);
    if (is_model ? parser->name != NULL : is_input ? parser->input.n_dims > 0 : !!parser->about)
        return vbs_fail(parser->ctx, VBS_FORMAT, "'%s' is given twice", word);
    if (is_model)
        return read_name(parser, rest);
    if (is_input)
        return read_input(parser, rest);
    parser->about = vbs_lines_trim(rest);
    return VBS_OK;
}

static enum vbs_status push_input(struct parser *parser, int id)
{
    VBS_TRY(vbs_grow(parser->ctx, &parser->inputs, &parser->inputs_capacity,
                     (int64_t)parser->n_inputs + 1, sizeof *parser->inputs));
    parser->inputs[parser->n_inputs++] = id;
    return VBS_OK;
}

static enum vbs_status unknown_input(struct parser *parser, const char *reader, const char *name)
{
    const char *nearest;
    int below;

    if (*name == '\0')
        return vbs_fail(parser->ctx, VBS_FORMAT, "'from' has an empty name among its inputs");
    if (strcmp(name, reader) == 0)
        return vbs_fail(parser->ctx, VBS_FORMAT, "'%.100s' reads itself", name);
    below = vbs_lines_find_name(parser->rest, name);
    if (below)
        return vbs_fail(parser->ctx, VBS_FORMAT,
                        "input '%.100s' stands only on line %d; operators read what is above them",
                        name, parser->line + below);
    nearest = vbs_builder_nearest(parser->builder, name);
    if (nearest)
        return vbs_fail(parser->ctx, VBS_FORMAT, "no input '%.100s'; did you mean '%.100s'?", name,
                        nearest);
    return vbs_fail(parser->ctx, VBS_FORMAT, "no input '%.100s'", name);
}

/* Reads the inputs of an operator. from: names with commas between, or null for the output of the
 * operator above (the first reads the input). */
static enum vbs_status read_inputs(struct parser *parser, const char *reader, char *from)
{
    parser->n_inputs = 0;
    if (!from)
        return push_input(parser, vbs_builder_count(parser->builder));
    for (char *next; from; from = next) {
        int id;

        next = strchr(from, ',');
        if (next)
            *next++ = '\0';
        id = vbs_builder_find(parser->builder, from);
        VBS_TRY(id < 0 ? unknown_input(parser, reader, from) : push_input(parser, id));
    }
    return VBS_OK;
}

static enum vbs_status unknown_operator(struct parser *parser, const char *word)
{
    const char *nearest = vbs_op_nearest(word);

    if (nearest)
        return vbs_fail(parser->ctx, VBS_FORMAT, "unknown operator '%.40s'; did you mean '%s'?",
                        word, nearest);
    return vbs_fail(parser->ctx, VBS_FORMAT, "unknown operator '%.40s'", word);
}

/* Checks the header, which ends before the first operator. */
static enum vbs_status start_builder(struct parser *parser)
{
    if (parser->builder)
        return VBS_OK;
    if (!parser->name)
        return vbs_fail(parser->ctx, VBS_FORMAT, "'model NAME' must stand above the operators");
    if (parser->input.n_dims == 0)
        return vbs_fail(parser->ctx, VBS_FORMAT,
                        "'input SHAPE' must stand above the operators, as in input 3x224x224");
    return vbs_builder_new(parser->ctx, parser->name, parser->about ? parser->about : "",
                           &parser->input, &parser->builder);
}

static enum vbs_status read_operator(struct parser *parser, const char *word, char *rest)
{
    struct vbs_node node = {.line = parser->line};
    struct vbs_keys keys;

    if (!vbs_op_find(word, &node.op))
        return unknown_operator(parser, word);
    VBS_TRY(start_builder(parser));
    node.name = parser->operator_name = vbs_lines_word(&rest);
    if (!node.name || strpbrk(node.name, "=,"))
        return vbs_fail(parser->ctx, VBS_FORMAT,
                        "'%s' needs a name without '=' and ',' before its keys", word);
    VBS_TRY(vbs_keys_read(parser->ctx, node.op, rest, &keys));
    VBS_TRY(read_inputs(parser, node.name, keys.from));
    VBS_TRY(vbs_keys_attributes(parser->ctx, node.op, &keys,
                                vbs_builder_shape(parser->builder, parser->inputs[0]),
                                &node.attributes));
    node.n_inputs = parser->n_inputs;
    node.inputs = parser->inputs;
    node.round_up = keys.round_up;
    return vbs_builder_add(parser->ctx, parser->builder, &node);
}

static enum vbs_status read_line(struct parser *parser, char *line)
{
    enum vbs_status status;
    const char *word;
    bool header;

    line[strcspn(line, "#")] = '\0';
    word = vbs_lines_word(&line);
    if (!word)
        return VBS_OK;
    status = read_header(parser, word, line, &header);
    return header ? status : read_operator(parser, word, line);
}

/* Parses text, which is terminated with a zero, and is cut up. */
static enum vbs_status read_text(struct parser *parser, char *text, size_t length,
                                 struct vbs_network **network)
{
    VBS_TRY(vbs_lines_check(parser->ctx, text, length, &parser->line));
    parser->rest = text;
    parser->line = 0;
    for (char *line; (line = vbs_lines_next(&parser->rest));) {
        parser->line++;
        parser->operator_name = NULL;
        VBS_TRY(read_line(parser, line));
    }
    parser->operator_name = NULL;
    if (!parser->builder)
        return vbs_fail(parser->ctx, VBS_FORMAT, "the text ends without any operator");
    return vbs_builder_finish(parser->ctx, parser->builder, network, &parser->line);
}

static enum vbs_status parse(struct vbs_ctx *ctx, const char *source, const char *text,
                             size_t length, const struct vbs_shape *override,
                             struct vbs_network **network)
{
    struct parser parser = {.ctx = ctx, .override = override};
    struct vbs_network *made = NULL;
    char *copy = malloc(length + 1);
    enum vbs_status status;

    if (!copy)
        return vbs_no_memory(ctx);
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    status = read_text(&parser, copy, length, &made);
    if (status != VBS_OK && override && parser.operator_name)
        status = at_layer(ctx, status, source, parser.operator_name);
    else if (status != VBS_OK)
        status = at_line(ctx, status, source, override && !parser.builder ? 0 : parser.line);
    if (status == VBS_OK)
        status = vbs_network_set_origin(ctx, made, text, length, override ? &made->input : NULL);
    if (status == VBS_OK)
        *network = made;
    else
        vbs_network_free(made);
    vbs_builder_free(parser.builder);
    free(parser.inputs);
    free(copy);
    return status;
}

/* The text failed with this input, as ctx says: where it can be read without, the mistake is the
 * caller's, else ctx says what is wrong with the text. */
static enum vbs_status blame(struct vbs_ctx *ctx, const char *source, const char *text,
                             size_t length, const struct vbs_shape *input)
{
    struct vbs_network *plain;
    enum vbs_status status = parse(ctx, source, text, length, NULL, &plain);
    char prefix[96], shape[64];

    if (status != VBS_OK)
        return status;
    vbs_network_free(plain);
    snprintf(prefix, sizeof prefix, "input %s does not suit the model",
             vbs_shape_format(input, shape, sizeof shape));
    return vbs_fail_within(ctx, VBS_USAGE, prefix);
}

enum vbs_status vbs_network_parse(struct vbs_ctx *ctx, const char *source, const char *text,
                                  size_t length, const struct vbs_shape *input,
                                  struct vbs_network **network)
{
    enum vbs_status status;

    if (input && !vbs_shape_valid(input))
        return vbs_fail(ctx, VBS_USAGE, "the input given is no valid shape");
    if (length > VBS_MAX_MODEL_TEXT)
        return at_line(
            ctx,
            vbs_fail(ctx, VBS_FORMAT, "a model text has at most %zu bytes", VBS_MAX_MODEL_TEXT),
            source, 0);
    status = parse(ctx, source, text, length, input, network);
    if (status == VBS_FORMAT && input)
        status = blame(ctx, source, text, length, input);
    return status;
}
