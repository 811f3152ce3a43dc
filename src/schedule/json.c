/*
 * Schedules as JSON, "vbslab-schedule-1" (docs/formats.md). The text is written by hand, so that a
 * step takes one line, and is read with jansson; every member is checked.
 */
#include "vbslab/schedule.h"

#include "base/fail.h"
#include "base/json.h"
#include "base/text.h"
#include "vbslab/profile.h"
#include "vbslab/units.h"

#include <jansson.h>

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT         "vbslab-schedule-1"
#define MAX_FILE_BYTES ((size_t)1 << 30)

/* Adds a JSON string, which jansson escapes. */
static void add_string(struct vbs_text *text, const char *string)
{
    json_t *value = json_string(string);

    vbs_text_add_json(text, value, JSON_ENCODE_ANY);
    json_decref(value);
}

static void add_member(struct vbs_text *text, const char *name, double value, const char *end)
{
    vbs_text_addf(text, "\"%s\": ", name);
    vbs_text_add_double(text, value);
    vbs_text_add(text, end);
}

static bool includes_weights(const struct vbs_schedule *schedule)
{
    return schedule->weights == VBS_WEIGHTS_INCLUDED;
}

static void add_copy(struct vbs_text *text, const struct vbs_link *copy)
{
    vbs_text_add(text, "  \"copy\": { \"source\": ");
    add_string(text, copy->source);
    vbs_text_add(text, ", ");
    add_member(text, "latency_us", copy->latency_us, ", ");
    add_member(text, "bytes_per_us", copy->bytes_per_us, " },\n");
}

static bool has_text(const char *text)
{
    return text && *text;
}

static void add_text(struct vbs_text *text, const char *name, const char *value)
{
    if (!has_text(value))
        return;
    vbs_text_addf(text, "\"%s\": ", name);
    add_string(text, value);
    vbs_text_add(text, ", ");
}

static bool has_provenance(const struct vbs_schedule *schedule)
{
    return schedule->provenance.profile_id > 0 || has_text(schedule->provenance.hash) ||
           has_text(schedule->provenance.device) || has_text(schedule->provenance.library) ||
           has_text(schedule->provenance.backend) || has_text(schedule->provenance.date) ||
           schedule->provenance.threads > 0;
}

static void add_provenance(struct vbs_text *text, const struct vbs_schedule *schedule)
{
    if (!has_provenance(schedule))
        return;
    vbs_text_addf(text, "  \"profile\": %lld, \"provenance\": { ",
                  (long long)schedule->provenance.profile_id);
    add_text(text, "hash", schedule->provenance.hash);
    add_text(text, "backend", schedule->provenance.backend);
    add_text(text, "library", schedule->provenance.library);
    add_text(text, "device", schedule->provenance.device);
    if (schedule->provenance.threads > 0)
        vbs_text_addf(text, "\"threads\": %d, ", schedule->provenance.threads);
    add_text(text, "date", schedule->provenance.date);
    vbs_text_addf(text, "\"modelled\": %s },\n", schedule->provenance.modelled ? "true" : "false");
}

