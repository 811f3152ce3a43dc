/* What the graphs inside a node read of those around it. */
#include "model/onnx/import/capture.h"

#include "base/fail.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES (1 << 22) /* of graphs inside nodes, each time that they are looked at */

enum vbs_status vbs_onnx_count_names(struct vbs_ctx *ctx, int64_t *n_names, size_t n)
{
    if ((int64_t)n > MAX_NAMES - *n_names)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "graphs inside nodes have more than 2^22 names");
    *n_names += (int64_t)n;
    return VBS_OK;
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

static int compare_captured(const void *a, const void *b)
{
    const struct vbs_onnx_captured *left = a, *right = b;

    return strcmp(left->name, right->name);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void keep(void *entry)
{
    (void)entry; /* it lives in the arena, or in the file */
}

/* The names that a graph inside a node makes, and those of the graphs around it up to the node. */
struct inside {
    void *names; /* tsearch tree of texts */
    const struct inside *around;
};

/* The values that the graphs inside a node read and do not make. */
struct capture {
    const struct vbs_onnx_capturing *in;
    void *names; /* tsearch tree of the same */
    int n;
};

static enum vbs_status put_name(struct capture *c, struct inside *inside, const char *name)
{
    return tsearch(name, &inside->names, compare_texts) ? VBS_OK : vbs_no_memory(c->in->ctx);
}

static enum vbs_status capture_name(struct capture *c, const struct inside *inside,
                                    const char *name)
{
    struct vbs_onnx_captured *captured;
    struct vbs_onnx_captured *const *found;

    for (; inside; inside = inside->around)
        if (tfind(name, &inside->names, compare_texts))
            return VBS_OK;
    captured = vbs_arena_alloc(c->in->arena, 1, sizeof *captured);
    if (!captured)
        return vbs_no_memory(c->in->ctx);
    *captured = (struct vbs_onnx_captured){name, c->in->find(c->in->graph, name)};
    if (captured->value < 0)
        return vbs_fail(c->in->ctx, VBS_FORMAT, "reads '%.100s', which nothing makes", name);
    found = tsearch(captured, &c->names, compare_captured);
    if (!found)
        return vbs_no_memory(c->in->ctx);
    c->n += *found == captured;
    return VBS_OK;
}

static enum vbs_status capture_graph(struct capture *c, const struct inside *around,
                                     const Onnx__GraphProto *graph);

static enum vbs_status capture_node(struct capture *c, const struct inside *inside,
                                    const Onnx__NodeProto *node)
{
    VBS_TRY(vbs_onnx_count_names(c->in->ctx, c->in->n_names, node->n_input + node->n_attribute));
    for (size_t i = 0; i < node->n_input; i++)
        if (node->input[i][0])
            VBS_TRY(capture_name(c, inside, node->input[i]));
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g)
            VBS_TRY(capture_graph(c, inside, node->attribute[i]->g));
    return VBS_OK;
}

/* Notes the names that a graph makes, and then captures what it reads. */
static enum vbs_status capture_within(struct capture *c, struct inside *inside,
                                      const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_initializer; i++)
        VBS_TRY(put_name(c, inside, text_of(graph->initializer[i]->name)));
    for (size_t i = 0; i < graph->n_input; i++)
        VBS_TRY(put_name(c, inside, text_of(graph->input[i]->name)));
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            VBS_TRY(put_name(c, inside, graph->node[i]->output[k]));
    for (size_t i = 0; i < graph->n_node; i++)
        VBS_TRY(capture_node(c, inside, graph->node[i]));
    for (size_t i = 0; i < graph->n_output; i++)
        VBS_TRY(capture_name(c, inside, text_of(graph->output[i]->name)));
    return VBS_OK;
}

static enum vbs_status capture_graph(struct capture *c, const struct inside *around,
                                     const Onnx__GraphProto *graph)
{
    struct inside inside = {.around = around};
    size_t n = graph->n_initializer + graph->n_input + graph->n_node + graph->n_output;
    enum vbs_status status;

    for (size_t i = 0; i < graph->n_node; i++)
        n += graph->node[i]->n_output;
    status = vbs_onnx_count_names(c->in->ctx, c->in->n_names, n);
    if (status == VBS_OK)
        status = capture_within(c, &inside, graph);
    tdestroy(inside.names, keep);
    return status;
}

struct gathering {
    struct vbs_onnx_captured *captured;
    int n;
};

static void gather(const void *entry, VISIT visit, void *to)
{
    struct gathering *g = to;

    if (visit == postorder || visit == leaf)
        g->captured[g->n++] = **(struct vbs_onnx_captured *const *)entry;
}

static enum vbs_status gather_all(const struct capture *c,
                                  const struct vbs_onnx_captured **captured)
{
    struct gathering g = {vbs_arena_alloc(c->in->arena, (size_t)c->n, sizeof *g.captured), 0};

    if (!g.captured)
        return vbs_no_memory(c->in->ctx);
    twalk_r(c->names, gather, &g);
    *captured = g.captured;
    return VBS_OK;
}

enum vbs_status vbs_onnx_capture(const struct vbs_onnx_capturing *capturing,
                                 const Onnx__NodeProto *node,
                                 const struct vbs_onnx_captured **captured, int *n)
{
    struct capture c = {.in = capturing};
    enum vbs_status status = VBS_OK;

    for (size_t i = 0; i < node->n_attribute && status == VBS_OK; i++)
        if (node->attribute[i]->g)
            status = capture_graph(&c, NULL, node->attribute[i]->g);
    if (status == VBS_OK)
        status = gather_all(&c, captured);
    if (status == VBS_OK)
        *n = c.n;
    tdestroy(c.names, keep);
    return status;
}

int vbs_onnx_find_captured(const struct vbs_onnx_captured *captured, int n, const char *name)
{
    const struct vbs_onnx_captured wanted = {.name = name}, *found = NULL;

    if (n > 0)
        found = bsearch(&wanted, captured, (size_t)n, sizeof wanted, compare_captured);
    return found ? found->value : -1;
}
