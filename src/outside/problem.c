/*
 * The problem of a program from outside as JSON, "vbslab-problem-1" (docs/formats.md): one layer a
 * line, for people who look at it.
 */
#include "base/fail.h"
#include "base/json.h"
#include "outside/internal.h"

static void add_string(struct vbs_text *text, const char *name, const char *string)
{
    json_t *value = json_string(string ? string : "");

    vbs_text_addf(text, "\"%s\": ", name);
    vbs_text_add_json(text, value, JSON_ENCODE_ANY);
    vbs_text_add(text, ", ");
    json_decref(value);
}

static void add_integer(struct vbs_text *text, const char *name, int64_t value, const char *end)
{
    vbs_text_addf(text, "\"%s\": %lld%s", name, (long long)value, end);
}

static void add_real(struct vbs_text *text, const char *name, double value, const char *end)
{
    vbs_text_addf(text, "\"%s\": ", name);
    vbs_text_add_double(text, value);
    vbs_text_add(text, end);
}

/* Adds the link over which weights are copied. */
static void add_copy(struct vbs_text *text, const struct vbs_link *copy, int n_layers)
{
    vbs_text_add(text, "\"copy\": { ");
    add_string(text, "source", copy->source);
    add_real(text, "latency_us", copy->latency_us, ", ");
    add_real(text, "bytes_per_us", copy->bytes_per_us, copy->beside ? ", \"beside\": [" : " }, ");
    for (int k = 0; copy->beside && k <= n_layers; k++) {
        vbs_text_add_double(text, copy->beside[k]);
        vbs_text_add(text, k < n_layers ? ", " : "] }, ");
    }
}

/* Adds the members that are numbers and words: the question. */
static void add_question(struct vbs_text *text, const struct vbs_outside *outside,
                         const struct vbs_task *task, const int64_t *budgets, int n)
{
    const struct vbs_problem *problem = &task->problem;

    vbs_text_add(text, "{ \"format\": \"vbslab-problem-1\", ");
    add_string(text, "model", task->profile->provenance.model);
    add_integer(text, "request", problem->request, ", ");
    add_string(text, "io", vbs_io_word(problem->io));
    add_string(text, "weights", vbs_weights_word(problem->weights));
    if (problem->weights == VBS_WEIGHTS_INCLUDED)
        add_copy(text, &problem->copy, task->n_layers);
    if (problem->latency_us > 0)
        add_real(text, "latency_us", problem->latency_us, ", ");
    vbs_text_add(text, "\n  \"budgets\": [");
    for (int i = 0; i < n; i++)
        vbs_text_addf(text, "%s%lld", i ? ", " : "", (long long)budgets[i]);
    vbs_text_add(text, "],\n  ");
    add_real(text, "time_limit_s", vbs_outside_limit_s(task), ", ");
    if (outside->memory_bytes > 0)
        add_integer(text, "memory_limit_bytes", outside->memory_bytes, ", ");
}

static void add_row(struct vbs_text *text, const struct vbs_profile *profile, int batch,
                    const struct vbs_profile_row *row, bool first)
{
    vbs_text_add(text, first ? "{ " : ", { ");
    add_integer(text, "batch", batch, ", ");
    add_string(text, "algorithm", profile->algorithms[row->algorithm]);
    add_real(text, "time_us", row->time_us, ", ");
    add_integer(text, "ws_bytes", row->ws_bytes, ", ");
    add_integer(text, "packed_bytes", row->weight_bytes, ", ");
    add_integer(text, "form", row->format, ", ");
    add_integer(text, "parts", row->n_slices, " }");
}

static void add_layer(struct vbs_text *text, const struct vbs_task *task, int layer)
{
    const struct vbs_profile_layer *at = &task->profile->layers[layer];

    vbs_text_addf(text, "%s\n    { ", layer > 1 ? "," : "");
    add_integer(text, "layer", layer, ", ");
    add_string(text, "name", at->name);
    add_string(text, "kind", at->kind);
    vbs_text_add(text, "\"inputs\": [");
    for (int i = 0; i < at->n_inputs; i++)
        vbs_text_addf(text, "%s%d", i ? ", " : "", at->inputs[i]);
    vbs_text_add(text, "], ");
    add_integer(text, "in_bytes", at->in_bytes, ", ");
    add_integer(text, "out_bytes", at->out_bytes, ", ");
    add_integer(text, "weight_bytes", at->weight_bytes, ", ");
    vbs_text_addf(text, "\"in_place\": %s, ", at->in_place ? "true" : "false");
    add_integer(text, "channels", at->channels, ", ");
    vbs_text_add(text, "\"rows\": [");
    for (int i = 0; i < task->n_batches; i++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, layer, i, &n_rows);

        for (int a = 0; a < n_rows; a++)
            add_row(text, task->profile, task->profile->batches[i], &rows[a], i == 0 && a == 0);
    }
    vbs_text_add(text, "] }");
}

enum vbs_status vbs_outside_problem(struct vbs_ctx *ctx, const struct vbs_outside *outside,
                                    const struct vbs_task *task, const int64_t *budgets, int n,
                                    struct vbs_text *text)
{
    add_question(text, outside, task, budgets, n);
    vbs_text_add(text, "\"batches\": [");
    for (int i = 0; i < task->n_batches; i++)
        vbs_text_addf(text, "%s%d", i ? ", " : "", task->profile->batches[i]);
    vbs_text_add(text, "], ");
    add_integer(text, "input_bytes", task->profile->layers[0].out_bytes, ",\n  \"layers\": [");
    for (int k = 1; k <= task->n_layers; k++)
        add_layer(text, task, k);
    vbs_text_add(text, "\n  ] }\n");
    return text->failed ? vbs_no_memory(ctx) : VBS_OK;
}