static void add_head(struct vbs_text *text, const struct vbs_schedule *schedule)
{
    vbs_text_add(text, "{ \"format\": \"" FORMAT "\", \"model\": ");
    add_string(text, schedule->model);
    vbs_text_add(text, ", \"planner\": ");
    add_string(text, schedule->planner);
    vbs_text_addf(text, ", \"request\": %lld,\n  \"memory_bytes\": %lld, \"io\": \"%s\", ",
                  (long long)schedule->request, (long long)schedule->memory_bytes,
                  vbs_io_word(schedule->io));
    if (schedule->latency_us > 0)
        add_member(text, "latency_us", schedule->latency_us, ", ");
    vbs_text_addf(text, "\"weights\": \"%s\"", vbs_weights_word(schedule->weights));
    if (schedule->weight_bytes > 0)
        vbs_text_addf(text, ", \"weight_bytes\": %lld", (long long)schedule->weight_bytes);
    vbs_text_add(text, ",\n");
    if (includes_weights(schedule) && schedule->copy.source)
        add_copy(text, &schedule->copy);
    vbs_text_add(text, "  \"predicted\": { ");
    add_member(text, "time_us", schedule->predicted.time_us, ", ");
    add_member(text, "per_sample_us", schedule->predicted.time_us / (double)schedule->request,
               ", ");
    vbs_text_addf(text, "\"peak_bytes\": %lld, \"reserved_bytes\": %lld, ",
                  (long long)schedule->predicted.peak_bytes,
                  (long long)schedule->predicted.reserved_bytes);
    if (includes_weights(schedule)) {
        add_member(text, "copy_us", schedule->predicted.copy_us, ", ");
        vbs_text_addf(text, "\"copied_bytes\": %lld, \"resident_bytes\": %lld, ",
                      (long long)schedule->predicted.copied_bytes,
                      (long long)schedule->predicted.resident_bytes);
    }
    if (schedule->predicted.high_us > 0) {
        add_member(text, "low_us", schedule->predicted.low_us, ", ");
        add_member(text, "high_us", schedule->predicted.high_us, ", ");
    }
    add_member(text, "latency_us", schedule->predicted.latency_us, " },\n  \"bound\": { ");
    add_member(text, "time_us", schedule->bound.time_us, ", ");
    add_member(text, "gap_percent", schedule->bound.gap_percent, " },\n");
    if (schedule->solver.peak_bytes > 0 || schedule->solver.interrupted)
        vbs_text_addf(text, "  \"solver\": { \"peak_bytes\": %lld%s },\n",
                      (long long)schedule->solver.peak_bytes,
                      schedule->solver.interrupted ? ", \"interrupted\": true" : "");
    add_provenance(text, schedule);
    vbs_text_add(text, "  \"steps\": [");
}

/* Adds the layer of a step, as its number and its name. */
static void add_layer(struct vbs_text *text, const struct vbs_schedule *schedule, int layer)
{
    vbs_text_addf(text, "\"layer\": %d, ", layer);
    if (schedule->layer_names && layer <= schedule->n_layers)
        add_text(text, "name", schedule->layer_names[layer]);
}

static void add_compute(struct vbs_text *text, const struct vbs_schedule *schedule,
                        const struct vbs_step *step)
{
    add_layer(text, schedule, step->layer);
    vbs_text_addf(text, "\"batch\": %d, \"algorithm\": ", step->batch);
    add_string(text, schedule->algorithms[step->algorithm]);
    if (step->n_slices > 1)
        vbs_text_addf(text, ", \"part\": %d, \"parts\": %d", step->slice, step->n_slices);
    if (step->rows > 0)
        vbs_text_addf(text, ", \"row\": %d, \"rows\": %d, \"window\": %d", step->row, step->rows,
                      step->window);
}

static void add_transfer(struct vbs_text *text, const struct vbs_schedule *schedule,
                         const struct vbs_step *step)
{
    bool whole = step->n_slices <= 1;

    vbs_text_addf(text, "\"op\": \"%s\", ", vbs_step_word((enum vbs_step_op)step->op));
    add_layer(text, schedule, step->layer);
    vbs_text_addf(text, "\"part\": %d, \"parts\": %d, \"bytes\": %lld", whole ? 1 : step->slice,
                  whole ? 1 : step->n_slices, (long long)step->bytes);
    if (step->format > 0)
        vbs_text_addf(text, ", \"form\": %d", step->format);
    if (step->resident)
        vbs_text_add(text, ", \"resident\": true");
}

static void add_steps(struct vbs_text *text, const struct vbs_schedule *schedule)
{
    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];

        vbs_text_addf(text, "%s\n    { ", s ? "," : "");
        if (step->op == VBS_STEP_COMPUTE)
            add_compute(text, schedule, step);
        else
            add_transfer(text, schedule, step);
        vbs_text_add(text, " }");
    }
    vbs_text_add(text, "\n  ] }\n");
}

