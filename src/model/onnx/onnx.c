#include "model/onnx/onnx.h"

#include "base/ctx.h"
#include "base/fail.h"
#include "base/text.h"
#include "model/onnx/inputs.h"
#include "model/onnx/table.h"
#include "model/network/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_SOURCE 100 /* characters of the path in messages */

/* The state of loading a file. */
struct loader {
    struct vbs_ctx *ctx;
    const char *path;
    const struct vbs_input_choice *choices;
    int n_choices;
    struct vbs_source *source; /* null once a builder has it */
    struct vbs_arena arena;
    struct vbs_arena attempt; /* for data of an attempt to import the graph */
    struct vbs_onnx_file file;
    struct vbs_onnx_graph graph;
    struct vbs_onnx_inputs inputs;
    int64_t n_read, n_floats; /* as in struct vbs_onnx_import, of all attempts */
    char why[256]; /* dimension 0 counts no samples: the node that decides; empty: not tried */
    char *failed;  /* the first output of the node that was refused last, which the caller frees */
    bool failed_shape; /* a node was refused because the shape of what it makes depends on data */
};

/* Gives the length of file without an ending. */
static size_t without(const char *file, const char *ending)
{
    size_t length = strlen(file), tail = strlen(ending);

    return length > tail && strcmp(file + length - tail, ending) == 0 ? length - tail : length;
}

char *vbs_network_file_name(const char *path, char name[VBS_MAX_NAME])
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    size_t onnx = without(file, ".onnx"), vbz = without(file, ".vbz");

    char whole[1024];

    snprintf(whole, sizeof whole, "%.*s", (int)(onnx < vbz ? onnx : vbz), file);
    return vbs_onnx_clean(whole, name, VBS_MAX_NAME);
}

/* ---- outputs ---- */

/* Copies a tensor that the network reads, or its input, so that it can be an output. */
static enum vbs_status copy_output(struct vbs_onnx_import *im, const char *name,
                                   struct vbs_onnx_tensor **tensor)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_IDENTITY, 1);

    if (!draft)
        return vbs_no_memory(im->ctx);
    vbs_onnx_reads(draft, 0, *tensor, NULL);
    draft->name = name;
    VBS_TRY(vbs_onnx_tensor_new(im, draft, tensor));
    return vbs_onnx_add(im, *tensor);
}

/* Adds the tensors that are outputs, and drops layers on which none of them depends: nodes may read
 * nothing of a tensor but its shape. */
static enum vbs_status keep_needed(struct vbs_onnx_import *im)
{
    const struct vbs_onnx_graph *graph = im->graph;
    int *ids = vbs_arena_alloc(im->arena, (size_t)graph->n_outputs, sizeof *ids);

    if (!ids)
        return vbs_no_memory(im->ctx);
    for (int i = 0; i < graph->n_outputs; i++) {
        struct vbs_onnx_state *state = &im->states[graph->outputs[i]];

        if (!state->tensor)
            return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                            "output '%.100s' of the graph does not depend on its input%s",
                            graph->values[graph->outputs[i]].name, graph->n_inputs > 1 ? "s" : "");
        VBS_TRY(vbs_onnx_add(im, state->tensor));
        ids[i] = state->tensor->id;
    }
    VBS_TRY(vbs_builder_keep(im->ctx, im->builder, ids, graph->n_outputs));
    for (int i = 0; i < graph->n_outputs; i++)
        im->states[graph->outputs[i]].tensor->id = ids[i];
    return VBS_OK;
}

static enum vbs_status add_outputs(struct vbs_onnx_import *im)
{
    const struct vbs_onnx_graph *graph = im->graph;

    for (int i = 0; i < graph->n_outputs; i++) {
        const struct vbs_onnx_state *state = &im->states[graph->outputs[i]];

        if (state->at + (state->outer > 0) > 0 && im->n_samples > 1)
            return vbs_onnx_mixes(im); /* outputs would have another order than in the file */
        if (state->own != 0)
            return vbs_onnx_counts(im);
    }
    VBS_TRY(keep_needed(im));
    for (int i = 0; i < graph->n_outputs; i++) {
        struct vbs_onnx_state *state = &im->states[graph->outputs[i]];
        const char *name = graph->values[graph->outputs[i]].name;
        struct vbs_onnx_tensor *tensor = state->tensor;
        struct vbs_shape shape = vbs_onnx_shape(state);
        char clean[VBS_MAX_NAME];

        vbs_onnx_clean(name, clean, sizeof clean);
        if (tensor->id == 0 || vbs_builder_is_read(im->builder, tensor->id))
            VBS_TRY(copy_output(im, name, &tensor));
        VBS_TRY(vbs_builder_output(im->ctx, im->builder, clean, tensor->id, &shape));
    }
    return VBS_OK;
}

