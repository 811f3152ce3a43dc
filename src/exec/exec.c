/* Making executors: from the session over the offsets, the arena and the weight file to the
 * program. */
#include "vbslab/exec.h"

#include "base/fail.h"
#include "base/options.h"
#include "exec/finite.h"
#include "exec/internal.h"
#include "exec/placed.h"
#include "profile/reach.h"
#include "vbslab/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of making an executor. */
struct opening {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    const struct vbs_backend *backend;
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    struct vbs_exec_options options;
    struct vbs_exec_placed *placed; /* the options', or an own one */
    bool resized;                   /* sizes of the session are not those of the profile */
    struct vbs_exec *exec;
    int larger;              /* the kernel whose workspace is most above the profile's; -1: none */
    int64_t larger_ws_bytes; /* its workspace in the profile */
};

static void report(const struct opening *o, const char *text)
{
    if (o->options.progress.report)
        o->options.progress.report(o->options.progress.self, 0, -1, text);
}

/* ---- the session ---- */

/* Gives whether the rows of a session's layer are those of the profile's, so that steps by rows do
 * the same. A layer of one row runs whole, whatever the session can do with it: profiles of before
 * layers accumulated have one row of a global pooling and of the layers behind it. */
static bool have_same_rows(const struct vbs_profile_layer *session,
                           const struct vbs_profile_layer *profile)
{
    if (profile->rows == 1 && (session->rows == 1 || vbs_layer_accumulates(session)))
        return true;
    return session->rows == profile->rows &&
           vbs_reaches_equal(session->reaches, profile->reaches, session->n_inputs);
}

/* Gives the property in which a layer of the profile differs from that of the session, or null. */
static const char *find_difference(const struct opening *o, const struct vbs_profile_layer *a,
                                   const struct vbs_profile_layer *b)
{
    bool with_weights = o->schedule->weights == VBS_WEIGHTS_INCLUDED;

    if (a->n_inputs != b->n_inputs)
        return "inputs";
    for (int i = 0; i < a->n_inputs; i++)
        if (a->inputs[i] != b->inputs[i])
            return "inputs";
    if (a->name && b->name && strcmp(a->name, b->name) != 0)
        return "name";
    if (a->out_bytes != b->out_bytes)
        return "bytes";
    if (a->in_place != b->in_place)
        return "place";
    if (o->placed->checked.has_stripes && !have_same_rows(b, a))
        return "rows";
    return with_weights && a->channels != b->channels ? "channels" : NULL;
}

/* Checks that the session can do what options and schedule need. */
static enum vbs_status check_abilities(const struct opening *o)
{
    const struct vbs_session *session = o->exec->session;

    if (session->modelled)
        return vbs_fail(o->ctx, VBS_UNSUPPORTED, "backend '%s' is a model; it executes nothing",
                        o->backend->name);
    if (session->ops->device && o->options.debug_checks)
        return vbs_fail(o->ctx, VBS_UNSUPPORTED,
                        "debug checks look into the arena, which is on a device here");
    if (o->options.check_finite)
        VBS_TRY(vbs_exec_finite_able(o->ctx, o->network, session));
    o->exec->check_finite = o->options.check_finite;
    if (o->placed->checked.has_stripes && (!session->ops->write_rows || !session->ops->read_rows))
        return vbs_fail(o->ctx, VBS_UNSUPPORTED, "backend '%s' cannot convert rows of its tensors",
                        o->backend->name);
    if (o->placed->checked.n_packed > 0 && !session->ops->pack)
        return vbs_fail(o->ctx, VBS_UNSUPPORTED,
                        "backend '%s' keeps weights outside the budget; plan with weights excluded",
                        o->backend->name);
    return VBS_OK;
}

/* Checks the session's layers against the profile's. The name of the network's input does not
 * count. */
static enum vbs_status check_layers(struct opening *o)
{
    const struct vbs_session *session = o->exec->session;

    if (session->n_layers != o->profile->n_layers)
        return vbs_fail(o->ctx, VBS_INVALID,
                        "the profile has %d layers, on backend '%s' the network has %d",
                        o->profile->n_layers, o->backend->name, session->n_layers);
    if (session->layers[0].out_bytes != o->profile->layers[0].out_bytes)
        return vbs_fail(o->ctx, VBS_INVALID,
                        "a sample of the input has %" PRId64 " bytes in the profile, %" PRId64
                        " on backend '%s'",
                        o->profile->layers[0].out_bytes, session->layers[0].out_bytes,
                        o->backend->name);
    for (int k = 1; k <= session->n_layers; k++) {
        const char *what = find_difference(o, &o->profile->layers[k], &session->layers[k]);

        if (what)
            return vbs_fail(o->ctx, VBS_INVALID,
                            "layer %d '%s' of the network has not the %s that layer '%s' has in "
                            "the profile on backend '%s'",
                            k, session->layers[k].name, what, o->profile->layers[k].name,
                            o->backend->name);
    }
    return VBS_OK;
}