enum vbs_status vbs_schedule_json(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                                  char **text)
{
    struct vbs_text made = {0};

    add_head(&made, schedule);
    add_steps(&made, schedule);
    if (made.failed) {
        vbs_text_clear(&made);
        return vbs_no_memory(ctx);
    }
    *text = made.data;
    return VBS_OK;
}

enum vbs_status vbs_schedule_write_json(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                                        const char *path)
{
    char *text;
    enum vbs_status status = vbs_schedule_json(ctx, schedule, &text);

    if (status != VBS_OK)
        return status;
    status = vbs_write_file(ctx, path, text, strlen(text));
    free(text);
    return status;
}

/* The state of reading: the source of the text, and the schedule read so far. */
struct schedule_reader {
    struct vbs_ctx *ctx;
    const char *source;
    size_t step;        /* number of the step that is being read, from 1; 0: none */
    const char *object; /* name of the member of the schedule that is being read; null: the
                           schedule itself */
    struct vbs_schedule draft;
    struct vbs_step *steps;
    const char **algorithms; /* borrowed from the JSON tree */
};

static enum vbs_status wrong(struct schedule_reader *reader, const char *member, const char *what)
{
    char place[32] = "";

    if (reader->step > 0)
        snprintf(place, sizeof place, "step %zu: ", reader->step);
    return vbs_fail(reader->ctx, VBS_FORMAT, "%s: %s'%s%s%s' %s", reader->source, place,
                    reader->object ? reader->object : "", reader->object ? "." : "", member, what);
}

/* Reads a whole number from low to high. Where it is not required and missing, *value stays. */
static enum vbs_status read_integer(struct schedule_reader *reader, const json_t *object,
                                    const char *name, bool required, int64_t low, int64_t high,
                                    int64_t *value)
{
    const json_t *member = json_object_get(object, name);

    if (!member && !required)
        return VBS_OK;
    if (!json_is_integer(member))
        return wrong(reader, name, member ? "is not a whole number" : "is missing");
    if (json_integer_value(member) < low || json_integer_value(member) > high)
        return wrong(reader, name, "is out of range");
    *value = json_integer_value(member);
    return VBS_OK;
}

static enum vbs_status read_real(struct schedule_reader *reader, const json_t *object,
                                 const char *name, double *value)
{
    const json_t *member = json_object_get(object, name);

    if (!member)
        return VBS_OK;
    if (!json_is_number(member))
        return wrong(reader, name, "is not a number");
    *value = json_number_value(member);
    return VBS_OK;
}

/* Reads a latency. 0 stands for no bound of the latency; a file has no such member then. */
static enum vbs_status read_latency(struct schedule_reader *reader, const json_t *root,
                                    double *latency_us)
{
    VBS_TRY(read_real(reader, root, "latency_us", latency_us));
    if (json_object_get(root, "latency_us") && !(*latency_us > 0 && *latency_us <= VBS_MAX_TIME_US))
        return wrong(reader, "latency_us", "is out of range");
    return VBS_OK;
}

/* Reads a time or a rate: at least 0, and so small that sums of them are finite. */
static enum vbs_status read_amount(struct schedule_reader *reader, const json_t *object,
                                   const char *name, double *value)
{
    VBS_TRY(read_real(reader, object, name, value));
    if (json_object_get(object, name) && !(*value >= 0 && *value <= VBS_MAX_TIME_US))
        return wrong(reader, name, "is out of range");
    return VBS_OK;
}

/* Reads a time of the whole request: at least 0. The parser has refused what is not finite. */
static enum vbs_status read_time(struct schedule_reader *reader, const json_t *object,
                                 const char *name, double *value)
{
    VBS_TRY(read_real(reader, object, name, value));
    return *value >= 0 ? VBS_OK : wrong(reader, name, "is out of range");
}

