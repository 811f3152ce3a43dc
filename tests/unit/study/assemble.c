/*
 * Profiles from kernel times by geometry: they are those that measuring the network gives, in all
 * bytes and, where times are modelled, to the bit; only geometries that the store does not have are
 * measured; and planners take them.
 */
#include "support/profile_help.h"
#include "support/store_help.h"
#include "support/tap.h"
#include "vbslab/backend.h"
#include "vbslab/plan.h"
#include "vbslab/replay.h"
#include "vbslab/simple.h"
#include "vbslab/study.h"

#include <stdlib.h>

static const int BATCHES[] = {1, 2, 5};

/* A residual network with a depthwise layer and a concat; w1 and w2 are widths. */
static struct vbs_network *network(struct vbs_ctx *ctx, int w1, int w2)
{
    struct vbs_network *made = NULL;
    char text[900];

    snprintf(text, sizeof text,
             "model small\ninput 3x12x12\n"
             "conv c1 out=%d kernel=3 pad=1\nbatchnorm b1\nrelu r1\n"
             "conv c2 out=%d kernel=3 pad=1\nrelu r2\n"
             "conv c3 out=%d kernel=3 pad=1\n"
             "add s1 from=c3,c1\nrelu r3\n"
             "conv c4 out=%d kernel=3 pad=1\nrelu r4\n"
             "conv c5 out=%d kernel=3 pad=1\n"
             "add s2 from=c5,s1\nrelu r5\n"
             "conv c6 from=s2 out=%d kernel=1\n"
             "concat k from=c6,s2\n"
             "maxpool p kernel=2 stride=2\n"
             "fc f out=10\nsoftmax q\n",
             w1, w2, w1, w2, w1, w2);
    if (vbs_network_parse(ctx, "small", text, strlen(text), NULL, &made) != VBS_OK)
        printf("# %s\n", ctx->detail);
    return made;
}

static struct vbs_assemble_options how(const struct vbs_backend *backend, bool may_measure)
{
    return (struct vbs_assemble_options){.struct_size = sizeof(struct vbs_assemble_options),
                                         .backend = backend,
                                         .batches = BATCHES,
                                         .n_batches = 3,
                                         .threads = 1,
                                         .may_measure = may_measure,
                                         .measure = {.min_runs = 1, .max_runs = 1, .seed = 1}};
}

static struct vbs_profile *assemble(struct vbs_ctx *ctx, struct vbs_store *store,
                                    const struct vbs_backend *backend, const struct vbs_network *of,
                                    bool may_measure, struct vbs_assemble_report *report)
{
    const struct vbs_assemble_options options = how(backend, may_measure);
    struct vbs_profile *profile = NULL;

    if (vbs_profile_assemble(ctx, store, of, &options, report, &profile) != VBS_OK)
        printf("# %s\n", ctx->detail);
    return profile;
}

static struct vbs_profile *measured(struct vbs_ctx *ctx, const char *backend,
                                    const struct vbs_network *of)
{
    const struct vbs_simple_options options = {.struct_size = sizeof options,
                                               .backend = backend,
                                               .batches = BATCHES,
                                               .n_batches = 3,
                                               .threads = 1,
                                               .time_limit_s = 0.05};
    struct vbs_profile *profile = NULL;

    if (vbs_simple_measure(ctx, of, &options, &profile) != VBS_OK)
        printf("# %s\n", ctx->detail);
    return profile;
}

/* Counts the rows in which two profiles differ, times aside unless with_times. -1: they have other
 * layers or other numbers of rows. */
static int count_differences(const struct vbs_profile *a, const struct vbs_profile *b,
                             bool with_times)
{
    int n = 0;

    if (!a || !b || a->n_layers != b->n_layers || a->n_batches != b->n_batches)
        return -1;
    for (int k = 1; k <= a->n_layers; k++) {
        const struct vbs_profile_layer *p = &a->layers[k], *q = &b->layers[k];

#define DIFFERS(member) n += p->member != q->member;
        LAYER_NUMBERS(DIFFERS)
        for (int i = 0; i < a->n_batches; i++) {
            int n_a, n_b;
            const struct vbs_profile_row *x = vbs_profile_rows(a, k, i, &n_a);
            const struct vbs_profile_row *y = vbs_profile_rows(b, k, i, &n_b);

            if (n_a != n_b)
                return -1;
            for (int j = 0; j < n_a; j++)
                n += strcmp(a->algorithms[x[j].algorithm], b->algorithms[y[j].algorithm]) != 0 ||
                     x[j].ws_bytes != y[j].ws_bytes || x[j].weight_bytes != y[j].weight_bytes ||
                     x[j].format != y[j].format || x[j].n_slices != y[j].n_slices ||
                     (with_times && x[j].time_us != y[j].time_us);
        }
    }
#undef DIFFERS
    return n;
}