/* Finds the bytes that the session packs for each layer and format, over all slices. */
static enum vbs_status measure_packed(struct opening *o)
{
    struct vbs_exec_checked *checked = &o->placed->checked;

    for (int m = 0; m < checked->n_packed; m++) {
        int64_t before = checked->packed[m].packed_bytes;
        int *kernels, n;

        VBS_TRY(vbs_exec_packers(o->ctx, checked, m, &kernels, &n));
        if (n > 0) /* else the weights are loaded but never read */
            checked->packed[m].packed_bytes = 0;
        for (int i = 0; i < n; i++)
            checked->packed[m].packed_bytes += o->exec->session->kernels[kernels[i]].packed_bytes;
        o->resized |= checked->packed[m].packed_bytes != before;
        free(kernels);
    }
    return VBS_OK;
}

/* Takes the workspaces of the session's kernels, which may be larger than the profile's. */
static void take_workspaces(struct opening *o)
{
    const struct vbs_session *session = o->exec->session;
    int64_t most = 0;

    for (int i = 0; i < o->placed->checked.n_kernels; i++) {
        struct vbs_exec_kernel *kernel = &o->placed->checked.kernels[i];
        int64_t more = session->kernels[i].ws_bytes - kernel->ws_bytes;

        if (more > most) {
            most = more;
            o->larger = i;
            o->larger_ws_bytes = kernel->ws_bytes;
        }
        o->resized |= more != 0;
        kernel->ws_bytes = session->kernels[i].ws_bytes;
    }
}

static enum vbs_status check_kernels(struct opening *o)
{
    const struct vbs_session *session = o->exec->session;
    struct vbs_exec_checked *checked = &o->placed->checked;

    if (session->n_kernels != checked->n_kernels)
        return vbs_fail(o->ctx, VBS_LIBRARY, "backend '%s' made %d kernels of %d", o->backend->name,
                        session->n_kernels, checked->n_kernels);
    take_workspaces(o);
    VBS_TRY(measure_packed(o));
    for (int i = 0; i < checked->n_kernels; i++) {
        const struct vbs_exec_kernel *kernel = &checked->kernels[i];
        const struct vbs_exec_packed *packed;
        struct vbs_exec_range range;

        if (kernel->packed < 0)
            continue;
        packed = &checked->packed[kernel->packed];
        range = vbs_exec_slice_range(packed, kernel->requested.slice, kernel->requested.n_slices);
        if (session->kernels[i].packed_bytes == range.packed_to - range.packed_from &&
            packed->packed_bytes <= packed->bytes)
            continue;
        return vbs_fail(
            o->ctx, VBS_INVALID,
            "layer %d '%s' packs %" PRId64 " bytes of weights at batch %d with "
            "algorithm '%s' here, not what the profile says of packed format %d: measure anew",
            kernel->requested.layer, session->layers[kernel->requested.layer].name,
            session->kernels[i].packed_bytes, kernel->requested.batch, kernel->requested.algorithm,
            packed->format);
    }
    return VBS_OK;
}

static enum vbs_status open_session(struct opening *o)
{
    struct vbs_requested_kernel *requested =
        malloc((size_t)o->placed->checked.n_kernels * sizeof *requested + 1);
    int first_batch = 1;
    struct vbs_backend_options options = {.struct_size = sizeof options,
                                          .batches = &first_batch,
                                          .n_batches = 1,
                                          .threads = o->options.threads,
                                          .requested = requested,
                                          .n_requested = o->placed->checked.n_kernels,
                                          .stripes = vbs_exec_uses_stripes(&o->placed->checked),
                                          .weights_given =
                                              o->schedule->weights == VBS_WEIGHTS_INCLUDED};
    enum vbs_status status;

    if (!requested)
        return vbs_no_memory(o->ctx);
    for (int i = 0; i < o->placed->checked.n_kernels; i++)
        requested[i] = o->placed->checked.kernels[i].requested;
    report(o, "making kernels");
    status = o->backend->open(o->ctx, o->network, &options, &o->exec->session);
    free(requested);
    if (status != VBS_OK)
        return status;
    VBS_TRY(check_abilities(o));
    VBS_TRY(check_layers(o));
    return check_kernels(o);
}

/* ---- memory ---- */

/* Refuses a schedule that was not placed, and names the workspace that may be the cause. */
static enum vbs_status refuse_larger(const struct opening *o)
{
    const struct vbs_requested_kernel *kernel = &o->placed->checked.kernels[o->larger].requested;
    char why[VBS_DETAIL_SIZE], here[48], planned[48];