static enum vbs_status read_string(struct schedule_reader *reader, const json_t *object,
                                   const char *name, const char **value)
{
    const json_t *member = json_object_get(object, name);

    if (!member)
        return VBS_OK;
    if (!json_is_string(member))
        return wrong(reader, name, "is not a string");
    *value = json_string_value(member);
    return VBS_OK;
}

static enum vbs_status read_words(struct schedule_reader *reader, const json_t *root)
{
    const char *format = "", *io = "external", *weights = "excluded";

    reader->draft.model = reader->draft.planner = "";
    VBS_TRY(read_string(reader, root, "format", &format));
    if (strcmp(format, FORMAT) != 0)
        return wrong(reader, "format", "is not \"" FORMAT "\"");
    VBS_TRY(read_string(reader, root, "model", &reader->draft.model));
    VBS_TRY(read_string(reader, root, "planner", &reader->draft.planner));
    VBS_TRY(read_string(reader, root, "weights", &weights));
    if (vbs_weights_parse(NULL, weights, &reader->draft.weights) != VBS_OK)
        return wrong(reader, "weights", "is neither \"excluded\" nor \"included\"");
    VBS_TRY(read_string(reader, root, "io", &io));
    if (vbs_io_parse(NULL, io, &reader->draft.io) != VBS_OK)
        return wrong(reader, "io", "is neither \"external\" nor \"resident\"");
    return VBS_OK;
}

static enum vbs_status read_copy(struct schedule_reader *reader, const json_t *object)
{
    struct vbs_link *copy = &reader->draft.copy;

    VBS_TRY(read_string(reader, object, "source", &copy->source));
    if (!copy->source)
        return wrong(reader, "source", "is missing");
    VBS_TRY(read_amount(reader, object, "latency_us", &copy->latency_us));
    return read_amount(reader, object, "bytes_per_us", &copy->bytes_per_us);
}

/* Reads the predicted times and bytes of copies. */
static enum vbs_status read_copied(struct schedule_reader *reader, const json_t *predicted)
{
    struct vbs_schedule *draft = &reader->draft;

    VBS_TRY(read_amount(reader, predicted, "copy_us", &draft->predicted.copy_us));
    VBS_TRY(read_integer(reader, predicted, "copied_bytes", false, 0, VBS_MAX_BYTES,
                         &draft->predicted.copied_bytes));
    return read_integer(reader, predicted, "resident_bytes", false, 0, VBS_MAX_BYTES,
                        &draft->predicted.resident_bytes);
}

static enum vbs_status read_predicted(struct schedule_reader *reader, const json_t *predicted)
{
    struct vbs_schedule *draft = &reader->draft;

    VBS_TRY(read_time(reader, predicted, "time_us", &draft->predicted.time_us));
    VBS_TRY(read_integer(reader, predicted, "peak_bytes", false, 0, VBS_MAX_BYTES,
                         &draft->predicted.peak_bytes));
    VBS_TRY(read_integer(reader, predicted, "reserved_bytes", false, 0, VBS_MAX_BYTES,
                         &draft->predicted.reserved_bytes));
    VBS_TRY(read_time(reader, predicted, "latency_us", &draft->predicted.latency_us));
    VBS_TRY(read_time(reader, predicted, "low_us", &draft->predicted.low_us));
    VBS_TRY(read_time(reader, predicted, "high_us", &draft->predicted.high_us));
    if (includes_weights(draft))
        VBS_TRY(read_copied(reader, predicted));
    return VBS_OK;
}

static enum vbs_status read_bound(struct schedule_reader *reader, const json_t *bound)
{
    VBS_TRY(read_time(reader, bound, "time_us", &reader->draft.bound.time_us));
    return read_real(reader, bound, "gap_percent", &reader->draft.bound.gap_percent);
}

static enum vbs_status read_flag(struct schedule_reader *reader, const json_t *object,
                                 const char *name, bool *value)
{
    const json_t *member = json_object_get(object, name);

    if (member && !json_is_boolean(member))
        return wrong(reader, name, "is neither true nor false");
    *value = json_is_true(member);
    return VBS_OK;
}