/* ---- attempts ---- */

static bool is_short(int type)
{
    return type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16 ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16;
}

/* Gives whether an operator works with whole numbers that stand for floats. */
static bool is_quantised(const char *op)
{
    static const char *const BEGINNINGS[] = {
        "DequantizeLinear", "DynamicQuantize", "MatMulNBits", "QGemm", "QLinear", NULL};

    for (int i = 0; BEGINNINGS[i]; i++)
        if (strncmp(op, BEGINNINGS[i], strlen(BEGINNINGS[i])) == 0)
            return true;
    return strstr(op, "Integer") != NULL;
}

/* Gives what the file has in place of 32-bit floats; empty: it has these. */
static const char *find_precision(const struct loader *l)
{
    const Onnx__GraphProto *graph = l->file.graph;
    for (int i = 0; i < l->graph.n_nodes; i++)
        if (is_quantised(l->graph.nodes[i].op))
            return "quantised";
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (is_short(graph->initializer[i]->data_type))
            return "16-bit floats";
    for (int i = 0; i < l->inputs.n; i++)
        if (is_short(l->inputs.of[i].type->elem_type))
            return "16-bit floats";
    return "";
}

static void describe(const struct loader *l, char *about, size_t size)
{
    const char *producer = l->file.model->producer_name, *precision = find_precision(l);
    const struct vbs_onnx_input *first =
        l->inputs.first < 0 ? NULL : &l->inputs.of[l->inputs.first];
    char clean[64], where[40] = "";

    if (first && first->at > 0)
        snprintf(where, sizeof where, "; samples in dimension %d", first->at);
    vbs_onnx_clean(producer ? producer : "", clean, sizeof clean);
    snprintf(about, size, "ONNX opset %lld%s%s%s%s%s", (long long)l->graph.opset,
             clean[0] ? ", written by " : "", clean, precision[0] ? "; " : "", precision, where);
}

/* Gives the value of a key of the file's metadata, or null. */
static const char *find_metadata(const Onnx__ModelProto *model, const char *key)
{
    for (size_t i = 0; i < model->n_metadata_props; i++) {
        const Onnx__StringStringEntryProto *entry = model->metadata_props[i];

        if (entry->key && entry->value && strcmp(entry->key, key) == 0)
            return entry->value;
    }
    return NULL;
}

/* Copies the constants of n values, which keep the numbers that an attempt reads. */
static bool copy_constants(struct loader *l, struct vbs_onnx_value *values, int n)
{
    for (int v = 0; v < n; v++) {
        struct vbs_onnx_constant *copy;

        if (!values[v].constant)
            continue;
        copy = vbs_arena_alloc(&l->attempt, 1, sizeof *copy);
        if (!copy)
            return false;
        *copy = *values[v].constant;
        values[v].constant = copy;
    }
    return true;
}

/* Copies the graph, so that graphs inside its nodes can be added to it. */
static struct vbs_onnx_graph *copy_graph(struct loader *l)
{
    struct vbs_onnx_graph *copy = vbs_arena_alloc(&l->attempt, 1, sizeof *copy);
    size_t n = (size_t)l->graph.n_values;
    struct vbs_onnx_value *values = vbs_arena_alloc(&l->attempt, n, sizeof *values);

    if (!copy || !values)
        return NULL;
    *copy = l->graph;
    memcpy(values, l->graph.values, n * sizeof *values);
    if (!copy_constants(l, values, l->graph.n_values))
        return NULL;
    copy->values = values;
    copy->room = copy->n_values;
    return copy;
}

/* Records the inputs that are constants because the caller has given their values. */
static enum vbs_status add_fixed(struct loader *l, struct vbs_builder *builder)
{
    for (int i = 0; i < l->n_choices; i++) {
        const struct vbs_fixed_input fixed = {.name = l->choices[i].name,
                                              .value = l->choices[i].value};

        if (l->choices[i].fixed)
            VBS_TRY(vbs_builder_fixed_input(l->ctx, builder, &fixed));
    }
    return VBS_OK;
}

