/* Running a program once. */
#include "base/ctx.h"
#include "exec/finite.h"
#include "exec/internal.h"

#include "base/clock.h"
#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The state of a run. */
struct running {
    struct vbs_ctx *ctx;
    struct vbs_exec *exec;
    const float *input;
    float *const *outputs;
    double start_s, last_s; /* start of the run; when the clock was read last */
    double taken_us[VBS_N_OP_KINDS];
};

/* Counts the time since the clock was read last for an op of this kind. */
static void stop_watch(struct running *r, enum vbs_exec_op_kind kind)
{
    double now_s = vbs_clock_s();

    r->taken_us[kind] += (now_s - r->last_s) * 1e6;
    r->last_s = now_s;
}

static enum vbs_status run_kernel(struct running *r, const struct vbs_exec_op *op)
{
    const struct vbs_operands operands = {.src = op->compute.sources,
                                          .dst = op->compute.to,
                                          .ws = op->compute.ws,
                                          .weights = op->compute.weights};
    struct vbs_session *session = r->exec->session;

    if (session->ops->device && !r->exec->trace)
        return session->ops->device->enqueue(r->ctx, session, op->compute.kernel, &operands);
    VBS_TRY(session->ops->run(r->ctx, session, op->compute.kernel, &operands, NULL));
    return r->exec->check_finite
               ? vbs_exec_finite_look(r->ctx, session, op->compute.kernel, op->compute.to)
               : VBS_OK;
}

/* Waits for what was put on a device's stream, where the times of ops are taken. */
static enum vbs_status end_op(struct running *r)
{
    struct vbs_session *session = r->exec->session;

    return r->exec->trace ? session->ops->device->finish(r->ctx, session) : VBS_OK;
}

static enum vbs_status write_input(struct running *r, const struct vbs_exec_op *op)
{
    struct vbs_session *session = r->exec->session;
    const struct vbs_device_ops *device = session->ops->device;
    int64_t first = op->input.first * r->exec->input_values;

    if (op->input.rows > 0)
        return session->ops->write_rows(r->ctx, session, 0, op->input.row, op->input.rows,
                                        r->input + first, op->input.to);
    if (!device)
        return session->ops->write(r->ctx, session, 0, op->input.n, r->input + first, op->input.to);
    VBS_TRY(device->enqueue_write(r->ctx, session, 0, op->input.n, r->exec->staged_input + first,
                                  op->input.to));
    return end_op(r);
}

static enum vbs_status read_output(struct running *r, const struct vbs_exec_op *op)
{
    struct vbs_session *session = r->exec->session;
    const struct vbs_device_ops *device = session->ops->device;
    int i = op->output.output, layer = r->exec->program.output_layers[i];
    int64_t first = op->output.first * r->exec->output_values[i];

    if (device) {
        VBS_TRY(device->enqueue_read(r->ctx, session, layer, op->output.n, op->output.from,
                                     r->exec->staged_outputs[i] + first));
        return end_op(r);
    }
    if (!r->outputs || !r->outputs[i])
        return VBS_OK;
    if (op->output.rows > 0)
        return session->ops->read_rows(r->ctx, session, layer, op->output.row, op->output.rows,
                                       op->output.from, r->outputs[i] + first);
    return session->ops->read(r->ctx, session, layer, op->output.n, op->output.from,
                              r->outputs[i] + first);
}

static enum vbs_status move_buffer(struct running *r, const struct vbs_exec_op *op)
{
    struct vbs_session *session = r->exec->session;
    const struct vbs_device_ops *device = session->ops->device;

    if (!device) {
        memmove(op->copy.to, op->copy.from, (size_t)op->copy.bytes);
        return VBS_OK;
    }
    VBS_TRY(device->move(r->ctx, session, op->copy.to, op->copy.from, op->copy.bytes));
    return end_op(r);
}

/* Gives whether the time of an op of this kind is told apart from that of computing. */
static bool is_apart(enum vbs_exec_op_kind kind)
{
    return kind != VBS_DO_COMPUTE && kind != VBS_DO_RELOCATE && kind != VBS_DO_COPY_IN_PLACE;
}

/* Runs an op. Without a trace the clock is not read around ops that compute, because reading it
 * takes longer than all else that the executor does for them. */