static enum vbs_status read_solver(struct schedule_reader *reader, const json_t *solver)
{
    VBS_TRY(read_integer(reader, solver, "peak_bytes", false, 0, VBS_MAX_BYTES,
                         &reader->draft.solver.peak_bytes));
    return read_flag(reader, solver, "interrupted", &reader->draft.solver.interrupted);
}

/* The earlier names of the hash and, inside of the provenance, of the number of the profile. */
#define OLD_HASH    "profile"
#define OLD_PROFILE "profile_id"

static enum vbs_status read_provenance(struct schedule_reader *reader, const json_t *provenance)
{
    struct vbs_schedule *draft = &reader->draft;
    const struct {
        const char *name, **value;
    } texts[] = {{json_object_get(provenance, "hash") ? "hash" : OLD_HASH, &draft->provenance.hash},
                 {"device", &draft->provenance.device},
                 {"library", &draft->provenance.library},
                 {"backend", &draft->provenance.backend},
                 {"date", &draft->provenance.date}};
    int64_t threads = 0;

    VBS_TRY(read_integer(reader, provenance, OLD_PROFILE, false, 1, INT64_MAX,
                         &draft->provenance.profile_id));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        VBS_TRY(read_string(reader, provenance, texts[i].name, texts[i].value));
    VBS_TRY(read_integer(reader, provenance, "threads", false, 0, INT_MAX, &threads));
    VBS_TRY(read_flag(reader, provenance, "modelled", &draft->provenance.modelled));
    draft->provenance.threads = (int)threads;
    return VBS_OK;
}

/* Reads a member that is an object, or missing. */
static enum vbs_status read_object(struct schedule_reader *reader, const json_t *root,
                                   const char *name,
                                   enum vbs_status (*read)(struct schedule_reader *reader,
                                                           const json_t *object))
{
    const json_t *object = json_object_get(root, name);
    enum vbs_status status;

    if (!object)
        return VBS_OK;
    if (!json_is_object(object))
        return wrong(reader, name, "is not an object");
    reader->object = name;
    status = read(reader, object);
    reader->object = NULL;
    return status;
}

static enum vbs_status read_numbers(struct schedule_reader *reader, const json_t *root)
{
    struct vbs_schedule *draft = &reader->draft;

    VBS_TRY(read_integer(reader, root, "request", true, 1, VBS_MAX_REQUEST, &draft->request));
    VBS_TRY(
        read_integer(reader, root, "memory_bytes", true, 0, VBS_MAX_BYTES, &draft->memory_bytes));
    VBS_TRY(
        read_integer(reader, root, "weight_bytes", false, 0, VBS_MAX_BYTES, &draft->weight_bytes));
    VBS_TRY(read_latency(reader, root, &draft->latency_us));
    if (includes_weights(draft))
        VBS_TRY(read_object(reader, root, "copy", read_copy));
    VBS_TRY(read_object(reader, root, "predicted", read_predicted));
    VBS_TRY(read_object(reader, root, "bound", read_bound));
    VBS_TRY(read_object(reader, root, "solver", read_solver));
    VBS_TRY(read_object(reader, root, "provenance", read_provenance));
    return read_integer(reader, root, "profile", false, 0, INT64_MAX,
                        &draft->provenance.profile_id);
}

/* Gives the index of an algorithm's name, which is added where it is new; -1: there are too
 * many. */
static int intern(struct schedule_reader *reader, const char *name)
{
    int n = reader->draft.n_algorithms;

    for (int i = 0; i < n; i++)
        if (strcmp(reader->algorithms[i], name) == 0)
            return i;
    if (n == VBS_MAX_ALGORITHMS)
        return -1;
    reader->algorithms[n] = name;
    reader->draft.n_algorithms++;
    return n;
}

/* Reads part and parts, of which a step has both or neither. A step on the whole layer is read as
 * one of 0 slices, whether the file says 1 of 1 or nothing. */
