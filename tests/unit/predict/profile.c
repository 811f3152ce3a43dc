/*
 * Predicted profiles, on the analytic backend, whose times are a formula that the model does not
 * know: they have the layers and the bytes of a measured profile and nearly its times, they are
 * planned, and they keep their intervals in files and in the store. A machine that is not
 * calibrated is refused.
 */
#include "base/ctx.h"
#include "support/profile_help.h"
#include "support/store_help.h"
#include "support/tap.h"
#include "vbslab/predict.h"
#include "vbslab/simple.h"

#include <stdlib.h>
#include <string.h>

static const int BATCHES[] = {1, 2, 4, 7};

#define N_BATCHES 4

static struct vbs_predict_options options_of(const char *backend)
{
    struct vbs_predict_options options = {.struct_size = sizeof options};

    if (vbs_backend_find(NULL, backend, &options.backend) != VBS_OK)
        bail_out("no such backend");
    return options;
}

static struct vbs_network *load(struct vbs_ctx *ctx, const char *name)
{
    struct vbs_network *network = NULL;

    if (vbs_network_load(ctx, name, NULL, &network) != VBS_OK)
        bail_out("%s", ctx->detail);
    return network;
}

static struct vbs_profile *measure(struct vbs_ctx *ctx, const struct vbs_network *network)
{
    const struct vbs_simple_options options = {.struct_size = sizeof options,
                                               .backend = "analytic",
                                               .batches = BATCHES,
                                               .n_batches = N_BATCHES};
    struct vbs_profile *profile = NULL;

    if (vbs_simple_measure(ctx, network, &options, &profile) != VBS_OK)
        bail_out("%s", ctx->detail);
    return profile;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* The rows of a predicted profile beside those of a measured one. */
struct difference {
    int n, n_other, n_inside, n_runs;
    double median;
};

static void compare_rows(const struct vbs_profile_row *p, const struct vbs_profile_row *m,
                         struct difference *d, double *errors)
{
    d->n_other += p->ws_bytes != m->ws_bytes || p->weight_bytes != m->weight_bytes ||
                  p->format != m->format || p->algorithm != m->algorithm;
    d->n_inside += p->low_us <= m->time_us && m->time_us <= p->high_us;
    d->n_runs += p->n_runs;
    errors[d->n++] = fabs(p->time_us / m->time_us - 1);
}

static struct difference compare_profiles(const struct vbs_profile *predicted,
                                          const struct vbs_profile *measured)
{
    struct difference d = {0};
    double *errors = calloc(100000, sizeof *errors);

    if (!errors || predicted->n_layers != measured->n_layers)
        bail_out("other layers");
    for (int k = 1; k <= predicted->n_layers; k++)
        for (int b = 0; b < N_BATCHES; b++) {
            int n_p, n_m;
            const struct vbs_profile_row *p = vbs_profile_rows(predicted, k, b, &n_p);
            const struct vbs_profile_row *m = vbs_profile_rows(measured, k, b, &n_m);

            d.n_other += n_p != n_m;
            for (int i = 0; i < n_p && n_p == n_m; i++)
                compare_rows(&p[i], &m[i], &d, errors);
        }
    qsort(errors, (size_t)d.n, sizeof *errors, compare);
    d.median = errors[d.n / 2];
    free(errors);
    return d;
}

/* Writes the profile as CSV, and into the store, and reads it back. */
static void keep(struct vbs_ctx *ctx, struct vbs_store *store, const char *folder,
                 const struct vbs_profile *profile)
{
    char *path = path_in(folder, "p.csv");
    char hash[VBS_PROFILE_HASH_SIZE], other[VBS_PROFILE_HASH_SIZE];
    struct vbs_profile *read = NULL, *stored = NULL;
    int64_t id;

    vbs_profile_hash(profile, hash);
    if (vbs_profile_write_csv(ctx, profile, path) != VBS_OK ||
        vbs_profile_read_csv(ctx, path, &read) != VBS_OK ||
        vbs_store_save(ctx, store, profile, &id) != VBS_OK ||
        vbs_store_load(ctx, store, id, &stored) != VBS_OK)
        bail_out("%s", ctx->detail);
    vbs_profile_hash(read, other);
    is_str(other, hash, "intervals are the same after a file");
    vbs_profile_hash(stored, other);
    is_str(other, hash, "and after the store");
    vbs_profile_free(read);
    vbs_profile_free(stored);
    free(path);
}

static void predict(struct vbs_ctx *ctx, struct vbs_store *store, const char *folder,
                    const struct vbs_predictor *predictor, const char *name)
{
    struct vbs_network *network = load(ctx, name);
    struct vbs_profile *measured = measure(ctx, network), *predicted = NULL;
    struct difference d;

    if (vbs_predict_profile(ctx, store, predictor, network, BATCHES, N_BATCHES, &predicted) !=
        VBS_OK)
        bail_out("%s", ctx->detail);
    d = compare_profiles(predicted, measured);
    is_int(d.n_other, 0, "bytes, formats and algorithms are those of a measurement");
    is_int(d.n_runs, 0, "nothing ran");
    ok(d.median < 0.02, "%s: half of the times are within 2%%: %.5f", name, d.median);
    ok(d.n_inside > d.n * 0.85, "most are within their intervals: %d of %d", d.n_inside, d.n);
    ok(vbs_provenance_predicted(&predicted->provenance) &&
           vbs_provenance_modelled(&predicted->provenance) &&
           !vbs_provenance_predicted(&measured->provenance),
       "the provenance says that the times are predicted");
    keep(ctx, store, folder, predicted);
    vbs_profile_free(predicted);
    vbs_profile_free(measured);
    vbs_network_free(network);
}

static void test_predictions(const char *folder)
{
    char *path = path_in(folder, "store.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_predict_options options = options_of("analytic");
    struct vbs_predictor *predictor = NULL;
    struct vbs_predict_report report = {0}, again = {0};

    if (!store)
        bail_out("no store");
    is_int(vbs_predictor_load(&ctx, store, &options, &predictor), VBS_NOT_FOUND,
           "a machine that is not calibrated is refused");
    ok(!predictor, "... and nothing is made");
    is_int(vbs_predict_calibrate(&ctx, store, &options, &report), VBS_OK, "it is calibrated");
    ok(report.n_networks > 4 && report.n_measured == report.n_networks && report.n_kernels > 500,
       "%d networks are measured, %d kernels", report.n_measured, report.n_kernels);
    is_int(vbs_predict_calibrate(&ctx, store, &options, &again), VBS_OK, "once more");
    ok(again.n_measured == 0 && again.n_kernels == report.n_kernels, "... there is nothing to do");
    options.again = true;
    is_int(vbs_predict_calibrate(&ctx, store, &options, &again), VBS_OK, "or all again");
    ok(again.n_measured == report.n_networks && again.n_kernels == report.n_kernels,
       "... then all are measured");
    options.again = false;
    options.vbslab = "another build";
    is_int(vbs_predictor_load(&ctx, store, &options, &predictor), VBS_NOT_FOUND,
           "another build is not calibrated");
    options.vbslab = NULL;
    is_int(vbs_predictor_load(&ctx, store, &options, &predictor), VBS_OK, "times are learnt");
    predict(&ctx, store, folder, predictor, "googlenet");
    predict(&ctx, store, folder, predictor, "mobilenet-v1");
    vbs_predictor_free(predictor);
    vbs_predictor_free(NULL);
    vbs_store_close(store);
    free(path);
}

int main(void)
{
    char *folder = temporary_folder();

    test_predictions(folder);
    remove_folder(folder);
    return done_testing();
}
