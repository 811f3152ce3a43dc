/*
 * Passes that a disturbed machine slows down are found, and measured again instead of reaching the
 * sink; layers that are always slow or noisy are measured as they are.
 */
#include "support/tap.h"

#include "fake/session.h"

/* No interval is tight enough: every kernel goes to max_runs. */
static const struct vbs_measure_options patient = {.struct_size =
                                                       sizeof(struct vbs_measure_options),
                                                   .time_limit_s = 1e6,
                                                   .seed = 1,
                                                   .relative_interval = 1e-9};

static double passes_30_to_39_slow(struct fake *fake, int call)
{
    int pass = call / fake->session.n_layers;

    return pass >= 30 && pass < 40 ? 3 : 1;
}

static void disturbed_passes_never_reach_the_sink(void)
{
    struct fake *fake = fake_new(12, 1, 2);
    struct vbs_measure_report report;
    int n_slow = 0;

    fake->sigma = 0.02;
    fake->disturb = passes_30_to_39_slow;
    is_int(fake_measure(fake, &patient, &report), VBS_OK,
           "five passes, which run twice, three times as slow");
    for (int i = 0; i < fake->session.n_kernels; i++)
        for (int run = 0; run < fake->runs[i].n; run++)
            n_slow += fake->runs[i].times_us[run] > 2 * fake->base_us[i];
    is_int(n_slow, 0, "none of their times reaches the sink");
    is_int(report.n_rejected, 5 * 12, "all of them are counted");
    is_int(fake_fewest_runs(fake), 50, "and taken anew");
    fake_free(fake);
}

static double layer_7_sometimes_slow(struct fake *fake, int call)
{
    int layer = call % fake->session.n_layers + 1;

    return layer == 7 && call / fake->session.n_layers % 3 == 0 ? 20 : 1;
}

static void a_slow_layer_alone_is_kept(void)
{
    struct fake *fake = fake_new(12, 1, 2);
    struct vbs_measure_report report;

    fake->sigma = 0.02;
    fake->disturb = layer_7_sometimes_slow;
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "one layer that is slow at times");
    is_int(report.n_rejected, 0, "is measured as it is");
    fake_free(fake);
}

static bool layer_7_sometimes_preempted(struct fake *fake, int call)
{
    return layer_7_sometimes_slow(fake, call) > 1;
}

static bool often_preempted(struct fake *fake, int call)
{
    (void)fake;
    return call % 3 == 0;
}

static void a_slow_layer_that_was_preempted_is_rejected(void)
{
    struct fake *fake = fake_new(12, 1, 2);
    struct vbs_measure_report report;
    int n_slow = 0;

    fake->sigma = 0.02;
    fake->disturb = layer_7_sometimes_slow;
    fake->preempt = layer_7_sometimes_preempted;
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "one layer preempted at times");
    for (int i = fake_kernel(fake, 7, 0, 0); i <= fake_kernel(fake, 7, 0, 1); i++)
        for (int run = 0; run < fake->runs[i].n; run++)
            n_slow += fake->runs[i].times_us[run] > 2 * fake->base_us[i];
    ok(n_slow <= 4, "keeps slow times only while too few are known (%d)", n_slow);
    ok(report.n_rejected > 30, "and rejects the others (%d)", (int)report.n_rejected);
    is_int(fake_fewest_runs(fake), 50, "but nothing else");
    fake_free(fake);
}

static void preemption_without_delay_is_kept(void)
{
    struct fake *fake = fake_new(12, 1, 1);
    struct vbs_measure_report report;

    fake->sigma = 0.005;
    fake->preempt = often_preempted;
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "preemptions that cost nothing");
    is_int(report.n_rejected, 0, "reject nothing");
    fake_free(fake);
}

static double slow_for_good(struct fake *fake, int call)
{
    return call / fake->session.n_layers < 20 ? 1 : 2;
}

static void a_machine_slower_for_good_is_measured_as_it_is(void)
{
    struct fake *fake = fake_new(12, 2, 1);
    struct vbs_measure_report report;

    fake->sigma = 0.02;
    fake->disturb = slow_for_good;
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "a machine that becomes slower for good");
    ok(report.n_rejected > 0 && report.n_rejected <= report.n_samples,
       "at most half is rejected (%d of %d)", (int)report.n_rejected,
       (int)(report.n_rejected + report.n_samples));
    is_int(fake_fewest_runs(fake), 50, "and every kernel ends");
    fake_free(fake);
}

static void ordinary_noise_rejects_nothing(void)
{
    struct fake *fake = fake_new(40, 2, 2);
    struct vbs_measure_report report;

    fake->sigma = 0.15;
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "independent noise of 15%");
    is_int(report.n_rejected, 0, "no pass is taken for disturbed");
    fake_free(fake);
}

static double three_of_forty_slow(struct fake *fake, int call)
{
    int layer = call % fake->session.n_layers + 1, pass = call / fake->session.n_layers;

    return layer % 13 == pass % 13 ? 10 : 1;
}

static void a_few_slow_layers_of_many_are_kept(void)
{
    struct fake *fake = fake_new(40, 1, 1);
    struct vbs_measure_report report;

    fake->sigma = 0.02;
    fake->disturb = three_of_forty_slow;
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "three layers of forty slow in turn");
    is_int(report.n_rejected, 0, "are measured as they are");
    fake_free(fake);
}

static double calls_400_to_496_slow(struct fake *fake, int call)
{
    (void)fake;
    return call >= 400 && call < 496 ? 3 : 1;
}

static void long_passes_are_judged_in_pieces(void)
{
    struct fake *fake = fake_new(16, 1, 1);
    struct vbs_measure_report report;
    int n_slow = 0;

    for (int i = 0; i < fake->session.n_kernels; i++)
        fake->base_us[i] *= 300;
    fake->sigma = 0.02;
    fake->disturb = calls_400_to_496_slow;
    is_int(fake_measure(fake, &patient, &report), VBS_OK, "layers of 30 ms and a slow stretch");
    for (int i = 0; i < fake->session.n_kernels; i++)
        for (int run = 0; run < fake->runs[i].n; run++)
            n_slow += fake->runs[i].times_us[run] > 2 * fake->base_us[i];
    is_int(n_slow, 2, "only the first two of the stretch are kept");
    is_int(report.n_rejected, 46, "the others are rejected");
    fake_free(fake);
}

int main(void)
{
    disturbed_passes_never_reach_the_sink();
    a_slow_layer_alone_is_kept();
    a_slow_layer_that_was_preempted_is_rejected();
    preemption_without_delay_is_kept();
    a_machine_slower_for_good_is_measured_as_it_is();
    ordinary_noise_rejects_nothing();
    a_few_slow_layers_of_many_are_kept();
    long_passes_are_judged_in_pieces();
    return done_testing();
}
