/*
 * Replays and runs as Chrome trace events, which Perfetto and chrome://tracing open. A replay is a
 * process with a thread for each clock, a run another one beside it; the memory over time is a
 * counter. Times are whole nanoseconds: rounding keeps the order of times, so that steps which do
 * not overlap do not overlap in the file either. The file is written piece by piece.
 */
#include "vbslab/report.h"

#include "base/fail.h"
#include "base/json.h"
#include "base/new_file.h"
#include "report/common/common.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define LONGEST_US  9e15              /* whose nanoseconds are whole numbers of 64 bits */
#define PIECE_BYTES ((size_t)1 << 20) /* that are gathered before they are written */

enum trace_process { PLANNED = 1, EXECUTED = 2 };
enum thread { COMPUTE = 1, WEIGHTS = 2 };

/* The file that is being written, and the subject of all events. */
struct trace {
    struct vbs_ctx *ctx;
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    const struct vbs_replay *replay;
    const struct vbs_exec_report *executed; /* null: there is no run */
    struct vbs_text text;                   /* not written yet */
    struct vbs_new_file file;
    bool in_pieces; /* file is open; else all of the text is written in the end */
    int64_t written_bytes;
    bool any; /* there is an event, and the next one needs a comma before it */
};

/* The times of a step. */
struct trace_span {
    int64_t start_ns, end_ns;
};

/* The memory from a time on. */
struct trace_level {
    int64_t from_ns, weight_bytes, tensor_bytes, ws_bytes;
};

/* Appends a text as a string of JSON. */
static void add_string(struct vbs_text *text, const char *string)
{
    struct vbs_text clean = {0};
    json_t *value = NULL;

    vbs_form_add_utf8(&clean, string);
    if (!clean.failed)
        value = json_string(clean.data ? clean.data : "");
    vbs_text_add_json(text, value, JSON_ENCODE_ANY);
    json_decref(value);
    vbs_text_clear(&clean);
}

static void add_pair(struct vbs_text *text, const char *key, const char *string)
{
    vbs_text_addf(text, ",\"%s\":", key);
    add_string(text, string);
}

/* Appends a member whose value is a time in microseconds. */
static void add_time(struct vbs_text *text, const char *key, int64_t ns)
{
    vbs_text_addf(text, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

/* Begins an event with its kind, process and thread. */
static void begin_event(struct trace *trace, char kind, enum trace_process process,
                        enum thread thread)
{
    vbs_text_addf(&trace->text, "%s{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d", trace->any ? ",\n" : "\n",
                  kind, (int)process, (int)thread);
    trace->any = true;
}

/* ---- Processes and threads ---- */

static void name_thread(struct trace *trace, enum trace_process process, enum thread thread,
                        const char *name)
{
    begin_event(trace, 'M', process, thread);
    vbs_text_addf(&trace->text, ",\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}}", name);
    begin_event(trace, 'M', process, thread);
    vbs_text_addf(&trace->text, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%d}}",
                  (int)thread);
}

static bool has_weights(const struct trace *trace)
{
    return trace->schedule->weights == VBS_WEIGHTS_INCLUDED;
}

static void name_process(struct trace *trace, enum trace_process process)
{
    begin_event(trace, 'M', process, COMPUTE);
    vbs_text_addf(&trace->text, ",\"name\":\"process_name\",\"args\":{\"name\":\"%s\"}}",
                  process == PLANNED ? "planned" : "executed");
    begin_event(trace, 'M', process, COMPUTE);
    vbs_text_addf(&trace->text, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%d}}",
                  (int)process);
    name_thread(trace, process, COMPUTE, "compute");
    if (has_weights(trace))
        name_thread(trace, process, WEIGHTS, "weights");
}

/* ---- Steps ---- */

static int64_t nanoseconds(double us)
{
    return llround(1e3 * us);
}

static struct trace_span planned_span(const struct trace *trace, int64_t index)
{
    const struct vbs_replay_step *step = &trace->replay->steps[index];

    return (struct trace_span){nanoseconds(step->start_us), nanoseconds(step->end_us)};
}

static struct trace_span span_of(const struct trace *trace, enum trace_process process,
                                 int64_t index)
{
    const struct vbs_exec_step *ran;

    if (process == PLANNED)
        return planned_span(trace, index);
    ran = &trace->executed->steps[index];
    return (struct trace_span){nanoseconds(ran->start_us), nanoseconds(ran->end_us)};
}