static enum vbs_status read_slice(struct schedule_reader *reader, const json_t *object,
                                  struct vbs_step *step)
{
    bool given = json_object_get(object, "part") || json_object_get(object, "parts");
    int64_t slice = 0, n_slices = 0;
    enum vbs_status status =
        read_integer(reader, object, "parts", given, 1, VBS_MAX_SLICES, &n_slices);

    if (status == VBS_OK)
        status = read_integer(reader, object, "part", given, 1, n_slices, &slice);
    if (status != VBS_OK || n_slices <= 1)
        return status;
    step->slice = (int)slice;
    step->n_slices = (int)n_slices;
    return VBS_OK;
}

static enum vbs_status read_compute(struct schedule_reader *reader, const json_t *object,
                                    struct vbs_step *step)
{
    const char *algorithm = NULL;
    int64_t batch = 0;

    VBS_TRY(read_integer(reader, object, "batch", true, 1, VBS_MAX_BATCH, &batch));
    VBS_TRY(read_string(reader, object, "algorithm", &algorithm));
    if (!algorithm)
        return wrong(reader, "algorithm", "is missing");
    step->batch = (int)batch;
    step->algorithm = intern(reader, algorithm);
    return step->algorithm < 0 ? wrong(reader, "steps", "names too many algorithms") : VBS_OK;
}

static enum vbs_status read_transfer(struct schedule_reader *reader, const json_t *object,
                                     struct vbs_step *step)
{
    const json_t *resident = json_object_get(object, "resident");
    int64_t format = 0;

    if (!includes_weights(&reader->draft))
        return wrong(reader, "op", "moves weights, but 'weights' is not \"included\"");
    VBS_TRY(read_integer(reader, object, "bytes", true, 1, VBS_MAX_BYTES, &step->bytes));
    VBS_TRY(read_integer(reader, object, "form", false, 0, VBS_MAX_FORMATS - 1, &format));
    if (resident && !json_is_boolean(resident))
        return wrong(reader, "resident", "is neither true nor false");
    if (json_is_true(resident) && step->op != VBS_STEP_LOAD)
        return wrong(reader, "resident", "is true of a step that is not a load");
    step->format = (uint8_t)format;
    step->resident = json_is_true(resident);
    return VBS_OK;
}

/* Gives the operation with this name, or -1. */
static int find_operation(const char *name)
{
    for (int op = VBS_STEP_COMPUTE; op <= VBS_STEP_EVICT; op++)
        if (strcmp(name, vbs_step_word((enum vbs_step_op)op)) == 0)
            return op;
    return -1;
}

/* Reads the rows of a step, if it has any. */
static enum vbs_status read_rows(struct schedule_reader *reader, const json_t *object,
                                 struct vbs_step *step)
{
    static const char *const NAMES[] = {"row", "rows", "window"};
    bool computes = step->op == VBS_STEP_COMPUTE;
    int64_t row = 0, rows = 0, window = 0;

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (!json_object_get(object, NAMES[i]))
            continue;
        if (!computes)
            return wrong(reader, NAMES[i], "is for steps that compute");
        if (step->n_slices > 1)
            return wrong(reader, NAMES[i], "is for steps that compute all channels");
        if (!json_object_get(object, "rows"))
            return wrong(reader, "rows", "is missing");
    }
    if (!computes || !json_object_get(object, "rows"))
        return VBS_OK;
    VBS_TRY(read_integer(reader, object, "row", true, 0, INT_MAX, &row));
    VBS_TRY(read_integer(reader, object, "rows", true, 1, INT_MAX, &rows));
    VBS_TRY(read_integer(reader, object, "window", true, 0, INT_MAX, &window));
    step->row = (int)row;
    step->rows = (int)rows;
    step->window = (int)window;
    return VBS_OK;
}

static enum vbs_status read_step(struct schedule_reader *reader, const json_t *object,
                                 struct vbs_step *step)
{
    const char *operation = "compute", *name;
    int64_t layer = 0;
    int op;