/* Records the inputs that nothing reads. */
static enum vbs_status add_unread(struct loader *l, struct vbs_builder *builder)
{
    for (int i = 0; i < l->graph.n_unread; i++) {
        char name[VBS_MAX_NAME];

        vbs_onnx_clean(l->graph.values[l->graph.unread[i]].name, name, sizeof name);
        VBS_TRY(vbs_builder_unread_input(l->ctx, builder, name));
    }
    return VBS_OK;
}

/* Records the tensors with which the caller has the network end. */
static enum vbs_status add_ends(struct loader *l, struct vbs_builder *builder)
{
    size_t n = (size_t)l->graph.n_outputs;
    const char **names = vbs_arena_alloc(&l->arena, n, sizeof *names);

    if (!names)
        return vbs_no_memory(l->ctx);
    for (size_t i = 0; i < n; i++)
        names[i] = l->graph.values[l->graph.outputs[i]].name;
    return vbs_builder_until(l->ctx, builder, names, l->graph.ends ? (int)n : 0);
}

/* Imports the nodes into a new builder; the inputs have their places. */
static enum vbs_status import_graph(struct loader *l, struct vbs_onnx_import *im)
{
    char about[160], name[VBS_MAX_NAME];
    struct vbs_shape shape;

    VBS_TRY(vbs_onnx_inputs_shape(&l->inputs, &shape));
    describe(l, about, sizeof about);
    VBS_TRY(
        vbs_builder_new(l->ctx, vbs_network_file_name(l->path, name), about, &shape, &im->builder));
    VBS_TRY(vbs_onnx_inputs_begin(&l->inputs, im));
    VBS_TRY(vbs_onnx_import_nodes(im, im->graph->nodes, im->graph->n_nodes));
    VBS_TRY(vbs_onnx_inputs_end(&l->inputs, im));
    VBS_TRY(add_fixed(l, im->builder));
    VBS_TRY(add_unread(l, im->builder));
    VBS_TRY(add_ends(l, im->builder));
    return add_outputs(im);
}

/* Notes the node that was refused. */
static enum vbs_status note_failed(struct loader *l, const char *output, bool shape)
{
    free(l->failed);
    l->failed = strdup(output);
    l->failed_shape = shape;
    return l->failed ? VBS_OK : vbs_no_memory(l->ctx);
}

/* Imports the graph; dimension at of the first input counts the samples, or none does
 * (VBS_ONNX_WHOLE); second: as for vbs_onnx_inputs_place. */
static enum vbs_status import(struct loader *l, int at, bool second, struct vbs_onnx_import *im)
{
    enum vbs_status status = vbs_onnx_inputs_place(&l->inputs, at, second);

    *im = (struct vbs_onnx_import){.ctx = l->ctx,
                                   .graph = copy_graph(l),
                                   .arena = &l->attempt,
                                   .source = l->source,
                                   .batch = at != VBS_ONNX_WHOLE,
                                   .n_read = l->n_read,
                                   .n_floats = l->n_floats};
    if (status != VBS_OK)
        return status;
    if (!im->graph)
        return vbs_no_memory(l->ctx);
    im->n_samples = vbs_onnx_inputs_samples(&l->inputs);
    VBS_TRY(vbs_onnx_add_states(im, 0));
    status = import_graph(l, im);
    if (im->failed && status != VBS_NO_MEMORY)
        VBS_TRY(note_failed(l, vbs_onnx_first_output(im->graph, im->failed), im->failed_shape));
    l->n_read = im->n_read;
    l->n_floats = im->n_floats;
    return status;
}

/* Makes the network of the operators that have been imported. */
static enum vbs_status finish_network(struct loader *l, struct vbs_onnx_import *im,
                                      struct vbs_network **network)
{
    struct vbs_network *made;
    enum vbs_status status;
    int line;

    /* Where the caller gave all dimensions, it has decided. */
    if (!im->batch)
        VBS_TRY(vbs_builder_whole(l->ctx, im->builder,
                                  l->why[0] && !l->inputs.in_full ? l->why : NULL,
                                  vbs_onnx_inputs_open(&l->inputs)));
    status = vbs_builder_source(l->ctx, im->builder, l->source);
    l->source = NULL;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_builder_finish(l->ctx, im->builder, &made, &line));
    status =
        vbs_network_set_normalise(l->ctx, made, find_metadata(l->file.model, VBS_NORMALISE_KEY));
    if (status != VBS_OK)
        vbs_network_free(made);
    else
        *network = made;
    return status;
}