static void add_samples(struct vbs_text *text, const struct vbs_step *step,
                        const struct vbs_replay_step *at)
{
    int64_t first = at->done_before + 1, last = at->done_before + step->batch;

    vbs_text_addf(text, ",\"batch\":%d,\"samples\":\"%" PRId64, step->batch, first);
    if (last > first)
        vbs_text_addf(text, "-%" PRId64, last);
    vbs_text_add(text, "\"");
}

/* Appends the arguments of a step, which people see when they select it. */
static void add_arguments(struct trace *trace, enum trace_process process, int64_t index)
{
    const struct vbs_step *step = &trace->schedule->steps[index];
    const struct vbs_replay_step *at = &trace->replay->steps[index];
    struct vbs_text *text = &trace->text;

    vbs_text_addf(text, ",\"args\":{\"step\":%" PRId64 ",\"layer\":%d", index + 1, step->layer);
    add_pair(text, "name", trace->profile->layers[step->layer].name);
    if (step->op == VBS_STEP_COMPUTE) {
        add_samples(text, step, at);
        add_pair(text, "algorithm", trace->schedule->algorithms[step->algorithm]);
    } else {
        vbs_text_addf(text, ",\"bytes\":%" PRId64, step->bytes);
        if (step->resident)
            vbs_text_add(text, ",\"resident\":true");
    }
    if (step->n_slices > 1)
        vbs_text_addf(text, ",\"slice\":%d,\"slices\":%d", step->slice, step->n_slices);
    vbs_text_addf(text, ",\"chunk\":%" PRId64 ",\"memory_bytes\":%" PRId64, at->chunk,
                  at->memory_bytes);
    if (at->memory_bytes > trace->replay->memory_bytes)
        vbs_text_add(text, ",\"over_budget\":true");
    if (process == EXECUTED) {
        struct trace_span planned = planned_span(trace, index);

        add_time(text, "planned_us", planned.end_ns - planned.start_ns);
    }
    vbs_text_add(text, "}}");
}

/* Appends the name of a step: that of its layer, or "#" and its number, with its batch. */
static void add_name(struct trace *trace, const struct vbs_step *step)
{
    const char *name = trace->profile->layers[step->layer].name;
    struct vbs_text text = {0};

    if (step->op != VBS_STEP_COMPUTE)
        vbs_text_addf(&text, "%s ", step->op == VBS_STEP_LOAD ? "load" : "evict");
    if (name[0])
        vbs_text_add(&text, name);
    else
        vbs_text_addf(&text, "#%d", step->layer);
    if (step->op == VBS_STEP_COMPUTE)
        vbs_text_addf(&text, " x%d", step->batch);
    trace->text.failed = trace->text.failed || text.failed;
    add_pair(&trace->text, "name", text.data ? text.data : "");
    vbs_text_clear(&text);
}

/* Appends a step: a complete event, or, where it takes effect at once, an instant one. */
static void add_step(struct trace *trace, enum trace_process process, int64_t index)
{
    const struct vbs_step *step = &trace->schedule->steps[index];
    bool computes = step->op == VBS_STEP_COMPUTE;
    bool at_once = step->op == VBS_STEP_EVICT || (step->op == VBS_STEP_LOAD && step->resident);
    struct trace_span span = span_of(trace, process, index);

    begin_event(trace, at_once ? 'i' : 'X', process, computes ? COMPUTE : WEIGHTS);
    add_time(&trace->text, "ts", span.start_ns);
    if (at_once)
        vbs_text_add(&trace->text, ",\"s\":\"t\"");
    else
        add_time(&trace->text, "dur", span.end_ns - span.start_ns);
    add_name(trace, step);
    vbs_text_addf(&trace->text, ",\"cat\":\"%s\"",
                  computes                    ? "compute"
                  : step->op == VBS_STEP_LOAD ? "load"
                                              : "evict");
    add_arguments(trace, process, index);
}

/* ---- Memory ---- */

/* Appends the memory from a time on. Viewers put the parts of a counter on top of each other. */
static void add_memory(struct trace *trace, enum trace_process process,
                       const struct trace_level *level)
{
    begin_event(trace, 'C', process, COMPUTE);
    add_time(&trace->text, "ts", level->from_ns);
    vbs_text_add(&trace->text, ",\"name\":\"memory (bytes)\",\"args\":{");
    if (has_weights(trace))
        vbs_text_addf(&trace->text, "\"weights\":%" PRId64 ",", level->weight_bytes);
    vbs_text_addf(&trace->text, "\"tensors\":%" PRId64 ",\"workspace\":%" PRId64 "}}",
                  level->tensor_bytes, level->ws_bytes);
}