    snprintf(why, sizeof why, "%s", vbs_detail(o->ctx));
    return vbs_fail(
        o->ctx, VBS_INFEASIBLE,
        "%s; layer %d '%s' needs a workspace of %s at batch %d with algorithm '%s' "
        "here, of %s in the profile: measure anew",
        why, kernel->layer, o->exec->session->layers[kernel->layer].name,
        vbs_format_exact(o->placed->checked.kernels[o->larger].ws_bytes, here, sizeof here),
        kernel->batch, kernel->algorithm,
        vbs_format_exact(o->larger_ws_bytes, planned, sizeof planned));
}

/* Takes the offsets that there are, where they hold for the session's sizes; else searches. */
static enum vbs_status find_offsets(struct opening *o)
{
    bool valid;

    VBS_TRY(vbs_exec_placed_keep(o->ctx, o->placed, &o->options, o->resized, &valid));
    return valid ? VBS_OK : vbs_exec_placed_search(o->ctx, o->placed, &o->options);
}

static enum vbs_status place_buffers(struct opening *o)
{
    int64_t bytes = vbs_exec_arena_bytes(&o->options, o->schedule);
    enum vbs_status status = find_offsets(o);

    o->exec->placement = o->placed->fit.placement;
    if (status == VBS_INFEASIBLE && o->larger >= 0)
        return refuse_larger(o);
    if (status != VBS_OK)
        return status;
    if (o->placed->checked.needs_rings)
        return vbs_exec_arena_share(o->ctx, &o->exec->arena, bytes);
    if (o->exec->session->ops->device)
        return vbs_exec_arena_obtain(o->ctx, &o->exec->arena, o->exec->session, bytes);
    return vbs_exec_arena_map(o->ctx, &o->exec->arena, bytes, o->options.debug_checks);
}

static enum vbs_status open_file(struct opening *o)
{
    const struct vbs_exec_file_options options = {.path = o->options.weights_path,
                                                  .folder = o->options.folder,
                                                  .direct = o->options.direct,
                                                  .progress = o->options.progress};
    struct vbs_exec *exec = o->exec;

    if (o->placed->checked.n_packed == 0)
        return VBS_OK;
    VBS_TRY(vbs_exec_loader_init(o->ctx, &exec->loader, &exec->file, exec->arena.session));
    VBS_TRY(vbs_exec_file_open(o->ctx, &exec->file, &o->placed->checked, o->network, exec->session,
                               &options));
    return exec->arena.session && o->schedule->copy.source &&
                   strcmp(o->schedule->copy.source, VBS_COPY_PINNED) == 0
               ? vbs_exec_loader_pin(o->ctx, &exec->loader)
               : VBS_OK;
}

/* ---- the program ---- */

static enum vbs_status count_values(struct opening *o)
{
    struct vbs_exec *exec = o->exec;
    const struct vbs_network *network = o->network;

    exec->network = network;
    exec->input_values = vbs_shape_elements(&network->input);
    exec->output_values = malloc((size_t)network->n_outputs * sizeof *exec->output_values + 1);
    if (!exec->output_values)
        return vbs_no_memory(o->ctx);
    for (int i = 0; i < network->n_outputs; i++)
        exec->output_values[i] = vbs_shape_elements(&network->outputs[i].shape);
    return VBS_OK;
}

/* Calls the copies of inputs and outputs once, with no values, so that memory which the session
 * needs for them is allocated now and not during a run. */
static enum vbs_status prepare_ends(struct opening *o)
{
    const struct vbs_exec *exec = o->exec;
    struct vbs_session *session = exec->session;
    float value = 0;

    VBS_TRY(session->ops->write(o->ctx, session, 0, 0, &value, &value));
    for (int i = 0; i < o->network->n_outputs; i++)
        VBS_TRY(
            session->ops->read(o->ctx, session, exec->program.output_layers[i], 0, &value, &value));
    return VBS_OK;
}

static enum vbs_status begin_trace(struct opening *o)
{
    struct vbs_exec *exec = o->exec;
    size_t n = (size_t)exec->n_steps;

    exec->trace = malloc(n * sizeof *exec->trace + 1);
    exec->is_load = malloc(n * sizeof *exec->is_load + 1);
    if (!exec->trace || !exec->is_load)
        return vbs_no_memory(o->ctx);
    for (size_t s = 0; s < n; s++)
        exec->is_load[s] = o->schedule->steps[s].op == VBS_STEP_LOAD;
    return VBS_OK;
}

static enum vbs_status make_program(struct opening *o)
{
    struct vbs_exec *exec = o->exec;