static bool is_planned(struct vbs_ctx *ctx, const struct vbs_profile *profile)
{
    const struct vbs_problem problem = {.profile = profile, .request = 5};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    struct vbs_replay *replay = NULL;
    bool fits = false;

    if (vbs_planner_find(ctx, "dp-vbs+", &planner) == VBS_OK &&
        vbs_solver_new(ctx, planner, &problem, NULL, &solver) == VBS_OK &&
        vbs_solver_plan(ctx, solver, vbs_solver_least_bytes(solver), &schedule) == VBS_OK &&
        vbs_replay_run(ctx, profile, schedule, -1, false, &replay) == VBS_OK)
        fits = replay->fits;
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return fits;
}

static void profiles_are_assembled(const char *folder, const char *name)
{
    static const int WIDTHS[][2] = {{16, 24}, {16, 8}, {8, 24}, {8, 8}};
    char *path = path_in(folder, name);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    const struct vbs_backend *backend = NULL;
    struct vbs_assemble_options asked;
    int n_missing[4] = {0}, n_all[4] = {0};

    if (vbs_backend_find(&ctx, name, &backend) != VBS_OK || !store)
        return;
    for (int i = 0; i < 4; i++) {
        struct vbs_network *of = network(&ctx, WIDTHS[i][0], WIDTHS[i][1]);
        struct vbs_assemble_report report = {0};
        struct vbs_profile *whole = measured(&ctx, name, of), *none = NULL;
        struct vbs_profile *made, *again;

        asked = how(backend, false);
        ok(vbs_profile_assemble(&ctx, store, of, &asked, &report, &none) == VBS_NOT_FOUND &&
               !none && report.n_missing > 0,
           "%s, %d and %d channels: some geometries are missing", name, WIDTHS[i][0], WIDTHS[i][1]);
        n_missing[i] = report.n_missing;
        n_all[i] = report.n_geometries;
        made = assemble(&ctx, store, backend, of, true, &report);
        again = assemble(&ctx, store, backend, of, false, &report);
        is_int(count_differences(made, whole, backend->modelled), 0,
               "... the profile is that of a measurement");
        is_int(count_differences(made, again, true), 0, "... and the same once more");
        ok(report.n_missing == 0 && made && is_planned(&ctx, made),
           "... without measuring, and it is planned");
        vbs_profile_free(whole);
        vbs_profile_free(made);
        vbs_profile_free(again);
        vbs_network_free(of);
    }
    asked = how(backend, false);
    for (int threads = 1; threads <= 7 && !backend->modelled; threads += 6) {
        struct vbs_network *of = network(&ctx, 8, 8);
        struct vbs_profile *made = NULL;
        enum vbs_status status;

        asked.lookup_threads = threads;
        status = vbs_profile_assemble(&ctx, store, of, &asked, NULL, &made);
        ok(status == (threads == 1 ? VBS_OK : VBS_NOT_FOUND) &&
               (!made || made->provenance.threads == 1),
           "times of %d threads are %s", threads, threads == 1 ? "known" : "other times");
        vbs_profile_free(made);
        vbs_network_free(of);
    }
    ok(n_missing[0] == n_all[0] && n_missing[1] < n_all[1] && n_missing[3] < n_all[3],
       "known geometries are not measured again");
    vbs_store_close(store);
    free(path);
}

/* Copies are those of the machine; they are measured once, and only where they are asked for. */
static void copies_are_kept(const char *folder)
{
    char *path = path_in(folder, "copies");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_network *of = network(&ctx, 8, 8);
    struct vbs_assemble_options asked;
    struct vbs_profile *made = NULL, *again = NULL;
    const struct vbs_backend *backend = NULL;

    if (vbs_backend_find(&ctx, "analytic", &backend) != VBS_OK)
        return;
    asked = how(backend, true);
    asked.copies = true;
    asked.folder = folder;
    ok(vbs_profile_assemble(&ctx, store, of, &asked, NULL, &made) == VBS_OK && made->n_copies > 0 &&
           made->copies[0].link.bytes_per_us > 0,
       "a profile with copies");
    asked.may_measure = false;
    ok(vbs_profile_assemble(&ctx, store, of, &asked, NULL, &again) == VBS_OK && made &&
           again->n_copies == made->n_copies &&
           again->copies[0].rows[0].time_us == made->copies[0].rows[0].time_us,
       "... which come back");
    vbs_profile_free(made);
    vbs_profile_free(again);
    vbs_network_free(of);
    vbs_store_close(store);
    free(path);
}

int main(void)
{
    char *folder = temporary_folder();

    profiles_are_assembled(folder, "analytic");
    profiles_are_assembled(folder, "onednn");
    copies_are_kept(folder);
    remove_folder(folder);
    return done_testing();
}