static void add_budget(struct trace *trace, enum trace_process process, int64_t at_ns)
{
    begin_event(trace, 'C', process, COMPUTE);
    add_time(&trace->text, "ts", at_ns);
    vbs_text_addf(&trace->text, ",\"name\":\"budget (bytes)\",\"args\":{\"budget\":%" PRId64 "}}",
                  trace->replay->memory_bytes);
}

static bool is_same_memory(const struct trace_level *a, const struct trace_level *b)
{
    return a->weight_bytes == b->weight_bytes && a->tensor_bytes == b->tensor_bytes &&
           a->ws_bytes == b->ws_bytes;
}

/* The counter of memory of a process: the level that was appended last, and the one that is known
 * to begin at its time, unless another one begins at the same time. */
struct trace_memory {
    enum trace_process process;
    bool any;
    struct trace_level shown, next, rest; /* rest: between compute steps */
};

static void end_level(struct trace *trace, struct trace_memory *memory)
{
    if (memory->any && is_same_memory(&memory->shown, &memory->next))
        return;
    add_memory(trace, memory->process, &memory->next);
    memory->shown = memory->next;
    memory->any = true;
}

static void set_level(struct trace *trace, struct trace_memory *memory,
                      const struct trace_level *level)
{
    if (level->from_ns > memory->next.from_ns)
        end_level(trace, memory);
    memory->next = *level;
}

/* Memory changes in the order of the list, as in the replay: a load's bytes count from the end of
 * the compute step before it, even if the copy has to wait longer. */
static void follow(struct trace *trace, struct trace_memory *memory, int64_t index)
{
    const struct vbs_replay_step *at = &trace->replay->steps[index];
    struct trace_span span = span_of(trace, memory->process, index);

    memory->rest.weight_bytes = at->weight_bytes;
    memory->rest.tensor_bytes = at->after_bytes;
    if (trace->schedule->steps[index].op == VBS_STEP_COMPUTE) {
        memory->rest.from_ns = span.end_ns;
        set_level(trace, memory,
                  &(struct trace_level){.from_ns = span.start_ns,
                                        .weight_bytes = at->weight_bytes,
                                        .tensor_bytes = at->live_bytes + at->added_bytes,
                                        .ws_bytes = at->ws_bytes});
    }
    set_level(trace, memory, &memory->rest);
}

/* ---- The file ---- */

/* Writes the text that was gathered; with everything, also a last piece that is small. */
static enum vbs_status write_piece(struct trace *trace, bool everything)
{
    enum vbs_status status;

    if (trace->text.failed)
        return vbs_no_memory(trace->ctx);
    VBS_TRY(vbs_check_cancel(trace->ctx));
    if (!trace->in_pieces || (!everything && trace->text.length < PIECE_BYTES))
        return VBS_OK;
    status = vbs_new_file_write(trace->ctx, &trace->file, trace->written_bytes, trace->text.data,
                                (int64_t)trace->text.length);
    trace->written_bytes += (int64_t)trace->text.length;
    vbs_text_clear(&trace->text);
    return status;
}

static enum vbs_status write_process(struct trace *trace, enum trace_process process)
{
    struct trace_memory memory = {.process = process};
    double time_us = process == PLANNED ? trace->replay->time_us : trace->executed->time_us;

    name_process(trace, process);
    add_budget(trace, process, 0);
    for (int64_t i = 0; i < trace->replay->n_steps; i++) {
        add_step(trace, process, i);
        follow(trace, &memory, i);
        VBS_TRY(write_piece(trace, false));
    }
    end_level(trace, &memory);
    add_budget(trace, process, nanoseconds(time_us));
    return VBS_OK;
}

static void add_number(struct vbs_text *text, const char *key, double value)
{
    vbs_text_addf(text, ",\"%s\":", key);
    vbs_text_add_double(text, value);
}

