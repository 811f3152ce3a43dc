/*
 * Calibrations: the factors of layers from passes, what measuring them runs, and calibrations that
 * cannot be. No check depends on the speed of anything.
 */
#include "profile/measure/calibration.h"
#include "profile/measure/measure.h"
#include "support/profile_help.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- factors ---- */

#define N_LAYERS 3

/* Fills the number 0 of each pass, the sum. */
static struct vbs_pass_record record(double (*passes)[N_LAYERS + 1], int n)
{
    for (int p = 0; p < n; p++)
        passes[p][0] = passes[p][1] + passes[p][2] + passes[p][3];
    return (struct vbs_pass_record){passes[0], n};
}

static void factors_are_ratios_of_medians(void)
{
    double alone[][N_LAYERS + 1] = {{0, 9, 20, 40}, {0, 10, 20, 40}, {0, 11, 20, 40}};
    double beside[][N_LAYERS + 1] = {
        {0, 14, 20, 80}, {0, 15, 19, 80}, {0, 16, 18, 80}, {0, 15, 19, 80}};
    struct vbs_pass_record a = record(alone, 3), b = record(beside, 4);
    double scratch[4], factors[N_LAYERS + 1];

    vbs_beside_factors(&a, &b, N_LAYERS, scratch, factors);
    /* Medians 10, 20, 40 and 15, 20 (not less than alone), 80; passes take 70 and 114 in the mean.
     */
    ok(fabs(factors[1] - 1.5 * 114 / 115) < 1e-12 && factors[2] == 1 &&
           fabs(factors[3] - 2. * 114 / 115) < 1e-12,
       "factors %g, %g, %g", factors[1], factors[2], factors[3]);
}

static void seldom_interruptions_count_for_all_layers(void)
{
    double alone[][N_LAYERS + 1] = {{0, 10, 20, 30}, {0, 10, 20, 30}, {0, 10, 20, 30}};
    double beside[][N_LAYERS + 1] = {{0, 10, 20, 30}, {0, 10, 50, 30}, {0, 10, 20, 30}};
    struct vbs_pass_record a = record(alone, 3), b = record(beside, 3);
    double scratch[3], factors[N_LAYERS + 1];

    vbs_beside_factors(&a, &b, N_LAYERS, scratch, factors);
    for (int k = 1; k <= N_LAYERS; k++)
        ok(fabs(factors[k] - 70. / 60) < 1e-12, "layer %d: %g, the ratio of passes", k, factors[k]);
}

static void layers_without_time_have_no_factor(void)
{
    double none[][N_LAYERS + 1] = {{0}, {0}}, some[][N_LAYERS + 1] = {{0, 1, 2, 3}, {0, 1, 2, 3}};
    struct vbs_pass_record a = record(none, 2), b = record(some, 2);
    double scratch[2], factors[N_LAYERS + 1];

    vbs_beside_factors(&a, &b, N_LAYERS, scratch, factors);
    ok(factors[1] == 1 && factors[2] == 1 && factors[3] == 1, "layers that take no time");
}

/* ---- measuring ---- */

/* A session whose kernels note that they ran. */
struct noting {
    struct plain_session *plain;
    struct vbs_session_ops ops;
    int n_runs[64];
    int fail_at, n_all; /* the run that fails; 0: none */
    int n_speeds;
    int64_t speed_bytes;
};

static struct noting *noting; /* of the test that runs */

static void *alloc(struct vbs_session *session, int64_t bytes)
{
    (void)session;
    return calloc(1, (size_t)bytes);
}

static void release(struct vbs_session *session, void *memory)
{
    (void)session;
    free(memory);
}

static enum vbs_status run(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                           const struct vbs_operands *operands, double *time_us)
{
    (void)ctx;
    (void)operands;
    noting->n_runs[kernel]++;
    noting->n_all++;
    *time_us = strcmp(session->kernels[kernel].algorithm, "winograd") == 0 ? 5 : 10;
    return noting->n_all == noting->fail_at ? VBS_LIBRARY : VBS_OK;
}

static enum vbs_status fill(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                            void *memory)
{
    (void)ctx;
    (void)session;
    (void)tensor;
    (void)n;
    (void)memory;
    return VBS_OK;
}

