/*
 * With save_runs, kernels get runs where these matter: layers of equal geometry share theirs, slow
 * kernels are left out, and the fastest ones are measured first.
 */
#include "support/tap.h"

#include "fake/session.h"

static const struct vbs_measure_options hasty = {.struct_size = sizeof(struct vbs_measure_options),
                                                 .time_limit_s = 1e-6,
                                                 .seed = 1,
                                                 .save_runs = true};

/* Gives all kernels the same workspace, so that slow ones are good for nothing. The first two of
 * three algorithms take nearly the same time, the third takes a multiple. */
static void make_third_slow(struct fake *fake, double multiple)
{
    for (int i = 0; i < fake->session.n_kernels; i++) {
        fake->kernels[i].ws_bytes = 1000;
        fake->base_us[i] = fake->base_us[i / 3 * 3] * (i % 3 == 2 ? multiple : 1 + 0.02 * (i % 3));
    }
}

static int count_left_out(const struct fake *fake)
{
    int n = 0;

    for (int i = 0; i < fake->session.n_kernels; i++)
        n += fake->left_out[i];
    return n;
}

/* Counts the kernels that are left out although they have samples, or have none although they are
 * not. */
static int count_inconsistent(const struct fake *fake)
{
    int n = 0;

    for (int i = 0; i < fake->session.n_kernels; i++)
        n += fake->left_out[i] == (fake->runs[i].n > 0);
    return n;
}

/* ---- Geometries ---- */

/* Returns how many calls kernels of 12 layers need that have n_geometries. */
static int calls_of(int n_geometries, int *n_wrong)
{
    struct fake *fake = fake_new(12, 4, 3);
    struct vbs_measure_report report;
    int n_calls;

    for (int layer = 1; layer <= 12; layer++)
        fake->geometry[layer] = (uint64_t)(layer % n_geometries);
    *n_wrong = fake_measure(fake, &hasty, &report) != VBS_OK;
    *n_wrong += fake->n_wrong + count_inconsistent(fake) + (fake_fewest_runs(fake) < 1);
    n_calls = fake->n_calls;
    fake_free(fake);
    return n_calls;
}

static void equal_layers_share_their_runs(void)
{
    int n_wrong[2], alone = calls_of(12, &n_wrong[0]), shared = calls_of(3, &n_wrong[1]);

    ok(n_wrong[0] == 0 && n_wrong[1] == 0, "every kernel has a sample");
    ok(2 * shared < alone, "layers of three geometries need less than half of the runs (%d of %d)",
       shared, alone);
}

/* Returns whether a time is one that kernel a of some layer of the geometry of `layer` takes. */
static bool is_of_geometry(const struct fake *fake, int layer, int batch_index, int a,
                           double time_us)
{
    for (int k = 1; k <= fake->session.n_layers; k++)
        if (fake->geometry[k] == fake->geometry[layer] &&
            fake->base_us[fake_kernel(fake, k, batch_index, a)] == time_us)
            return true;
    return false;
}

static void samples_are_lent_to_equal_kernels_only(void)
{
    struct fake *fake = fake_new(12, 3, 3);
    struct vbs_measure_report report;
    int n_strange = 0, n_lent = 0;

    for (int layer = 1; layer <= 12; layer++)
        fake->geometry[layer] = (uint64_t)(layer % 4);
    /* This layer has another kernel than those of its hash. */
    for (int b = 0; b < 3; b++)
        fake->kernels[fake_kernel(fake, 8, b, 1)].ws_bytes += 64;
    is_int(fake_measure(fake, &hasty, &report), VBS_OK, "layers of four geometries");
    for (int layer = 1; layer <= 12; layer++)
        for (int b = 0; b < 3; b++)
            for (int a = 0; a < 3; a++) {
                int kernel = fake_kernel(fake, layer, b, a);

                for (int i = 0; i < fake->runs[kernel].n; i++) {
                    double time_us = fake->runs[kernel].times_us[i];
                    bool own = time_us == fake->base_us[kernel];

                    n_lent += !own;
                    n_strange +=
                        !is_of_geometry(fake, layer, b, a, time_us) || (layer == 8 && !own);
                }
            }
    is_int(n_strange, 0, "all samples are of equal kernels");
    ok(n_lent > 0, "some are lent (%d)", n_lent);
    is_int(fake->n_wrong, 0, "each in a round of its own");
    fake_free(fake);
}