    if (!json_is_object(object))
        return wrong(reader, "steps", "has an element that is not an object");
    VBS_TRY(read_string(reader, object, "op", &operation));
    /* names are for people; the number identifies the layer */
    VBS_TRY(read_string(reader, object, "name", &name));
    op = find_operation(operation);
    if (op < 0)
        return wrong(reader, "op", "is neither \"compute\" nor \"load\" nor \"drop\"");
    VBS_TRY(read_integer(reader, object, "layer", true, 1, INT_MAX, &layer));
    *step = (struct vbs_step){.layer = (int)layer, .op = (uint8_t)op};
    VBS_TRY(read_slice(reader, object, step));
    VBS_TRY(read_rows(reader, object, step));
    return op == VBS_STEP_COMPUTE ? read_compute(reader, object, step)
                                  : read_transfer(reader, object, step);
}

static enum vbs_status read_steps(struct schedule_reader *reader, const json_t *root)
{
    const json_t *steps = json_object_get(root, "steps");
    size_t n = json_array_size(steps);

    if (!json_is_array(steps))
        return wrong(reader, "steps", steps ? "is not an array" : "is missing");
    if (n > VBS_MAX_STEPS)
        return wrong(reader, "steps", "has too many elements");
    reader->steps = malloc((n + 1) * sizeof *reader->steps);
    reader->algorithms = malloc(VBS_MAX_ALGORITHMS * sizeof *reader->algorithms);
    if (!reader->steps || !reader->algorithms)
        return vbs_no_memory(reader->ctx);
    for (size_t s = 0; s < n; s++) {
        reader->step = s + 1;
        VBS_TRY(read_step(reader, json_array_get(steps, s), &reader->steps[s]));
    }
    reader->draft.steps = reader->steps;
    reader->draft.n_steps = (int64_t)n;
    reader->draft.algorithms = reader->algorithms;
    return VBS_OK;
}

#define SHOWN_SIZE 128

/* Copies the end of a long path to buffer, so that the reason fits into the message, too. */
static const char *end_of(const char *source, char *buffer)
{
    size_t length = strlen(source);

    if (length < SHOWN_SIZE)
        return strcpy(buffer, source);
    snprintf(buffer, SHOWN_SIZE, "...%s", source + length - (SHOWN_SIZE - 4));
    return buffer;
}

enum vbs_status vbs_schedule_parse_json(struct vbs_ctx *ctx, const char *source, const char *text,
                                        size_t length, struct vbs_schedule **schedule)
{
    char shown[SHOWN_SIZE];
    struct schedule_reader reader = {.ctx = ctx, .source = end_of(source, shown)};
    json_error_t error;
    json_t *root;
    enum vbs_status status;

    /* Editors may begin a text with a byte order mark. */
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        length -= 3;
    }
    root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!root && error.text[0] == '\0') /* jansson reports it in this way */
        return vbs_no_memory(ctx);
    if (!root)
        return vbs_fail(ctx, VBS_FORMAT, "%s:%d: %s", shown, error.line, error.text);
    status = json_is_object(root) ? read_words(&reader, root)
                                  : vbs_fail(ctx, VBS_FORMAT, "%s: not a JSON object", shown);
    if (status != VBS_OK)
        goto done;
    status = read_numbers(&reader, root);
    if (status != VBS_OK)
        goto done;
    status = read_steps(&reader, root);
    if (status != VBS_OK)
        goto done;
    status = vbs_schedule_copy(ctx, &reader.draft, schedule);
done:
    free(reader.steps);
    free(reader.algorithms);
    json_decref(root);
    return status;
}

enum vbs_status vbs_schedule_read_json(struct vbs_ctx *ctx, const char *path,
                                       struct vbs_schedule **schedule)
{
    const char *source = strcmp(path, "-") == 0 ? "standard input" : path;
    char *text;
    size_t length;
    enum vbs_status status;

    VBS_TRY(vbs_read_file(ctx, path, MAX_FILE_BYTES, &text, &length));
    status = vbs_schedule_parse_json(ctx, source, text, length, schedule);
    free(text);
    return status;
}