static enum vbs_status run_op(struct running *r, const struct vbs_exec_op *op)
{
    bool apart = is_apart((enum vbs_exec_op_kind)op->kind);
    enum vbs_status status = VBS_OK;

    if (apart && !r->exec->trace)
        stop_watch(r, VBS_DO_COMPUTE);
    switch ((enum vbs_exec_op_kind)op->kind) {
    case VBS_DO_WAIT_TO_EVICT:
    case VBS_DO_WAIT_TO_RELOCATE:
    case VBS_DO_WAIT_TO_COMPUTE:
        status = vbs_exec_stream_wait(r->ctx, r->exec->stream, op->wait.n_loads);
        break;
    case VBS_DO_RELOCATE: /* source and destination may overlap */
    case VBS_DO_COPY_IN_PLACE:
    case VBS_DO_RESTORE:
    case VBS_DO_SAVE:
        status = move_buffer(r, op);
        break;
    case VBS_DO_READ_INPUT:
        status = write_input(r, op);
        break;
    case VBS_DO_COMPUTE:
        status = run_kernel(r, op);
        break;
    case VBS_DO_WRITE_OUTPUT:
        status = read_output(r, op);
        break;
    case VBS_N_OP_KINDS:
        break;
    }
    if (apart || r->exec->trace)
        stop_watch(r, (enum vbs_exec_op_kind)op->kind);
    return status;
}

/* ---- steps ---- */

static enum vbs_status reach(struct running *r, int64_t slot, bool has_moved)
{
    struct vbs_exec_checker *checker = r->exec->checker;

    return checker ? vbs_exec_checker_reach(r->ctx, checker, slot, has_moved) : VBS_OK;
}

/* Runs ops from..to - 1, which belong to no step. */
static enum vbs_status run_others(struct running *r, int from, int to)
{
    for (int i = from; i < to; i++)
        VBS_TRY(run_op(r, &r->exec->program.ops[i]));
    return VBS_OK;
}

/* Runs the ops from *at on that relocate groups. The memory that they leave becomes free when all
 * have moved. */
static enum vbs_status run_moves(struct running *r, int *at, int end)
{
    const struct vbs_exec_op *ops = r->exec->program.ops;
    int first = *at;
    enum vbs_status status = VBS_OK;

    for (; *at < end && status == VBS_OK &&
           (ops[*at].kind == VBS_DO_RELOCATE || ops[*at].kind == VBS_DO_WAIT_TO_RELOCATE);
         ++*at)
        status = run_op(r, &ops[*at]);
    for (int i = first; i < *at && r->exec->checker; i++) {
        if (ops[i].kind != VBS_DO_RELOCATE)
            continue;
        vbs_exec_checker_moved(r->exec->checker, ops[i].copy.from, ops[i].copy.bytes);
        vbs_exec_checker_moved(r->exec->checker, ops[i].copy.to, ops[i].copy.bytes);
    }
    return status;
}

/* Runs the ops of one kind from *at on. */
static enum vbs_status run_kind(struct running *r, enum vbs_exec_op_kind kind, int *at, int end)
{
    enum vbs_status status = VBS_OK;

    for (; *at < end && status == VBS_OK && r->exec->program.ops[*at].kind == kind; ++*at)
        status = run_op(r, &r->exec->program.ops[*at]);
    return status;
}

/* Runs the ops that come before the time of the step itself: evicts, relocations, and the wait for
 * its weights. */
static enum vbs_status prepare_step(struct running *r, int64_t s, int *at, int end)
{
    int first;

    VBS_TRY(run_kind(r, VBS_DO_WAIT_TO_EVICT, at, end));
    VBS_TRY(reach(r, 2 * s, false));
    first = *at;
    VBS_TRY(run_moves(r, at, end));
    VBS_TRY(reach(r, 2 * s, true));
    if (r->exec->stream && (*at > first || r->exec->checker))
        VBS_TRY(vbs_exec_stream_pass(r->ctx, r->exec->stream, 2 * s + 1));
    return run_kind(r, VBS_DO_WAIT_TO_COMPUTE, at, end);
}

static enum vbs_status run_step(struct running *r, int64_t s)
{
    const struct vbs_exec_program *program = &r->exec->program;
    struct vbs_exec_step *trace = r->exec->trace;
    int at = program->begin[s + 1], end = program->begin[s + 2];
    enum vbs_status status = prepare_step(r, s, &at, end);
    double start_s = r->last_s;