    VBS_TRY(count_values(o));
    if (o->options.trace)
        VBS_TRY(begin_trace(o));
    VBS_TRY(vbs_exec_program_make(o->ctx, &exec->program, &o->placed->fit, o->network, &exec->arena,
                                  &exec->file, o->options.debug_checks));
    VBS_TRY(prepare_ends(o));
    if (exec->arena.session)
        VBS_TRY(vbs_exec_stage(o->ctx, exec));
    if (o->options.debug_checks)
        VBS_TRY(vbs_exec_checker_new(o->ctx, &o->placed->fit, &exec->arena, &exec->checker));
    if (exec->program.n_loads > 0 && exec->arena.session)
        VBS_TRY(exec->session->ops->device->make_events(o->ctx, exec->session,
                                                        2 * exec->program.n_loads));
    if (exec->program.n_loads > 0)
        VBS_TRY(vbs_exec_stream_new(o->ctx, exec->program.loads, exec->program.n_loads,
                                    &exec->loader, o->options.trace, &exec->stream));
    return vbs_exec_load_residents(o->ctx, exec);
}

/* ---- the whole ---- */

static enum vbs_status check_outputs(const struct opening *o)
{
    for (int i = 0; i < o->network->n_outputs; i++)
        if (o->network->outputs[i].layer < 1 || o->network->outputs[i].layer > o->network->n_layers)
            return vbs_fail(o->ctx, VBS_INVALID, "output %d of the network is of no layer", i);
    return VBS_OK;
}

/* Takes the offsets that the options bring, or checks the schedule and has none. */
static enum vbs_status take_placed(struct opening *o)
{
    struct vbs_exec_placed *placed = o->options.placed;

    if (!placed)
        return vbs_exec_placed_new(o->ctx, o->profile, o->schedule, &o->placed);
    if (placed->checked.profile != o->profile || placed->checked.schedule != o->schedule)
        return vbs_fail(o->ctx, VBS_INVALID, "the placement is of another schedule");
    o->placed = placed;
    return VBS_OK;
}

static enum vbs_status open_all(struct opening *o)
{
    VBS_TRY(check_outputs(o));
    VBS_TRY(take_placed(o));
    if (o->backend->device && o->placed->checked.has_stripes)
        return vbs_fail(o->ctx, VBS_UNSUPPORTED,
                        "backend '%s' computes whole samples only; the schedule has steps by rows",
                        o->backend->name);
    VBS_TRY(open_session(o));
    VBS_TRY(place_buffers(o));
    VBS_TRY(open_file(o));
    return make_program(o);
}

enum vbs_status vbs_exec_new(struct vbs_ctx *ctx, const struct vbs_network *network,
                             const struct vbs_backend *backend, const struct vbs_profile *profile,
                             const struct vbs_schedule *schedule,
                             const struct vbs_exec_options *options,
                             struct vbs_exec_placement *placement, struct vbs_exec **result)
{
    struct opening o = {.ctx = ctx,
                        .network = network,
                        .backend = backend,
                        .profile = profile,
                        .schedule = schedule,
                        .larger = -1};
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_exec_options", options, &o.options, sizeof o.options));
    o.exec = calloc(1, sizeof *o.exec);
    if (!o.exec)
        return vbs_no_memory(ctx);
    o.exec->file = (struct vbs_exec_file){.fd = -1, .direct_fd = -1};
    o.exec->request = schedule->request;
    o.exec->n_steps = schedule->n_steps;
    status = open_all(&o);
    if (placement && (status == VBS_OK || status == VBS_INFEASIBLE))
        *placement = o.exec->placement;
    if (o.placed != o.options.placed)
        vbs_exec_placed_free(o.placed);
    if (status != VBS_OK) {
        vbs_exec_free(o.exec);
        return status;
    }
    *result = o.exec;
    return VBS_OK;
}

void vbs_exec_set_times_only(struct vbs_exec *exec, bool times_only)
{
    exec->times_only = times_only;
}

void vbs_exec_free(struct vbs_exec *exec)
{
    if (!exec)
        return;
    vbs_exec_stream_free(exec->stream);
    vbs_exec_checker_free(exec->checker);
    vbs_exec_program_clear(&exec->program);
    vbs_exec_loader_clear(&exec->loader);
    vbs_exec_file_close(&exec->file);
    vbs_exec_arena_unmap(&exec->arena);
    vbs_exec_unstage(exec);
    if (exec->session)
        exec->session->ops->close(exec->session);
    free(exec->trace);
    free(exec->is_load);
    free(exec->output_values);
    free(exec->seeded_input);
    free(exec);
}

const struct vbs_exec_placement *vbs_exec_placement(const struct vbs_exec *exec)
{
    return &exec->placement;
}

const struct vbs_session *vbs_exec_session(const struct vbs_exec *exec)
{
    return exec->session;
}