/* ---- Kernels that are left out ---- */

static void slow_kernels_are_left_out(void)
{
    struct fake *fake = fake_new(10, 4, 3);
    struct vbs_measure_report report;
    int n_wrong = 0;

    make_third_slow(fake, 4);
    /* This one needs less workspace, and that one fewer weights. */
    fake->kernels[fake_kernel(fake, 3, 1, 2)].ws_bytes = 0;
    for (int b = 0; b < 4; b++)
        for (int a = 0; a < 3; a++)
            fake->kernels[fake_kernel(fake, 4, b, a)].weight_bytes = 3 - a;
    /* This one is as fast as the others at the largest of the batches around it. */
    fake->base_us[fake_kernel(fake, 5, 2, 2)] = fake->base_us[fake_kernel(fake, 5, 2, 0)];
    is_int(fake_measure(fake, &hasty, &report), VBS_OK, "one of three algorithms is slow");
    for (int layer = 1; layer <= 10; layer++)
        for (int b = 0; b < 4; b++)
            for (int a = 0; a < 3; a++)
                n_wrong += fake->left_out[fake_kernel(fake, layer, b, a)] !=
                           (a == 2 && b == 1 && (layer < 3 || layer > 5));
    is_int(n_wrong, 0,
           "it is left out at the batch between those that are measured first, except "
           "where it may be chosen");
    is_int(count_inconsistent(fake), 0, "what is left out has no sample, everything else has one");
    ok(report.n_judged == 10 * 4 * 3 - 7 && report.n_left_out == 7, "and does not count (%d)",
       report.n_judged);
    fake_restart(fake);
    memset(fake->left_out, 0, sizeof fake->left_out);
    is_int(fake_measure(fake, &hasty, &report), VBS_OK, "resumed");
    ok(count_left_out(fake) == 7 && count_inconsistent(fake) == 0,
       "the same kernels are left out again");
    fake_free(fake);
}

static void a_sink_may_want_every_kernel(void)
{
    struct fake *fake = fake_new(10, 4, 3);
    struct vbs_measure_report report;

    make_third_slow(fake, 4);
    fake->sink.leave_out = NULL;
    is_int(fake_measure(fake, &hasty, &report), VBS_OK, "a sink from which nothing is left out");
    ok(fake_fewest_runs(fake) >= 1, "gets samples of every kernel");
    fake_free(fake);
}

/* Makes every time of the first algorithm of layer 3 eight times as long for a while. */
static double disturb_the_best(struct fake *fake, int call)
{
    int kernel = fake->calls[call];

    return fake->now_s < 1000.1 && kernel == fake_kernel(fake, 3, 0, 0)   ? 8
           : fake->now_s < 1000.1 && kernel == fake_kernel(fake, 3, 2, 0) ? 8
                                                                          : 1;
}

/* Measures kernels of which the best one is disturbed at first. */
static struct fake *disturbed(double limit_s)
{
    struct fake *fake = fake_new(6, 3, 3);
    struct vbs_measure_options options = hasty;
    struct vbs_measure_report report;

    make_third_slow(fake, 4);
    fake->disturb = disturb_the_best;
    options.time_limit_s = limit_s;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "the best kernel is disturbed at first");
    return fake;
}