    if (status == VBS_OK)
        status = reach(r, 2 * s + 1, true);
    for (; at < end && status == VBS_OK; at++)
        status = run_op(r, &program->ops[at]);
    if (trace && r->exec->is_load && !r->exec->is_load[s])
        trace[s] =
            (struct vbs_exec_step){(start_s - r->start_s) * 1e6, (r->last_s - r->start_s) * 1e6};
    if (status == VBS_OK && r->exec->checker)
        status = vbs_exec_checker_look(r->ctx, r->exec->checker, s);
    return status;
}

static enum vbs_status run_steps(struct running *r)
{
    struct vbs_exec *exec = r->exec;
    enum vbs_status status = VBS_OK;

    for (int64_t s = 0; s < exec->n_steps; s++) {
        if (vbs_cancelled(r->ctx))
            return vbs_fail(r->ctx, VBS_INTERRUPTED, "interrupted");
        status = run_step(r, s);
        if (status != VBS_OK)
            return status;
        if (exec->stream) {
            status = vbs_exec_stream_pass(r->ctx, exec->stream, 2 * s + 2);
            if (status != VBS_OK)
                return status;
        }
    }
    if (exec->stream) {
        stop_watch(r, VBS_DO_COMPUTE);
        status = vbs_exec_stream_wait(r->ctx, exec->stream, exec->program.n_loads);
        stop_watch(r, VBS_DO_WAIT_TO_COMPUTE);
    }
    if (status == VBS_OK)
        status = run_others(r, exec->program.begin[exec->n_steps + 1],
                            exec->program.begin[exec->n_steps + 2]);
    return status;
}

/* ---- graphs of a device ---- */

/* Has the device capture the steps as a graph, so that the host can start all of them by one call.
 * Each call on a kernel takes the host a few microseconds, often more than the device takes for the
 * kernel. The first run is not captured, because libraries may still prepare themselves in
 * it. */
static enum vbs_status capture(struct running *r)
{
    struct vbs_exec *exec = r->exec;
    const struct vbs_device_ops *device = exec->session->ops->device;
    struct vbs_ctx ctx = *r->ctx;
    struct running captured = *r;
    enum vbs_status status;

    if (exec->tried_capture || !exec->has_run || exec->trace ||
        (exec->stream && !vbs_exec_stream_is_alone(exec->stream)))
        return VBS_OK;
    captured.ctx = &ctx;
    exec->tried_capture = true;
    if (!device->begin_capture(exec->session))
        return VBS_OK;
    status = exec->stream ? vbs_exec_stream_begin(&ctx, exec->stream, 0, NULL) : VBS_OK;
    if (status == VBS_OK)
        status = run_steps(&captured);
    exec->captured = device->end_capture(exec->session) && status == VBS_OK;
    return status == VBS_INTERRUPTED ? vbs_fail(r->ctx, status, "interrupted") : VBS_OK;
}

static enum vbs_status run_captured(struct running *r)
{
    struct vbs_session *session = r->exec->session;

    if (vbs_cancelled(r->ctx))
        return vbs_fail(r->ctx, VBS_INTERRUPTED, "interrupted");
    return session->ops->device->launch(r->ctx, session);
}

/* Waits before for the device, which may still read the input of a run that failed. */
static enum vbs_status stage_input(const struct running *r)
{
    struct vbs_exec *exec = r->exec;
    int64_t n = exec->request * exec->input_values;

    VBS_TRY(exec->session->ops->device->finish(r->ctx, exec->session));
    memcpy(exec->staged_input, r->input, (size_t)n * sizeof(float));
    return VBS_OK;
}

/* Takes the outputs over, once the device has copied all of them. */
static enum vbs_status take_outputs(const struct running *r)
{
    struct vbs_exec *exec = r->exec;

    VBS_TRY(exec->session->ops->device->finish(r->ctx, exec->session));
    for (int i = 0; r->outputs && i < exec->program.n_outputs; i++)
        if (r->outputs[i])
            memcpy(r->outputs[i], exec->staged_outputs[i],
                   (size_t)(exec->request * exec->output_values[i]) * sizeof(float));
    return VBS_OK;
}