/* Appends what the trace is of. */
static void add_subject(struct trace *trace)
{
    const struct vbs_schedule *schedule = trace->schedule;
    const struct vbs_provenance *from = &trace->profile->provenance;
    struct vbs_text *text = &trace->text;
    char hash[VBS_PROFILE_HASH_SIZE];

    vbs_profile_hash(trace->profile, hash);
    vbs_text_add(text, "\"otherData\":{\"format\":\"vbslab-trace-1\"");
    add_pair(text, "vbslab", vbs_version());
    add_pair(text, "model", schedule->model);
    add_pair(text, "planner", schedule->planner);
    vbs_text_addf(text, ",\"request\":%" PRId64, schedule->request);
    add_pair(text, "io", vbs_io_word(schedule->io));
    add_pair(text, "weights", vbs_weights_word(schedule->weights));
    vbs_text_addf(text, ",\"memory_bytes\":%" PRId64 ",\"peak_bytes\":%" PRId64,
                  trace->replay->memory_bytes, trace->replay->peak_bytes);
    add_number(text, "planned_us", trace->replay->time_us);
    if (trace->executed)
        add_number(text, "executed_us", trace->executed->time_us);
    vbs_text_addf(text, ",\"profile\":%" PRId64, trace->replay->profile_id);
    add_pair(text, "hash", hash);
    add_pair(text, "backend", from->backend);
    add_pair(text, "device", from->device);
    vbs_text_add(text, "},\n");
}

static enum vbs_status write_all(struct trace *trace)
{
    vbs_text_add(&trace->text, "{\"displayTimeUnit\":\"ms\",\n");
    add_subject(trace);
    vbs_text_add(&trace->text, "\"traceEvents\":[");
    VBS_TRY(write_process(trace, PLANNED));
    if (trace->executed)
        VBS_TRY(write_process(trace, EXECUTED));
    vbs_text_add(&trace->text, "\n]}\n");
    return write_piece(trace, true);
}

/* Gives whether a file that is there or not can be replaced by a new one; a pipe, say, cannot. */
static bool is_replaceable(const char *path)
{
    struct stat about;

    return strcmp(path, "-") != 0 && (stat(path, &about) != 0 || S_ISREG(about.st_mode));
}

static enum vbs_status write_trace(struct trace *trace, const char *path)
{
    enum vbs_status status = VBS_OK;

    trace->in_pieces = is_replaceable(path);
    if (trace->in_pieces)
        status = vbs_new_file_open(trace->ctx, path, &trace->file);
    if (status != VBS_OK)
        return status;
    status = write_all(trace);
    if (status == VBS_OK)
        status = trace->in_pieces
                     ? vbs_new_file_commit(trace->ctx, &trace->file)
                     : vbs_write_file(trace->ctx, path, trace->text.data, trace->text.length);
    if (trace->in_pieces)
        vbs_new_file_abandon(&trace->file);
    vbs_text_clear(&trace->text);
    return status;
}

static bool fits_nanoseconds(double us)
{
    return us >= 0 && us <= LONGEST_US;
}

static enum vbs_status check(struct vbs_ctx *ctx, const struct vbs_replay *replay,
                             const struct vbs_exec_report *executed)
{
    bool fits = fits_nanoseconds(replay->time_us);

    if (!replay->steps || (executed && !executed->steps))
        return vbs_fail(ctx, VBS_USAGE, "%s must have been made with a trace",
                        executed ? "replay and run" : "the replay");
    if (executed && replay->n_steps != executed->n_steps)
        return vbs_fail(ctx, VBS_INVALID, "the run has %" PRId64 " steps, the replay %" PRId64,
                        executed->n_steps, replay->n_steps);
    for (int64_t i = 0; executed && fits && i < executed->n_steps; i++)
        fits = fits_nanoseconds(executed->steps[i].start_us) &&
               fits_nanoseconds(executed->steps[i].end_us);
    if (!fits || (executed && !fits_nanoseconds(executed->time_us)))
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "trace events have times from 0 to %g us, and the schedule takes longer",
                        LONGEST_US);
    return VBS_OK;
}

enum vbs_status vbs_replay_write_events(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                        const struct vbs_schedule *schedule,
                                        const struct vbs_replay *replay, const char *path)
{
    struct trace trace = {.ctx = ctx, .profile = profile, .schedule = schedule, .replay = replay};

    VBS_TRY(check(ctx, replay, NULL));
    return write_trace(&trace, path);
}

enum vbs_status vbs_executed_write_events(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                          const struct vbs_schedule *schedule,
                                          const struct vbs_replay *replay,
                                          const struct vbs_exec_report *executed, const char *path)
{
    struct trace trace = {.ctx = ctx,
                          .profile = profile,
                          .schedule = schedule,
                          .replay = replay,
                          .executed = executed};

    VBS_TRY(check(ctx, replay, executed));
    return write_trace(&trace, path);
}