static enum vbs_status speed(struct vbs_ctx *ctx, const struct vbs_session *session,
                             const void *memory, int64_t bytes, struct vbs_speed *speed)
{
    (void)ctx;
    (void)session;
    (void)memory;
    noting->n_speeds++;
    noting->speed_bytes = bytes;
    *speed =
        (struct vbs_speed){.flops_per_us = 1, .cache_bytes_per_us = 2, .memory_bytes_per_us = 3};
    return VBS_OK;
}

static void begin(struct noting *own)
{
    *own = (struct noting){
        .plain = plain_session_new(N_LAYERS, 2, 2),
        .ops = {.alloc = alloc, .free = release, .run = run, .fill = fill, .speed = speed}};
    own->plain->session.ops = &own->ops;
    noting = own;
}

static const char *const SOURCES[] = {VBS_COPY_PAGE_CACHE};
static const struct vbs_calibrate_options SHORT = {.struct_size = sizeof SHORT,
                                                   .folder = ".",
                                                   .n_sources = 1,
                                                   .sources = SOURCES,
                                                   .time_limit_s = 0.01};

static void the_fastest_kernels_run_beside_copies(void)
{
    struct vbs_calibrate_options options = SHORT;
    char warning[VBS_DETAIL_SIZE];
    struct vbs_calibration *made = NULL;
    struct vbs_ctx ctx = {0};
    struct noting own;
    bool right = true;

    begin(&own);
    if (ok(vbs_measure_calibration(&ctx, &own.plain->session, &options, warning, &made) == VBS_OK,
           "is measured: %s", ctx.detail)) {
        is_str(warning, "", "without a warning");
        ok(made->speed.flops_per_us == 1 && made->speed.memory_bytes_per_us == 3 &&
               own.n_speeds == 1,
           "the speed is the session's");
        ok(own.speed_bytes > 0, "which had %lld bytes to read", (long long)own.speed_bytes);
        if (ok(made->n_sources == 1 && strcmp(made->sources[0].source, SOURCES[0]) == 0,
               "the source has factors"))
            for (int k = 0; k <= N_LAYERS; k++)
                right = right && made->sources[0].beside[k] >= 1 &&
                        made->sources[0].beside[k] <= VBS_MAX_BESIDE;
        ok(right, "of 1 or more");
    }
    for (int i = 0; i < own.plain->session.n_kernels; i++) {
        const struct vbs_kernel *k = &own.plain->session.kernels[i];
        bool fast = strcmp(k->algorithm, "winograd") == 0;

        ok(k->batch > 1 ? own.n_runs[i] == 0
           : fast       ? own.n_runs[i] > 10
                        : own.n_runs[i] < 10,
           "layer %d, batch %d, %s: %d runs", k->layer, k->batch, k->algorithm, own.n_runs[i]);
    }
    vbs_calibration_free(made);
    plain_session_free(own.plain);
}

/* The limits are no time, which ends it before anything runs, and a year, so that the machine's
 * speed decides nothing. */
static void factors_need_their_time(void)
{
    static const double MOST_S[] = {1e-9, 3e7};

    for (int i = 0; i < 2; i++) {
        struct vbs_calibrate_options options = SHORT;
        char warning[VBS_DETAIL_SIZE];
        struct vbs_calibration *made = NULL;
        struct vbs_ctx ctx = {0};
        struct noting own;
        int n_ran = 0;

        begin(&own);
        options.most_s = MOST_S[i];
        ok(vbs_measure_calibration(&ctx, &own.plain->session, &options, warning, &made) == VBS_OK &&
               made->speed.flops_per_us == i && made->n_sources == i,
           "%s", i ? "with enough time there are factors" : "without time there is nothing");
        is_str(warning, i ? "" : "there is no time for it", "which a warning says");
        for (int k = 0; k < own.plain->session.n_kernels; k++)
            n_ran += own.n_runs[k] > 0;
        ok((n_ran > 0) == (i == 1), "kernels run only then");
        vbs_calibration_free(made);
        plain_session_free(own.plain);
    }
}