/* ---- the whole ---- */

enum vbs_status vbs_exec_load_residents(struct vbs_ctx *ctx, struct vbs_exec *exec)
{
    for (int i = 0; i < exec->program.n_residents; i++) {
        const struct vbs_exec_load *load = &exec->program.residents[i];
        int reason;

        if (vbs_cancelled(ctx))
            return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
        reason = vbs_exec_loader_read(&exec->loader, VBS_READER_COMPUTES, load->to, load->bytes,
                                      load->offset);
        if (reason == 0)
            reason = vbs_exec_loader_finish(&exec->loader, VBS_READER_COMPUTES);
        if (reason)
            return vbs_exec_loader_refuse(ctx, &exec->loader, reason);
    }
    exec->has_residents = true;
    return VBS_OK;
}

static enum vbs_status begin_run(struct running *r)
{
    struct vbs_exec *exec = r->exec;

    if (!exec->has_residents)
        VBS_TRY(vbs_exec_load_residents(r->ctx, exec));
    exec->has_residents = false; /* until the run has succeeded */
    if (exec->trace)
        memset(exec->trace, 0, (size_t)exec->n_steps * sizeof *exec->trace);
    if (exec->checker)
        vbs_exec_checker_start(exec->checker);
    return reach(r, 0, true);
}

/* Runs the steps. The clock runs from the start of the first step to the end of the last. */
static enum vbs_status run_timed(struct running *r)
{
    struct vbs_exec *exec = r->exec;
    enum vbs_status status = VBS_OK;

    if (exec->arena.session) {
        VBS_TRY(capture(r));
        VBS_TRY(exec->session->ops->device->finish(r->ctx, exec->session));
    }
    r->start_s = r->last_s = vbs_clock_s();
    memset(r->taken_us, 0, sizeof r->taken_us);
    if (exec->captured)
        status = run_captured(r);
    else if (exec->stream)
        status = vbs_exec_stream_begin(r->ctx, exec->stream, r->start_s, exec->trace);
    if (status == VBS_OK && !exec->captured)
        status = run_steps(r);
    stop_watch(r, VBS_DO_COMPUTE);
    if (exec->arena.session) {
        struct vbs_ctx rest = {0};
        enum vbs_status ended =
            exec->session->ops->device->finish(status == VBS_OK ? r->ctx : &rest, exec->session);

        status = status == VBS_OK ? ended : status;
        r->last_s = vbs_clock_s();
        if (exec->stream) {
            ended = vbs_exec_stream_check(status == VBS_OK ? r->ctx : &rest, exec->stream);
            status = status == VBS_OK ? ended : status;
        }
    }
    if (exec->stream && !exec->captured)
        vbs_exec_stream_stop(exec->stream);
    return status;
}

static void fill_report(const struct running *r, double io_us, struct vbs_exec_report *report)
{
    const struct vbs_exec *exec = r->exec;
    const double *us = r->taken_us;

    report->time_us = (r->last_s - r->start_s) * 1e6;
    report->compute_us = us[VBS_DO_RELOCATE] + us[VBS_DO_COPY_IN_PLACE] + us[VBS_DO_COMPUTE];
    report->waited_us =
        us[VBS_DO_WAIT_TO_COMPUTE] + us[VBS_DO_WAIT_TO_EVICT] + us[VBS_DO_WAIT_TO_RELOCATE];
    report->io_us = io_us + us[VBS_DO_READ_INPUT] + us[VBS_DO_WRITE_OUTPUT] + us[VBS_DO_RESTORE] +
                    us[VBS_DO_SAVE];
    if (exec->arena.session && !exec->trace) /* the host only enqueues the work of the device, so
                                                that its clock tells nothing */
        report->compute_us = report->waited_us = report->io_us = NAN;
    report->n_steps = exec->n_steps;
    report->steps = exec->trace;
    if (exec->stream) {
        const struct vbs_exec_streamed streamed = vbs_exec_stream_streamed(exec->stream);

        report->copy_us = exec->arena.session && !exec->trace ? NAN : streamed.copy_us;
        report->copied_bytes = streamed.bytes;
    }
}

/* Makes values of the input where the caller gives none. */
static enum vbs_status seed_input(struct running *r)
{
    struct vbs_exec *exec = r->exec;
    int64_t n = exec->request * exec->input_values;