/* Gives whether an attempt is the last one. */
static bool is_final(enum vbs_status status)
{
    return status == VBS_OK || status == VBS_NO_MEMORY || status == VBS_IO ||
           status == VBS_INTERRUPTED;
}

/* Imports the graph again, with another dimension of the samples. */
static enum vbs_status import_again(struct loader *l, int at, bool second,
                                    struct vbs_onnx_import *im)
{
    vbs_builder_free(im->builder);
    im->builder = NULL;
    vbs_arena_clear(&l->attempt);
    return import(l, at, second, im);
}

/* Imports the graph with the samples in other dimensions than the first ones. VBS_UNSUPPORTED: no
 * dimensions suit. */
static enum vbs_status import_elsewhere(struct loader *l, struct vbs_onnx_import *im)
{
    int rank = l->inputs.of[l->inputs.first].rank;

    for (int at = 0; at < rank; at++) {
        enum vbs_status status = VBS_UNSUPPORTED;

        if (at > 0 && !vbs_onnx_inputs_may_count(&l->inputs, at))
            continue;
        if (at > 0)
            status = import_again(l, at, false, im);
        if (!is_final(status) && vbs_onnx_inputs_have_second(&l->inputs, at))
            status = import_again(l, at, true, im);
        if (is_final(status))
            return status;
    }
    return VBS_UNSUPPORTED;
}

/* Imports the graph with the samples along dimension 0, where batch is true and this succeeds; else
 * along another dimension that may count them, which may also be because another size is open; else
 * as a whole network. */
static enum vbs_status attempt(struct loader *l, bool batch, struct vbs_network **network)
{
    struct vbs_onnx_import im = {.builder = NULL};
    struct vbs_ctx first = {0};
    enum vbs_status status = batch ? import(l, 0, false, &im) : VBS_FORMAT, before = status;
    bool mixed = !batch || im.mixed;

    if (l->ctx)
        first = *l->ctx;
    if (l->ctx && batch && !is_final(status) && status != VBS_USAGE)
        snprintf(l->why, sizeof l->why, "%s", vbs_detail(l->ctx));
    if (batch && !is_final(status) && (mixed || status == VBS_USAGE))
        status = import_elsewhere(l, &im);
    if (!is_final(status) && before != VBS_USAGE)
        status = import_again(l, VBS_ONNX_WHOLE, false, &im);
    if (!is_final(status) && !mixed) {
        if (l->ctx)
            *l->ctx = first;
        status = before;
    }
    if (status == VBS_OK)
        status = finish_network(l, &im, network);
    vbs_builder_free(im.builder);
    return status;
}

/* Gives the files of constants by input, null for those that have none; *n: of so many inputs.
 * Null: out of memory. */
static const char *const *paths_of(struct loader *l, const struct vbs_onnx_binding *bindings,
                                   int n_bindings, int *n)
{
    const char **paths;

    *n = 0;
    for (int i = 0; i < n_bindings; i++)
        *n = bindings[i].input >= *n ? bindings[i].input + 1 : *n;
    paths = vbs_arena_alloc(&l->arena, (size_t)*n + 1, sizeof *paths);
    for (int i = 0; paths && i < n_bindings; i++)
        paths[bindings[i].input] = bindings[i].path;
    return paths;
}

/* Returns whether a graph has a node of an operator that is not known, and whose shape depends on
 * data. */
static bool has_unshaped(const Onnx__GraphProto *graph)
{
    for (size_t i = 0; graph && i < graph->n_node; i++) {
        const char *op = graph->node[i]->op_type;

        if (op && (strcmp(op, "NonMaxSuppression") == 0 || strcmp(op, "Unique") == 0))
            return true;
    }
    return false;
}