static void failures_are_passed_on(void)
{
    struct vbs_calibrate_options options = SHORT;
    char warning[VBS_DETAIL_SIZE];
    struct vbs_calibration *made = NULL;
    struct vbs_ctx ctx = {0};
    struct noting own;
    int n = 0;

    for (int at = 1; at < 40; at += 7) {
        begin(&own);
        own.fail_at = at;
        n += vbs_measure_calibration(&ctx, &own.plain->session, &options, warning, &made) !=
             VBS_LIBRARY;
        plain_session_free(own.plain);
    }
    is_int(n, 0, "a kernel that fails ends it, alone and beside copies");
    begin(&own);
    options.folder = "/nowhere";
    ok(vbs_measure_calibration(&ctx, &own.plain->session, &options, warning, &made) == VBS_OK &&
           made->n_sources == 0 && made->speed.flops_per_us == 1,
       "without a folder there is only the speed");
    ok(strstr(warning, "/nowhere"), "and a warning: %s", warning);
    vbs_calibration_free(made);
    options.batch = 3;
    options.folder = ".";
    is_int(vbs_measure_calibration(&ctx, &own.plain->session, &options, warning, &made),
           VBS_UNSUPPORTED, "a batch that the session does not have");
    options.n_sources = -1;
    is_int(vbs_measure_calibration(&ctx, &own.plain->session, &options, warning, &made), VBS_USAGE,
           "less than no sources");
    own.plain->session.modelled = true;
    options.n_sources = 1;
    ok(vbs_measure_calibration(&ctx, &own.plain->session, &options, warning, &made) == VBS_OK &&
           made->n_sources == 0 && made->speed.flops_per_us == 0,
       "a modelled session has no figures");
    vbs_calibration_free(made);
    plain_session_free(own.plain);
}

/* ---- the speed of the last-level cache ---- */

static void slow_times_are_seen_and_left_out(void)
{
    struct vbs_weather weather = {0};
    double now_s = 0;
    int n_slow = 0;

    ok(vbs_weather_is_due(&weather, 0) && vbs_weather_speed(&weather) == 0,
       "nothing is known first");
    for (int i = 0; i < 20; i++, now_s += 1) {
        vbs_weather_add(&weather, now_s, i % 5 == 4 ? 80 : 100 + i % 3);
        n_slow += weather.is_slow;
        ok(weather.is_slow == (i % 5 == 4), "speed %d", i);
    }
    is_int(n_slow, 4, "the slow ones");
    ok(vbs_weather_speed(&weather) == 101, "do not count: %g", vbs_weather_speed(&weather));
    vbs_weather_add(&weather, now_s, 0);
    ok(vbs_weather_speed(&weather) == 101, "nor does one that could not be measured");
    ok(!vbs_weather_is_due(&weather, now_s + 0.1) && vbs_weather_is_due(&weather, now_s + 0.3),
       "it is measured now and then");
    for (int i = 0; i < VBS_WEATHER_KEPT; i++)
        vbs_weather_add(&weather, now_s, 50);
    ok(vbs_weather_speed(&weather) == 50 && !weather.is_slow, "a machine that stays slower is so");
}

/* ---- what cannot be ---- */

#define HEAD                                                                                       \
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,in_"  \
    "place\n"
#define ROWS HEAD "1,a,conv,0,1,x,4,1,1,1,9,0\n2,b,conv,1,1,x,4,1,1,1,9,0\n"
#define COPY "# copy: disk,100,5\n"

static void refuse(const char *lines, const char *reason)
{
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    char text[1000];

    snprintf(text, sizeof text, "%s%s", lines, ROWS);
    if (!ok(vbs_profile_parse_csv(&ctx, "p", text, strlen(text), &profile) == VBS_FORMAT &&
                strstr(ctx.detail, reason),
            "%s", reason))
        printf("# %s\n", ctx.detail);
    vbs_profile_free(profile);
}

