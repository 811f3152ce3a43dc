/* The networks to learn from: measuring them once, and reading their times again. */
#include "predict/calibrate.h"

#include "base/fail.h"
#include "base/options.h"
#include "vbslab/timings.h"

#include <string.h>

/* Few enough for a short calibration; between them times change smoothly. */
static const int BATCHES[] = {1, 2, 3, 5, 8, 12};
#define BATCHES_TEXT "1,2,3,5,8,12"

#define N_BATCHES ((int)(sizeof BATCHES / sizeof BATCHES[0]))

struct vbs_assemble_options vbs_predict_assembly(const struct vbs_predict_options *options)
{
    return (struct vbs_assemble_options){.struct_size = sizeof(struct vbs_assemble_options),
                                         .backend = options->backend,
                                         .batches = BATCHES,
                                         .n_batches = N_BATCHES,
                                         .threads = options->threads,
                                         .copies = true,
                                         .folder = options->folder,
                                         .vbslab = options->vbslab};
}

/* The progress of one network within that of all. */
struct calibrate_part {
    const struct vbs_progress *all;
    int which, n;
};

static void report_part(void *self, double done, double left_s, const char *text)
{
    const struct calibrate_part *part = self;

    (void)left_s;
    part->all->report(part->all->self, (part->which + done) / part->n, -1, text);
}

static enum vbs_status measure(struct vbs_ctx *ctx, struct vbs_store *store,
                               const struct vbs_predict_options *options, int which,
                               struct vbs_predict_report *report)
{
    struct calibrate_part part = {
        .all = &options->progress, .which = which, .n = report->n_networks};
    struct vbs_assemble_options how = vbs_predict_assembly(options);
    double limit_s = options->time_limit_s > 0 ? options->time_limit_s : VBS_PREDICT_CALIBRATE_S;
    struct vbs_assemble_report assembled = {0};
    struct vbs_network *network = NULL;
    struct vbs_profile *profile = NULL;
    enum vbs_status status = vbs_predict_network(ctx, which, &network);

    how.may_measure = true;
    how.measure.time_limit_s = limit_s / report->n_networks;
    if (options->progress.report)
        how.measure.progress = (struct vbs_progress){.self = &part, .report = report_part};
    if (status == VBS_OK)
        status = vbs_profile_assemble(ctx, store, network, &how, &assembled, &profile);
    for (int k = 1; status == VBS_OK && k <= profile->n_layers; k++)
        for (int b = 0, n_rows; b < profile->n_batches; b++) {
            vbs_profile_rows(profile, k, b, &n_rows);
            report->n_kernels += n_rows;
        }
    report->n_measured += assembled.n_missing > 0;
    report->n_samples += assembled.n_samples;
    report->measured_s += assembled.measured_s;
    vbs_profile_free(profile);
    vbs_network_free(network);
    return status;
}

/* Deletes the times of an earlier calibration. */
static enum vbs_status forget(struct vbs_ctx *ctx, struct vbs_store *store,
                              const struct vbs_predict_options *options)
{
    static const struct vbs_requested_kernel none = {0};
    const struct vbs_backend_options prepare = {
        .struct_size = sizeof prepare, .threads = options->threads, .requested = &none};
    struct vbs_network *network = NULL;
    struct vbs_session *session = NULL;
    struct vbs_timing_key key = {.batches = BATCHES_TEXT};
    enum vbs_status status = vbs_predict_network(ctx, 0, &network);

    if (status == VBS_OK)
        status = options->backend->open(ctx, network, &prepare, &session);
    if (status == VBS_OK) {
        session->provenance.vbslab = options->vbslab ? options->vbslab : vbs_version();
        key.provenance = &session->provenance;
        status = vbs_store_timing_delete(ctx, store, &key);
        session->ops->close(session);
    }
    vbs_network_free(network);
    return status;
}

enum vbs_status vbs_predict_calibrate(struct vbs_ctx *ctx, struct vbs_store *store,
                                      const struct vbs_predict_options *options,
                                      struct vbs_predict_report *report)
{
    struct vbs_predict_report made = {.n_networks = vbs_predict_n_networks()};
    struct vbs_predict_options own;

    VBS_TRY(vbs_options_read(ctx, "vbs_predict_options", options, &own, sizeof own));
    if (own.again)
        VBS_TRY(forget(ctx, store, &own));
    for (int i = 0; i < made.n_networks; i++)
        VBS_TRY(measure(ctx, store, &own, i, &made));
    if (report)
        *report = made;
    return VBS_OK;
}