static enum vbs_status load_graph(struct loader *l, const struct vbs_onnx_binding *bindings,
                                  int n_bindings, struct vbs_network **network)
{
    struct vbs_onnx_reading reading = {.operators = vbs_onnx_operators,
                                       .n_operators = vbs_onnx_n_operators,
                                       .choices = l->choices,
                                       .n_choices = l->n_choices};
    size_t bytes = strlen(l->path) + 1;
    char *path = vbs_source_alloc(l->source, bytes, 1);
    enum vbs_status status;
    bool batch;

    reading.paths = paths_of(l, bindings, n_bindings, &reading.n_paths);
    if (!path || !reading.paths)
        return vbs_no_memory(l->ctx);
    memcpy(path, l->path, bytes);
    VBS_TRY(vbs_onnx_file_read(l->ctx, l->source, path, false, &l->file));
    status = vbs_onnx_graph_read(l->ctx, &l->file, &reading, &l->arena, &l->graph);
    l->failed_shape = status == VBS_UNSUPPORTED && has_unshaped(l->file.graph);
    VBS_TRY(status);
    VBS_TRY(
        vbs_onnx_inputs_read(l->ctx, &l->graph, l->choices, l->n_choices, &l->arena, &l->inputs));
    batch = l->inputs.first >= 0 && !find_metadata(l->file.model, VBS_WHOLE_KEY);
    return attempt(l, batch, network);
}

/* Puts the path of the file before the reason of a failure. */
static enum vbs_status within_file(struct vbs_ctx *ctx, enum vbs_status status, const char *path)
{
    size_t length = strlen(path);
    bool cut = length > LONGEST_SOURCE;
    char prefix[LONGEST_SOURCE + 8];

    if (status == VBS_NO_MEMORY || status == VBS_IO || status == VBS_INTERRUPTED)
        return status;
    snprintf(prefix, sizeof prefix, "%s%s", cut ? "..." : "",
             path + (cut ? length - LONGEST_SOURCE : 0));
    return vbs_fail_within(ctx, status, prefix);
}

/* Records from what the network was made. */
static enum vbs_status set_origin(struct loader *l, struct vbs_network *made)
{
    bool one =
        l->n_choices == 1 && !l->choices[0].fixed && !l->choices[0].until && !l->choices[0].name;
    const struct vbs_shape *given = one ? &l->choices[0].shape : NULL;

    if (one && l->inputs.in_full && !made->whole)
        given = &made->input;
    VBS_TRY(vbs_network_set_origin(l->ctx, made, NULL, 0, given));
    vbs_network_own(made)->origin.chosen = l->n_choices > 0 && !one;
    return VBS_OK;
}

/* Loads from the source of a loader, which is freed on failure and else becomes the network's. */
static enum vbs_status load_from(struct loader *l, const struct vbs_onnx_binding *bindings,
                                 int n_bindings, struct vbs_network **network)
{
    struct vbs_network *made = NULL;
    enum vbs_status status =
        l->source ? load_graph(l, bindings, n_bindings, &made) : vbs_no_memory(l->ctx);

    if (status == VBS_OK)
        status = set_origin(l, made);
    if (status == VBS_OK)
        *network = made;
    else
        vbs_network_free(made);
    if (status != VBS_OK)
        status = within_file(l->ctx, status, l->path);
    vbs_arena_clear(&l->attempt);
    vbs_arena_clear(&l->arena);
    vbs_source_free(l->source);
    return status;
}

enum vbs_status vbs_onnx_load_source(struct vbs_ctx *ctx, const char *path,
                                     const struct vbs_input_choice *choices, int n_choices,
                                     struct vbs_source *source, struct vbs_network **network)
{
    struct loader l = {
        .ctx = ctx, .path = path, .choices = choices, .n_choices = n_choices, .source = source};
    enum vbs_status status = load_from(&l, NULL, 0, network);

    free(l.failed);
    return status;
}

/* ---- where a file that is refused could end ---- */

#define MOST_TRIES 8 /* nodes that are left out, one after the other */

/* What can be read of a file that was refused. */
struct rest {
    const struct loader *refused;
    char *failed[MOST_TRIES]; /* [n_failed] first outputs of nodes */
    int n_failed;
    struct vbs_onnx_left left;
    struct vbs_arena arena; /* for the names of left */
};

/* Finds what is left of the file without the nodes that failed. */
static enum vbs_status find_rest(struct rest *r)
{
    const struct loader *l = r->refused;
    struct vbs_source *source = vbs_source_new();
    struct vbs_onnx_reading reading = {.operators = vbs_onnx_operators,
                                       .n_operators = vbs_onnx_n_operators,
                                       .choices = l->choices,
                                       .n_choices = l->n_choices,
                                       .any_operators = true};
    enum vbs_status status = source ? VBS_OK : VBS_NO_MEMORY;
    struct vbs_onnx_graph graph;
    struct vbs_onnx_file file;

