/*
 * The limit that holds (most_s): measuring ends at it, whatever the machine does, with a profile of
 * those batches at which every layer has a time. The clock moves only when a kernel runs.
 */
#include "support/tap.h"

#include "fake/session.h"

#define LAYERS     12
#define BATCHES    4 /* 1, 2, 4, 8 */
#define ALGORITHMS 3

static const struct vbs_measure_options limited = {.struct_size =
                                                       sizeof(struct vbs_measure_options),
                                                   .time_limit_s = 1e-6,
                                                   .seed = 1,
                                                   .save_runs = true};

/* Returns the longest time of one kernel. */
static double longest_s(const struct fake *fake)
{
    double most_us = 0;

    for (int i = 0; i < fake->session.n_kernels; i++)
        most_us = fmax(most_us, fake->base_us[i]);
    return most_us * 1e-6 * fake->clock_factor;
}

/* Returns whether a batch is whole: every layer has a kernel that counts; sets *n_odd to how many
 * kernels count and have no sample. */
static bool is_whole(const struct fake *fake, int batch_index, int *n_odd)
{
    bool whole = true;

    for (int layer = 1; layer <= fake->session.n_layers; layer++) {
        bool any = false;

        for (int a = 0; a < fake->n_algorithms; a++) {
            int kernel = fake_kernel(fake, layer, batch_index, a);

            any = any || !fake->left_out[kernel];
            *n_odd += !fake->left_out[kernel] && fake->runs[kernel].n == 0;
        }
        whole = whole && any;
    }
    return whole;
}

/* Returns whether all kernels of a batch are left out. */
static bool is_gone(const struct fake *fake, int batch_index)
{
    bool gone = true;

    for (int layer = 1; layer <= fake->session.n_layers; layer++)
        for (int a = 0; a < fake->n_algorithms; a++)
            gone = gone && fake->left_out[fake_kernel(fake, layer, batch_index, a)];
    return gone;
}

/* Returns the time of one sample of all layers by their slowest algorithm. */
static double sample_s(const struct fake *fake)
{
    double sum_us = 0;

    for (int layer = 1; layer <= fake->session.n_layers; layer++)
        sum_us += fake->base_us[fake_kernel(fake, layer, 0, fake->n_algorithms - 1)];
    return sum_us * 1e-6 * fake->clock_factor;
}

/* Measures within so many times the time of a sample, on a machine that is so many times slower;
 * returns how many batches the profile has, below 0 where something is wrong. */
static int measure_within(double samples, double slower)
{
    struct fake *fake = fake_new(LAYERS, BATCHES, ALGORITHMS);
    struct vbs_measure_options options = limited;
    struct vbs_measure_report report;
    int n_whole = 0, n_odd = 0;
    double least_s;
    bool sound;

    options.most_s = fmax(1e-9, samples * sample_s(fake)); /* 0: no limit */
    for (int i = 0; i < fake->session.n_kernels; i++)
        fake->base_us[i] *= slower;
    sound = fake_measure(fake, &options, &report) == VBS_OK && fake->n_wrong == 0;
    /* Two passes of one sample come first, and the run of one kernel ends behind the limit. */
    least_s = 2 * sample_s(fake);
    sound = sound && report.total_s <= fmax(options.most_s, least_s) + longest_s(fake);
    for (int b = 0; b < BATCHES; b++) {
        bool whole = is_whole(fake, b, &n_odd);

        sound = sound && (whole || is_gone(fake, b)) && (b > 0 || whole);
        n_whole += whole;
    }
    sound = sound && n_odd == 0 && report.n_batches_left_out == BATCHES - n_whole;
    if (!sound)
        printf("# %g samples, %g times slower: %g s of %g s, %d batches, %d odd\n", samples, slower,
               report.total_s, options.most_s, n_whole, n_odd);
    fake_free(fake);
    return sound ? n_whole : -1;
}

static void limits_hold(void)
{
    static const double SAMPLES[] = {0, 1, 1.5, 2, 3, 5, 8, 12, 20, 40, 100, 300};
    int n_wrong = 0, last = 0, n_shrunk = 0;

    for (size_t i = 0; i < sizeof SAMPLES / sizeof SAMPLES[0]; i++) {
        int n = measure_within(SAMPLES[i], 1);

        n_wrong += n < 1;
        n_shrunk += n < last;
        last = n;
    }
    is_int(n_wrong, 0, "measuring ends at its limit, with a profile of whole batches");
    is_int(n_shrunk, 0, "more time gives no fewer batches");
    is_int(last, BATCHES, "enough time gives all of them");
    is_int(measure_within(0, 1), 1, "no time at all gives batch 1");
    is_int(measure_within(300, 1000), 1, "so does a machine that is a thousand times slower");
}

/* Slows the machine down a thousandfold for the calls from number 40 on. */
static double slow_later(struct fake *fake, int call)
{
    (void)fake;
    return call >= 40 ? 1000 : 1;
}

static void a_machine_that_becomes_slow_ends_in_time(void)
{
    struct fake *fake = fake_new(LAYERS, BATCHES, ALGORITHMS);
    struct vbs_measure_options options = limited;
    struct vbs_measure_report report;
    int n_odd = 0;

    options.most_s = 300 * sample_s(fake);
    fake->disturb = slow_later;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "a machine becomes slow");
    ok(report.total_s <= options.most_s + 1000 * longest_s(fake), "measuring ends (%g of %g s)",
       report.total_s, options.most_s);
    ok(is_whole(fake, 0, &n_odd) && n_odd == 0, "with a profile");
    fake_free(fake);
}

static void without_leaving_out_every_kernel_runs(void)
{
    struct fake *fake = fake_new(LAYERS, BATCHES, ALGORITHMS);
    struct vbs_measure_options options = limited;
    struct vbs_measure_report report;

    options.most_s = 1e-9;
    fake->sink.leave_out = NULL;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "a sink that needs all kernels");
    ok(fake_fewest_runs(fake) >= 1 && report.n_left_out == 0, "gets all of them");
    fake_free(fake);
}

static void stored_samples_count(void)
{
    struct fake *fake = fake_new(LAYERS, BATCHES, ALGORITHMS);
    struct vbs_measure_options options = limited;
    struct vbs_measure_report report;

    options.most_s = 1e-9;
    is_int(fake_measure(fake, &options, &report), VBS_OK, "no time gives batch 1");
    fake_restart(fake);
    memset(fake->left_out, 0, sizeof fake->left_out);
    is_int(fake_measure(fake, &options, &report), VBS_OK, "it goes on without time");
    ok(fake->n_calls <= 1, "and runs one kernel at most, because batch 1 is there");
    options.most_s = 1e6;
    fake_restart(fake);
    memset(fake->left_out, 0, sizeof fake->left_out);
    is_int(fake_measure(fake, &options, &report), VBS_OK, "it goes on with time");
    is_int(report.n_batches_left_out, 0, "which gives the other batches");
    fake_free(fake);
}

int main(void)
{
    limits_hold();
    a_machine_that_becomes_slow_ends_in_time();
    without_leaving_out_every_kernel_runs();
    stored_samples_count();
    return done_testing();
}