    if (!exec->seeded_input) {
        exec->seeded_input = malloc((size_t)n * sizeof *exec->seeded_input);
        if (!exec->seeded_input)
            return vbs_no_memory(r->ctx);
        vbs_network_input_values(exec->network, 0, n, exec->seeded_input);
    }
    r->input = exec->seeded_input;
    return VBS_OK;
}

/* What the system tells of the process's memory. */
struct usage {
    int64_t base_bytes, heap_bytes, file_bytes;
    bool tells_peak;
};

/* Gives the memory of the process; on a device, the memory that all processes use there now. */
static int64_t used_bytes(const struct vbs_exec *exec, enum vbs_exec_resident which)
{
    struct vbs_session *session = exec->arena.session;

    return session ? session->ops->device->used(session) : vbs_exec_resident_bytes(which);
}

/* Asks for the memory before a run. */
static struct usage begin_usage(const struct vbs_exec *exec)
{
    struct usage usage = {.heap_bytes = vbs_exec_heap_bytes(),
                          .file_bytes = vbs_exec_resident_bytes(VBS_EXEC_FILES)};
    int64_t repeated;

    usage.tells_peak = exec->arena.session || vbs_exec_reset_peak();
    usage.base_bytes = used_bytes(exec, VBS_EXEC_NOW);
    repeated = vbs_exec_arena_repeated(&exec->arena);
    usage.tells_peak &= usage.base_bytes >= 0 && repeated >= 0;
    if (usage.tells_peak || !exec->arena.session)
        usage.base_bytes -= vbs_exec_arena_touched(&exec->arena) + (repeated > 0 ? repeated : 0);
    return usage;
}

/* Asks for the memory after the run. */
static void end_usage(const struct vbs_exec *exec, const struct usage *usage,
                      struct vbs_exec_report *report)
{
    int64_t file_bytes, repeated = vbs_exec_arena_repeated(&exec->arena);

    report->base_bytes = usage->base_bytes;
    report->touched_bytes = vbs_exec_arena_touched(&exec->arena);
    report->high_water_bytes = usage->tells_peak && repeated >= 0
                                   ? used_bytes(exec, VBS_EXEC_PEAK) - usage->base_bytes - repeated
                                   : -1;
    report->heap_bytes = vbs_exec_heap_bytes() - usage->heap_bytes;
    file_bytes = vbs_exec_resident_bytes(VBS_EXEC_FILES) - usage->file_bytes;
    report->file_bytes = file_bytes > 0 && !exec->arena.session ? file_bytes : 0;
}

enum vbs_status vbs_exec_run(struct vbs_ctx *ctx, struct vbs_exec *exec, const float *input,
                             float *const *outputs, struct vbs_exec_report *result)
{
    struct running r = {.ctx = ctx, .exec = exec, .input = input, .outputs = outputs};
    const int *starts = exec->program.begin;
    struct vbs_exec_report report = {.touched_bytes = -1,
                                     .base_bytes = -1,
                                     .high_water_bytes = -1,
                                     .heap_bytes = -1,
                                     .file_bytes = -1};
    struct usage usage = {0};
    enum vbs_status status;
    double io_us = 0;

    if (!input)
        VBS_TRY(seed_input(&r));
    if (!exec->times_only)
        usage = begin_usage(exec);
    if (exec->staged_input)
        VBS_TRY(stage_input(&r));
    status = begin_run(&r);
    r.last_s = vbs_clock_s();
    if (status != VBS_OK)
        return status;
    VBS_TRY(run_others(&r, starts[0], starts[1]));
    io_us = r.taken_us[VBS_DO_READ_INPUT];
    VBS_TRY(run_timed(&r));
    exec->has_residents = exec->has_run = true;
    fill_report(&r, io_us, &report);
    io_us = r.taken_us[VBS_DO_WRITE_OUTPUT];
    VBS_TRY(run_others(&r, starts[exec->n_steps + 2], starts[exec->n_steps + 3]));
    report.io_us += r.taken_us[VBS_DO_WRITE_OUTPUT] - io_us;
    if (exec->staged_outputs)
        VBS_TRY(take_outputs(&r));
    if (!exec->times_only)
        end_usage(exec, &usage, &report);
    *result = report;
    return VBS_OK;
}