static void files_are_checked(void)
{
    refuse(COPY "# beside: disk,1,1\n", "layer 2 has no factor beside copies from 'disk'");
    refuse(COPY "# beside: disk,1,1,1,1\n", "there are 4 factors beside copies from 'disk'");
    refuse(COPY "# beside: disk,1,0.9,1\n", "a factor beside copies is 0.9, not from 1");
    refuse(COPY "# beside: disk,1,2e6,1\n", "a factor beside copies is 2e+06, not from 1");
    refuse(COPY "# beside: disk,1,nan,1\n", "is not a finite decimal number");
    refuse(COPY "# beside: disk,1,,1\n", "is not a finite decimal number");
    refuse(COPY "# beside: disk\n", "factors beside copies are SOURCE,FACTOR,FACTOR,...");
    refuse(COPY "# beside: \"disk,1,1\n", "factors beside copies are SOURCE,FACTOR,FACTOR,...");
    refuse(COPY "# beside: disk,\"1,1,1\n", "a factor beside copies is in quotes");
    refuse(COPY "# beside: disk,1,1,1\n# beside: disk,1,1,1\n", "is there twice");
    refuse(COPY "# beside: tape,1,1,1\n",
           "there are factors beside copies from 'tape', but no such");
    refuse("# speed: 1,2\n", "the speed of the machine is FLOPS_PER_US,");
    refuse("# speed: 1,2,3,4\n", "the speed of the machine is FLOPS_PER_US,");
    refuse("# speed: 1,0,3\n", "of the three speeds of the machine some are 0");
    refuse("# speed: 1,-2,3\n", "the machine's speed is -2 per us");
    refuse("# speed: 1,2,3\n# speed: 1,2,3\n", "'speed' is there twice");
}

static void sources_without_copies_are_left_out(void)
{
    static const double FACTORS[] = {2, 1, 1.5};
    const struct vbs_calibration calibration = {.n_sources = 2,
                                                .sources = {{"tape", FACTORS}, {"disk", FACTORS}}};
    struct vbs_profile *profile = NULL, *calibrated = NULL;
    char hashes[2][VBS_PROFILE_HASH_SIZE];
    struct vbs_ctx ctx = {0};

    if (!ok(vbs_profile_parse_csv(&ctx, "p", COPY ROWS, strlen(COPY ROWS), &profile) == VBS_OK &&
                vbs_profile_calibrate(&ctx, profile, &calibration, &calibrated) == VBS_OK,
            "a profile of one source is calibrated: %s", ctx.detail))
        return;
    ok(calibrated->n_copies == 1 && calibrated->copies[0].link.beside[2] == 1.5, "with its own");
    vbs_profile_hash(profile, hashes[0]);
    vbs_profile_hash(calibrated, hashes[1]);
    ok(strcmp(hashes[0], hashes[1]) != 0, "and has another hash");
    vbs_profile_free(profile);
    vbs_profile_free(calibrated);
}

/* A caller may go on behind a factor that was refused, which must leave nothing behind. */
static void a_refused_factor_leaves_no_source(void)
{
    const struct vbs_profile_layer layer = {.name = "a",
                                            .kind = "conv",
                                            .n_inputs = 1,
                                            .inputs = (int[]){0},
                                            .in_bytes = 1,
                                            .out_bytes = 1};
    const struct vbs_profile_row row = {.time_us = 1};
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};

    ok(builder && vbs_profile_builder_layer(&ctx, builder, &layer) == VBS_OK &&
           vbs_profile_builder_row(&ctx, builder, 1, 1, "x", &row) == VBS_OK &&
           vbs_profile_builder_beside(&ctx, builder, "disk", 1, 0.5) == VBS_FORMAT,
       "a factor below 1 is refused");
    if (ok(vbs_profile_builder_finish(&ctx, builder, &profile) == VBS_OK,
           "the profile is finished"))
        is_int(profile->n_copies, 0, "without its source");
    vbs_profile_free(profile);
    vbs_profile_builder_free(builder);
}

int main(void)
{
    factors_are_ratios_of_medians();
    seldom_interruptions_count_for_all_layers();
    layers_without_time_have_no_factor();
    the_fastest_kernels_run_beside_copies();
    factors_need_their_time();
    failures_are_passed_on();
    slow_times_are_seen_and_left_out();
    files_are_checked();
    sources_without_copies_are_left_out();
    a_refused_factor_leaves_no_source();
    return done_testing();
}