    vbs_arena_clear(&r->arena);
    if (status == VBS_OK)
        status = vbs_onnx_file_read(NULL, source, l->path, false, &file);
    if (status == VBS_OK)
        status = vbs_onnx_graph_read(NULL, &file, &reading, &r->arena, &graph);
    if (status == VBS_OK)
        status = vbs_onnx_graph_left(NULL, &graph, &r->arena, r->failed, r->n_failed, &r->left);
    for (int i = 0; i < (status == VBS_OK ? r->left.n : 0) && status == VBS_OK; i++)
        if (!(r->left.names[i] = vbs_arena_strdup(&r->arena, r->left.names[i])))
            status = VBS_NO_MEMORY;
    vbs_source_free(source);
    return status;
}

/* Tries to load what is left. VBS_UNSUPPORTED: one more node failed. */
static enum vbs_status try_rest(struct rest *r)
{
    const struct loader *l = r->refused;
    int n = l->n_choices;
    struct vbs_input_choice *choices = calloc((size_t)(n + r->left.n), sizeof *choices);
    struct loader again = {.path = l->path,
                           .choices = choices,
                           .n_choices = n + r->left.n,
                           .source = vbs_source_new()};
    struct vbs_network *network = NULL;
    enum vbs_status status = VBS_NO_MEMORY;

    if (choices && again.source) {
        if (n > 0)
            memcpy(choices, l->choices, (size_t)n * sizeof *choices);
        for (int i = 0; i < r->left.n; i++)
            choices[n + i] = (struct vbs_input_choice){.name = r->left.names[i], .until = true};
        status = load_from(&again, NULL, 0, &network);
    } else {
        vbs_source_free(again.source);
    }
    vbs_network_free(network);
    if (status == VBS_UNSUPPORTED && again.failed)
        r->failed[r->n_failed++] = again.failed;
    else
        free(again.failed);
    free(choices);
    return status;
}

/* Appends to the reason of a failure how the file can be loaded without what failed. */
static enum vbs_status tell_rest(struct vbs_ctx *ctx, enum vbs_status status, const struct rest *r)
{
    int n = r->left.n, n_outputs = r->left.n_outputs, shown = 0;
    struct vbs_text text = {0};
    char clean[VBS_MAX_NAME];

    vbs_text_add(&text, vbs_detail(ctx));
    vbs_text_add(&text, "; what does not depend on it can be run: --until ");
    for (; shown < n && (shown == 0 || text.length < VBS_DETAIL_SIZE - 150); shown++)
        vbs_text_addf(&text, "%s%.100s", shown ? "," : "",
                      vbs_onnx_clean(r->left.names[shown], clean, sizeof clean));
    if (shown < n)
        vbs_text_addf(&text, " and %d more", n - shown);
    if (n_outputs == 0)
        vbs_text_add(&text, " (none of the file's outputs is left)");
    else if (n_outputs == n)
        vbs_text_add(&text, " (these are outputs of the file)");
    else
        vbs_text_addf(&text, " (the first %s of the file)",
                      n_outputs == 1 ? "is an output" : "of them are outputs");
    if (text.failed)
        status = vbs_no_memory(ctx);
    else
        status = vbs_fail(ctx, status, "%s", text.data);
    vbs_text_clear(&text);
    return status;
}

/* Says where a file can end that was refused because a shape depends on data. */
static enum vbs_status tell_ends(struct loader *l, enum vbs_status status)
{
    struct rest r = {.refused = l, .n_failed = l->failed ? 1 : 0, .failed = {l->failed}};
    enum vbs_status tried = VBS_UNSUPPORTED;

    while (tried == VBS_UNSUPPORTED && r.n_failed < MOST_TRIES) {
        int before = r.n_failed;

        tried = find_rest(&r);
        if (tried == VBS_OK)
            tried = r.left.n > 0 ? try_rest(&r) : VBS_NOT_FOUND;
        if (tried == VBS_UNSUPPORTED && r.n_failed == before)
            break;
    }
    if (tried == VBS_NO_MEMORY)
        status = vbs_no_memory(l->ctx);
    else if (tried == VBS_OK)
        status = tell_rest(l->ctx, status, &r);
    for (int i = l->failed ? 1 : 0; i < r.n_failed; i++)
        free(r.failed[i]);
    vbs_arena_clear(&r.arena);
    return status;
}