static void a_disturbed_time_leaves_nothing_out_for_good(void)
{
    struct fake *fake = disturbed(1e-6);
    int best = fake_kernel(fake, 3, 1, 0);

    ok(fake->left_out[best], "it is left out where there is no time");
    fake_free(fake);
    fake = disturbed(10);
    ok(!fake->left_out[best] && fake->runs[best].n >= 6,
       "where there is time it is measured like the others (%d runs)", fake->runs[best].n);
    fake_free(fake);
}

/* ---- Where the time goes ---- */

static void close_kernels_go_first(void)
{
    struct fake *fake = fake_new(10, 4, 3);
    struct vbs_measure_options options = hasty;
    struct vbs_measure_report report;
    int n_close = 0, n_far = 0;

    make_third_slow(fake, 1.4);
    for (int i = 0; i < fake->session.n_kernels; i++)
        fake->kernels[i].weight_bytes = i % 3 == 2 ? 0 : 1; /* so that it is not left out */
    fake->sigma = 0.03;
    options.time_limit_s = 0.3;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "two kernels are as good, one is worse");
    ok(report.total_s <= 0.31 && report.total_s > 0.28, "a limit is used and kept (%g s)",
       report.total_s);
    for (int i = 0; i < fake->session.n_kernels; i += 3) {
        n_close += fake->runs[i].n + fake->runs[i + 1].n;
        n_far += fake->runs[i + 2].n;
    }
    ok(fake_fewest_runs(fake) >= 1 && 2 * n_close > 5 * n_far,
       "each of those two gets more runs (%d and %d)", n_close, n_far);
    fake_free(fake);
}

static void explicit_runs_are_own_ones(void)
{
    struct fake *fake = fake_new(8, 3, 2);
    struct vbs_measure_options options = hasty;
    struct vbs_measure_report report;
    int n_borrowed = 0;

    options.min_runs = 3;
    for (int layer = 1; layer <= 8; layer++)
        fake->geometry[layer] = 1;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "three runs are asked for");
    for (int i = 0; i < fake->session.n_kernels; i++)
        for (int k = 0; k < fake->runs[i].n; k++)
            n_borrowed += fake->runs[i].times_us[k] != fake->base_us[i];
    ok(fake_fewest_runs(fake) >= 3 && n_borrowed == 0,
       "every kernel has as many of its own, although all layers are equal (%d)",
       fake_fewest_runs(fake));
    fake_free(fake);
}

static void with_time_everything_is_known_well(void)
{
    struct fake *fake = fake_new(10, 4, 3);
    struct vbs_measure_options options = hasty;
    struct vbs_measure_report report;

    options.time_limit_s = 1e6;
    fake->sigma = 0.02;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "time without end");
    ok(report.n_unconverged == 0 && report.n_judged == 10 * 4 * 3 && fake_fewest_runs(fake) >= 6,
       "every median becomes tight (%d of %d are not)", report.n_unconverged, report.n_judged);
    is_int(fake->n_wrong, 0, "layers get their inputs where they belong");
    fake_free(fake);
}

static void a_full_sink_ends_it(void)
{
    int n_failed = 0, n_wrong = 0;

    for (int at = 0; at < 40; at++) {
        struct fake *fake = fake_new(5, 3, 2);
        struct vbs_measure_report report;
        enum vbs_status status;

        fake->fail_add = at;
        status = fake_measure(fake, &hasty, &report);
        n_failed += status == VBS_STORE;
        n_wrong += status != VBS_STORE && status != VBS_OK;
        n_wrong += fake->n_frees != fake->n_allocs;
        fake_free(fake);
    }
    ok(n_failed >= 30 && n_wrong == 0, "a sink that fails ends it (%d times)", n_failed);
}

int main(void)
{
    equal_layers_share_their_runs();
    samples_are_lent_to_equal_kernels_only();
    slow_kernels_are_left_out();
    a_sink_may_want_every_kernel();
    a_disturbed_time_leaves_nothing_out_for_good();
    close_kernels_go_first();
    explicit_runs_are_own_ones();
    with_time_everything_is_known_well();
    a_full_sink_ends_it();
    return done_testing();
}
