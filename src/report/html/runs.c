/*
 * Runs that were executed, from the JSON of `vbslab run --json --steps` (docs/formats.md). Such a
 * file is untrusted: its schedule is read as any other and replayed on the profile, and of its
 * figures only numbers reach the page.
 */
#include "report/html/html.h"

#include "base/fail.h"
#include "base/json.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)1 << 30)

struct vbs_page_run {
    char *source;
    char hash[VBS_PROFILE_HASH_SIZE]; /* of the profile */
    json_t *json;
    struct vbs_schedule *schedule;
    int64_t memory_bytes;      /* of the arena */
    double *start_us, *end_us; /* [schedule->n_steps] */
};

void vbs_page_run_free(struct vbs_page_run *run)
{
    if (!run)
        return;
    free(run->source);
    vbs_schedule_free(run->schedule);
    json_decref(run->json);
    free(run->start_us);
    free(run->end_us);
    free(run);
}

bool vbs_page_run_is_of(const struct vbs_page_run *run, const struct vbs_profile *profile)
{
    char hash[VBS_PROFILE_HASH_SIZE];

    vbs_profile_hash(profile, hash);
    return strcmp(run->hash, hash) == 0;
}

const char *vbs_page_run_hash(const struct vbs_page_run *run)
{
    return run->hash;
}

/* ---- Reading ---- */

static enum vbs_status wrong(struct vbs_ctx *ctx, const struct vbs_page_run *run, const char *what)
{
    return vbs_fail(ctx, VBS_FORMAT, "%.300s: %s", run->source, what);
}

static enum vbs_status parse(struct vbs_ctx *ctx, struct vbs_page_run *run, const char *text,
                             size_t length)
{
    json_error_t error;
    const char *format;

    run->json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!run->json && error.text[0] == '\0') /* jansson reports it in this way */
        return vbs_no_memory(ctx);
    if (!run->json)
        return vbs_fail(ctx, VBS_FORMAT, "%.300s:%d: %s", run->source, error.line, error.text);
    format = json_string_value(json_object_get(run->json, "format"));
    if (!format || strcmp(format, "vbslab-run-1") != 0)
        return wrong(ctx, run,
                     "'format' is not \"vbslab-run-1\", the result of 'vbslab run --json'");
    return VBS_OK;
}

static enum vbs_status read_hash(struct vbs_ctx *ctx, struct vbs_page_run *run)
{
    const json_t *provenance = json_object_get(run->json, "provenance");
    const char *hash = json_string_value(json_object_get(provenance, "hash"));

    if (!hash || strlen(hash) + 1 != sizeof run->hash)
        return wrong(ctx, run, "'provenance.hash' is not the hash of a profile");
    memcpy(run->hash, hash, sizeof run->hash);
    return VBS_OK;
}

static enum vbs_status read_schedule(struct vbs_ctx *ctx, struct vbs_page_run *run)
{
    const json_t *schedule = json_object_get(run->json, "schedule");
    struct vbs_text text = {0};
    enum vbs_status status;

    if (!schedule)
        return wrong(ctx, run, "has no steps; 'vbslab run --json --steps' writes them");
    vbs_text_add_json(&text, schedule, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    status = text.failed ? vbs_no_memory(ctx)
                         : vbs_schedule_parse_json(ctx, run->source, text.data, text.length,
                                                   &run->schedule);
    vbs_text_clear(&text);
    return status;
}

/* Reads a time of each step, in microseconds from the start of the run. */
static enum vbs_status read_times(struct vbs_ctx *ctx, const struct vbs_page_run *run,
                                  const char *name, double **times_us)
{
    const json_t *list = json_object_get(json_object_get(run->json, "fastest"), name);
    size_t n = (size_t)run->schedule->n_steps;

    if (!json_is_array(list) || json_array_size(list) != n)
        return vbs_fail(ctx, VBS_FORMAT,
                        "%.300s: 'fastest.%s' has not one time for each of %zu steps", run->source,
                        name, n);
    *times_us = calloc(n + 1, sizeof **times_us);
    if (!*times_us)
        return vbs_no_memory(ctx);
    for (size_t s = 0; s < n; s++) {
        const json_t *time = json_array_get(list, s);

        (*times_us)[s] = json_number_value(time);
        if (!json_is_number(time) || !((*times_us)[s] >= 0 && (*times_us)[s] <= VBS_MAX_TIME_US))
            return vbs_fail(ctx, VBS_FORMAT, "%.300s: 'fastest.%s' of step %zu is no time",
                            run->source, name, s + 1);
    }
    return VBS_OK;
}

static enum vbs_status read_run(struct vbs_ctx *ctx, struct vbs_page_run *run, const char *text,
                                size_t length)
{
    const json_t *memory;

    VBS_TRY(parse(ctx, run, text, length));
    VBS_TRY(read_hash(ctx, run));
    VBS_TRY(read_schedule(ctx, run));
    VBS_TRY(read_times(ctx, run, "start_us", &run->start_us));
    VBS_TRY(read_times(ctx, run, "end_us", &run->end_us));
    for (int64_t s = 0; s < run->schedule->n_steps; s++)
        if (run->end_us[s] < run->start_us[s])
            return vbs_fail(ctx, VBS_FORMAT, "%.300s: step %lld ends before it begins", run->source,
                            (long long)s + 1);
    if (!json_is_number(json_object_get(json_object_get(run->json, "measured"), "time_us")))
        return wrong(ctx, run, "'measured.time_us' is no time");
    memory = json_object_get(run->json, "memory_bytes");
    if (!json_is_integer(memory) || json_integer_value(memory) < 0)
        return wrong(ctx, run, "'memory_bytes' is no number of bytes");
    run->memory_bytes = json_integer_value(memory);
    return VBS_OK;
}

enum vbs_status vbs_page_run_read(struct vbs_ctx *ctx, const char *path, struct vbs_page_run **run)
{
    struct vbs_page_run *made = calloc(1, sizeof *made);
    char *text = NULL;
    size_t length;
    enum vbs_status status;