/* Loads a file, where n_choices may be 0. */
static enum vbs_status load_file(struct vbs_ctx *ctx, const char *path,
                                 const struct vbs_input_choice *choices, int n_choices,
                                 const struct vbs_onnx_binding *bindings, int n_bindings,
                                 struct vbs_network **network)
{
    struct loader l = {.ctx = ctx,
                       .path = path,
                       .choices = choices,
                       .n_choices = n_choices,
                       .source = vbs_source_new()};
    struct loader plain = {.path = path};
    enum vbs_status status = load_from(&l, bindings, n_bindings, network), sound;
    struct vbs_network *loaded;

    if (status == VBS_UNSUPPORTED && l.failed_shape && ctx && n_bindings == 0)
        status = tell_ends(&l, status);
    free(l.failed);
    if (n_choices == 0 || (status != VBS_FORMAT && status != VBS_UNSUPPORTED))
        return status;
    /* where the file can be loaded without the choices, or is open without them and what they make
     * of it contradicts itself, the mistake is the caller's */
    plain.source = vbs_source_new();
    sound = load_from(&plain, bindings, n_bindings, &loaded);
    free(plain.failed);
    if (sound == VBS_NO_MEMORY)
        return vbs_no_memory(ctx);
    if (sound != VBS_OK && (sound != VBS_USAGE || status != VBS_FORMAT))
        return status;
    if (sound == VBS_OK)
        vbs_network_free(loaded);
    return vbs_input_choices_refuse(ctx, choices, n_choices);
}

enum vbs_status vbs_onnx_load(struct vbs_ctx *ctx, const char *path, const struct vbs_shape *input,
                              const struct vbs_onnx_binding *bindings, int n_bindings,
                              struct vbs_network **network)
{
    struct vbs_input_choice choice = {.name = NULL};

    if (input && !vbs_shape_valid(input))
        return vbs_fail(ctx, VBS_USAGE, "the input given is no valid shape");
    if (input)
        choice.shape = *input;
    return load_file(ctx, path, &choice, input ? 1 : 0, bindings, n_bindings, network);
}

enum vbs_status vbs_onnx_load_inputs(struct vbs_ctx *ctx, const char *path,
                                     const struct vbs_input_choice *choices, int n,
                                     struct vbs_network **network)
{
    return load_file(ctx, path, choices, n, NULL, 0, network);
}

/* ---- tensor files ---- */

static enum vbs_status read_values(struct vbs_ctx *ctx, struct vbs_source *source,
                                   const struct vbs_onnx_constant *c, float *values)
{
    int64_t count = vbs_shape_elements(&c->shape);
    int64_t bytes = vbs_elements_bytes(c->values.element, count);
    char *stored = malloc((size_t)bytes + 1);
    enum vbs_status status = VBS_OK;

    if (!stored)
        return vbs_no_memory(ctx);
    if (c->values.file >= 0)
        status = vbs_source_read(ctx, source, c->values.file, c->values.offset, bytes, stored);
    else if (count > 0 && c->values.memory)
        memcpy(stored, c->values.memory, (size_t)bytes);
    for (int64_t i = 0; i < count && status == VBS_OK; i++)
        values[i] = (float)vbs_element_value(c->values.element, stored, i);
    free(stored);
    return status;
}

enum vbs_status vbs_onnx_read_tensor(struct vbs_ctx *ctx, const char *path,
                                     struct vbs_onnx_tensor_file *tensor)
{
    struct vbs_source *source = vbs_source_new();
    struct vbs_onnx_constant *constant;
    struct vbs_onnx_file file;
    float *values = NULL;
    enum vbs_status status =
        source ? vbs_onnx_file_read(ctx, source, path, true, &file) : vbs_no_memory(ctx);

    if (status == VBS_OK)
        status = vbs_onnx_file_constant(ctx, &file, file.tensor, &constant);
    if (status == VBS_OK) {
        values = malloc((size_t)vbs_shape_elements(&constant->shape) * sizeof *values + 1);
        status = values ? read_values(ctx, source, constant, values) : vbs_no_memory(ctx);
    }
    if (status == VBS_OK)
        *tensor = (struct vbs_onnx_tensor_file){
            .type = constant->type, .shape = constant->shape, .values = values};
    else
        free(values);
    vbs_source_free(source);
    return status == VBS_OK ? status : within_file(ctx, status, path);
}
