/* The interval of a schedule's predicted time: by hand from those of its rows, and from what the
 * profile says of stretches of time. */
#include "support/profile_help.h"
#include "profile/builder.h"
#include "support/tap.h"

#include "vbslab/schedule.h"

#include <math.h>
#include <stdio.h>

#define N_LAYERS 2

/* Rows of 100 and 40 us, the first with an interval from 90 to 120. */
static struct vbs_profile *two_layers(const char *times)
{
    static const struct vbs_profile_row ROWS[N_LAYERS] = {
        {.time_us = 100, .low_us = 90, .high_us = 120, .n_runs = 9}, {.time_us = 40}};
    struct vbs_provenance provenance = {.model = "two",
                                        .input = "1",
                                        .backend = "none",
                                        .library = "",
                                        .device = "",
                                        .vbslab = "",
                                        .layout = "",
                                        .date = "",
                                        .notes = "",
                                        .times = times};
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *plain = NULL, *made = NULL;
    enum vbs_status status = builder ? VBS_OK : VBS_NO_MEMORY;

    for (int k = 1; status == VBS_OK && k <= N_LAYERS; k++) {
        const int input = k - 1;

        status = vbs_profile_builder_layer(NULL, builder,
                                           &(struct vbs_profile_layer){.name = "L",
                                                                       .kind = "conv",
                                                                       .n_inputs = 1,
                                                                       .inputs = &input,
                                                                       .in_bytes = 4,
                                                                       .out_bytes = 4,
                                                                       .weight_bytes = 4});
        if (status == VBS_OK)
            status = vbs_profile_builder_row(NULL, builder, k, 1, "only", &ROWS[k - 1]);
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(NULL, builder, &plain);
    if (status == VBS_OK)
        status = vbs_profile_change(NULL, plain, NULL, &provenance, &made);
    vbs_profile_builder_free(builder);
    vbs_profile_free(plain);
    if (status != VBS_OK)
        bail_out("no profile of two layers");
    return made;
}

/* Runs the first n layers, then loads weights of the second where that is asked for. */
static bool interval_of(const char *times, int n, bool loads, double *low_us, double *high_us)
{
    static const char *const ALGORITHMS[] = {"only"};
    const struct vbs_step steps[] = {
        {.layer = 1, .batch = 1, .op = VBS_STEP_COMPUTE, .slice = 1},
        {.layer = 2, .batch = 1, .op = VBS_STEP_COMPUTE, .slice = 1},
    };
    const struct vbs_step load = {.layer = 2, .op = VBS_STEP_LOAD, .bytes = 4, .slice = 1};
    const struct vbs_schedule schedule = {
        .n_algorithms = 1, .algorithms = ALGORITHMS, .n_steps = n, .steps = loads ? &load : steps};
    struct vbs_profile *profile = two_layers(times);
    bool has = vbs_schedule_interval(profile, &schedule, low_us, high_us);

    vbs_profile_free(profile);
    return has;
}

static double drift_of(const char *times)
{
    return vbs_provenance_drift(&(struct vbs_provenance){.times = times});
}

static void test_intervals(void)
{
    double low_us = -1, high_us = -1;

    bool has = interval_of("posterior", 2, false, &low_us, &high_us);

    ok(has && low_us == 130 && high_us == 160,
       "ends of rows add up, with the times of rows that have none (%g to %g)", low_us, high_us);
    ok(interval_of("posterior +-3.0%", 2, false, &low_us, &high_us), "and drift counts beside");
    is_near(low_us, 140 * exp(-hypot(log(140 / 130.0), 1.959963984540054 * 0.03)), 1e-9,
            "  as independent");
    is_near(high_us, 140 * exp(hypot(log(160 / 140.0), 1.959963984540054 * 0.03)), 1e-9,
            "  above, too");
    low_us = high_us = -1;
    ok(!interval_of("posterior", 1, true, &low_us, &high_us) && low_us == -1 && high_us == -1,
       "the time of a load has none");
}

static void test_texts(void)
{
    static const char *const NONE[] = {"",
                                       "posterior",
                                       "posterior ",
                                       "posterior +-",
                                       "posterior +-3",
                                       "posterior +-3%",
                                       "posterior +-3.%",
                                       "posterior +-3.25%",
                                       "posterior +--3.0%",
                                       "posterior +-nan%",
                                       "posterior +-99999999999999999999.0%",
                                       "posteriors +-3.0%",
                                       "medians +-3.0%"};
    int n = 0;

    is_near(drift_of("posterior +-3.2%"), 0.032, 1e-15, "a drift is read");
    is_near(drift_of("posterior +-0.1%"), 0.001, 1e-15, "  a small one");
    is_near(drift_of("posterior +-5000.0%"), 1, 1e-15, "  and no more than there can be");
    for (size_t i = 0; i < sizeof NONE / sizeof NONE[0]; i++)
        if (drift_of(NONE[i]) != 0) {
            printf("# '%s': %g\n", NONE[i], drift_of(NONE[i]));
            n++;
        }
    is_int(n, 0, "other texts say none");
    ok(vbs_provenance_posterior(&(struct vbs_provenance){.times = "posterior +-3.2%"}) &&
           !vbs_provenance_posterior(&(struct vbs_provenance){.times = "posteriors"}),
       "times with a drift are posterior ones");
}

int main(void)
{
    test_intervals();
    test_texts();
    return done_testing();
}