    if (!made)
        return vbs_no_memory(ctx);
    made->source = strdup(strcmp(path, "-") == 0 ? "standard input" : path);
    status = made->source ? vbs_read_file(ctx, path, MAX_FILE_BYTES, &text, &length)
                          : vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = read_run(ctx, made, text, length);
    free(text);
    if (status == VBS_OK)
        *run = made;
    else
        vbs_page_run_free(made);
    return status;
}

/* ---- Writing ---- */

/* Appends an object of the result with those members that are numbers; all else of it is left out.
 */
static void add_numbers(struct vbs_text *text, const struct vbs_page_run *run, const char *name)
{
    json_t *object = json_object_get(run->json, name), *value;
    const char *key;
    int n = 0;

    vbs_text_addf(text, "\"%s\":{", name);
    json_object_foreach(object, key, value)
    {
        if (!json_is_number(value))
            continue;
        vbs_text_add(text, n++ ? "," : "");
        vbs_page_add_string(text, key);
        vbs_text_add(text, ":");
        vbs_text_add_double(text, json_number_value(value));
    }
    vbs_text_add(text, "},\n");
}

static void add_times(struct vbs_text *text, const char *name, const double *times_us, int64_t n)
{
    vbs_text_addf(text, ",\n\"%s\":[", name);
    for (int64_t s = 0; s < n; s++) {
        vbs_text_add(text, s ? "," : "");
        vbs_text_add_double(text, round(1e3 * times_us[s]) / 1e3); /* the clock is no finer */
    }
    vbs_text_add(text, "]");
}

static void add_head(struct vbs_text *text, const struct vbs_page_run *run, int profile_index)
{
    const struct vbs_schedule *schedule = run->schedule;
    const json_t *equal = json_object_get(json_object_get(run->json, "check"), "bit_equal");

    vbs_text_addf(text, "{\"profile_index\":%d,\"source\":", profile_index);
    vbs_page_add_string(text, run->source);
    vbs_text_add(text, ",\"planner\":");
    vbs_page_add_string(text, schedule->planner);
    vbs_text_addf(text,
                  ",\"request\":%lld,\"io\":\"%s\",\"weights\":\"%s\",\"memory_bytes\":%lld,\n",
                  (long long)schedule->request, vbs_io_word(schedule->io),
                  vbs_weights_word(schedule->weights), (long long)run->memory_bytes);
    vbs_text_addf(text, "\"bit_equal\":%s,\n",
                  json_is_boolean(equal) ? json_is_true(equal) ? "true" : "false" : "null");
    add_numbers(text, run, "predicted");
    add_numbers(text, run, "measured");
    add_numbers(text, run, "memory");
    add_numbers(text, run, "fastest");
}

enum vbs_status vbs_page_run_add(struct vbs_ctx *ctx, struct vbs_text *text,
                                 const struct vbs_page_run *run, const struct vbs_profile *profile,
                                 int profile_index)
{
    const struct vbs_schedule *schedule = run->schedule;
    struct vbs_page_steps steps = {0};
    struct vbs_page_plan plan;
    bool accepted;
    enum vbs_status status = vbs_page_steps_add(ctx, &steps, profile, schedule, &plan, &accepted);

    if (status == VBS_OK) {
        add_head(text, run, profile_index);
        if (schedule->weights == VBS_WEIGHTS_INCLUDED)
            vbs_page_add_judging_link(text, profile, &schedule->copy);
        vbs_text_add(text, "\"plan\":");
        vbs_page_add_plan(text, &plan);
        vbs_text_add(text, ",\n");
        vbs_page_add_kinds(text, &steps);
        status = vbs_page_pack(ctx, text, steps.list, steps.n);
    } else
        status = vbs_fail_within(ctx, status, run->source);
    if (status == VBS_OK) {
        add_times(text, "start_us", run->start_us, schedule->n_steps);
        add_times(text, "end_us", run->end_us, schedule->n_steps);
        vbs_text_add(text, "}");
    }
    vbs_page_steps_clear(&steps);
    return status == VBS_OK && text->failed ? vbs_no_memory(ctx) : status;
}
