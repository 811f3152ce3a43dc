/*
 * Packed weights and copies of a profile: the builder keeps them, the link fits measured copies,
 * and CSV carries both.
 */
#include "support/profile_help.h"
#include "cases/random_profile.h"
#include "support/tap.h"

#include <stdlib.h>

#define HEAD                                                                                       \
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"     \
    "in_place"
#define ROW "1,L1,conv,0,1,default,4,1,1,1,8,0"

static struct vbs_profile *parse(const char *text)
{
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_profile_parse_csv(&ctx, "t.csv", text, strlen(text), &profile) != VBS_OK)
        printf("# %s\n", ctx.detail);
    return profile;
}

/* Makes a profile of one layer with these copies from one source. */
static struct vbs_profile *with_copies(int n, const struct vbs_copy_row *rows)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile_layer layer = {
        .name = "L1", .kind = "fc", .n_inputs = 1, .inputs = (const int[]){0}};
    struct vbs_profile_row row = {.time_us = 1};
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_profile_builder_layer(&ctx, builder, &layer);

    if (status == VBS_OK)
        status = vbs_profile_builder_row(&ctx, builder, 1, 1, "x", &row);
    for (int i = 0; i < n && status == VBS_OK; i++)
        status = vbs_profile_builder_copy(&ctx, builder, "disk", &rows[i]);
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&ctx, builder, &profile);
    if (status != VBS_OK)
        printf("# %s\n", ctx.detail);
    vbs_profile_builder_free(builder);
    return profile;
}

/* ---- the fit ---- */

static void copies_on_a_line_give_its_link(void)
{
    struct vbs_copy_row rows[5];
    struct vbs_profile *profile;
    const struct vbs_copy *copy;

    for (int i = 0; i < 5; i++) {
        int64_t bytes = INT64_C(65536) << (2 * ((i * 3) % 5)); /* not in order */

        rows[i] = (struct vbs_copy_row){.bytes = bytes, .time_us = 100 + (double)bytes / 1000};
    }
    profile = with_copies(5, rows);
    copy = profile ? vbs_profile_copy(profile, "disk") : NULL;
    if (!ok(copy, "the copies are there"))
        return;
    is_near(copy->link.latency_us, 100, 1e-6, "latency");
    is_near(copy->link.bytes_per_us, 1000, 1e-6, "rate");
    is_near(copy->error_percent, 0, 1e-9, "no error");
    is_str(copy->link.source, "disk", "the link knows its source");
    is_int(copy->rows[0].bytes, 65536, "rows ascend");
    is_int(copy->rows[4].bytes, 65536 << 8, "... to the largest");
    ok(!vbs_profile_copy(profile, "tape"), "no copies from elsewhere");
    vbs_profile_free(profile);
}

static void one_copy_gives_its_rate_without_latency(void)
{
    struct vbs_profile *profile =
        with_copies(1, &(struct vbs_copy_row){.bytes = 3000, .time_us = 4});

    if (!ok(profile, "one copy"))
        return;
    is_near(profile->copies[0].link.latency_us, 0, 0, "no latency");
    is_near(profile->copies[0].link.bytes_per_us, 750, 1e-9, "rate");
    is_near(profile->copies[0].error_percent, 0, 1e-9, "no error");
    vbs_profile_free(profile);
}

/* Gives the sum of the squared relative errors of a link. */
static double squares(const struct vbs_copy *copy, double latency_us, double us_per_byte)
{
    double sum = 0;

    for (int i = 0; i < copy->n_rows; i++) {
        double time_us = copy->rows[i].time_us;
        double error = (latency_us + us_per_byte * (double)copy->rows[i].bytes) / time_us - 1;

        sum += error * error;
    }
    return sum;
}

/* Gives whether no allowed link near the fitted one has smaller relative errors. */
static bool is_least(const struct vbs_copy *copy)
{
    double latency_us = copy->link.latency_us, us_per_byte = 1 / copy->link.bytes_per_us;
    double least = squares(copy, latency_us, us_per_byte) * (1 + 1e-12);
    double step_us = copy->rows[0].time_us / 1000;

    if (latency_us < 0 || !(copy->link.bytes_per_us > 0))
        return false;
    for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++)
            if (latency_us + i * step_us >= 0 &&
                squares(copy, latency_us + i * step_us, us_per_byte * (1 + j / 1000.0)) < least)
                return i == 0 && j == 0;
    return true;
}

static double largest_error(const struct vbs_copy *copy)
{
    double most = 0;

    for (int i = 0; i < copy->n_rows; i++) {
        double us = copy->link.latency_us + (double)copy->rows[i].bytes / copy->link.bytes_per_us;

        most = fmax(most, fabs(us / copy->rows[i].time_us - 1) * 100);
    }
    return most;
}

static void noisy_copies_are_fitted_by_relative_errors(gsl_rng *rng)
{
    int n_wrong = 0, n_clamped = 0;

    for (int t = 0; t < 200; t++) {
        struct vbs_copy_row rows[8];
        double latency_us = t % 2 ? 0 : 200;
        struct vbs_profile *profile;

        for (int i = 0; i < 8; i++) {
            rows[i].bytes = INT64_C(1) << (14 + 2 * i);
            rows[i] = (struct vbs_copy_row){.bytes = rows[i].bytes,
                                            .time_us = (latency_us + (double)rows[i].bytes / 900) *
                                                       (0.8 + 0.4 * gsl_rng_uniform(rng))};
        }
        profile = with_copies(8, rows);
        n_wrong +=
            !profile || !is_least(&profile->copies[0]) ||
            fabs(largest_error(&profile->copies[0]) - profile->copies[0].error_percent) > 1e-6;
        n_clamped += profile && profile->copies[0].link.latency_us == 0;
        vbs_profile_free(profile);
    }
    is_int(n_wrong, 0, "no link near has less");
    ok(n_clamped > 20 && n_clamped < 180, "some have no latency: %d of 200", n_clamped);
}

static void a_negative_latency_becomes_none(void)
{
    static const struct vbs_copy_row ROWS[] = {{.bytes = 1000, .time_us = 1},
                                               {.bytes = 10000, .time_us = 20}};
    struct vbs_profile *profile = with_copies(2, ROWS);

    if (!ok(profile, "larger copies are slower per byte"))
        return;
    is_near(profile->copies[0].link.latency_us, 0, 0, "no latency");
    /* The slope is the one with the least (1000 s - 1)^2 + (500 s - 1)^2: s = 1500 / 1250000. */
    is_near(profile->copies[0].link.bytes_per_us, 1250000.0 / 1500, 1e-6, "through the origin");
    vbs_profile_free(profile);
}

static void strange_copies_have_a_finite_link(gsl_rng *rng)
{
    static const struct vbs_copy_row FALLING[] = {{.bytes = 10, .time_us = 9},
                                                  {.bytes = 20, .time_us = 5}};
    static const struct vbs_copy_row EQUAL[] = {{.bytes = (INT64_C(1) << 62) + 1, .time_us = 9},
                                                {.bytes = (INT64_C(1) << 62) + 2, .time_us = 5}};
    static const struct vbs_copy_row EXTREME[] = {{.bytes = 1, .time_us = 1e18},
                                                  {.bytes = INT64_MAX, .time_us = 10},
                                                  {.bytes = 2, .time_us = 2e-18}};
    const struct {
        const struct vbs_copy_row *rows;
        int n;
    } cases[] = {{FALLING, 2}, {EQUAL, 2}, {EXTREME, 3}};
    int n_wrong = 0;

    for (int i = 0; i < 300; i++) {
        struct vbs_copy_row random[6];
        struct vbs_profile *profile;

        for (int j = 0; j < 6; j++)
            random[j] = (struct vbs_copy_row){
                .bytes = 1 + j + 6 * (INT64_C(1) << random_int(rng, 0, 59)),
                .time_us = ldexp(1 + gsl_rng_uniform(rng), random_int(rng, 3, 55))};
        profile = i < 3 ? with_copies(cases[i].n, cases[i].rows) : with_copies(6, random);
        n_wrong += !profile || !isfinite(profile->copies[0].link.bytes_per_us) ||
                   !(profile->copies[0].link.bytes_per_us > 0) ||
                   !isfinite(profile->copies[0].link.latency_us) ||
                   profile->copies[0].link.latency_us < 0 ||
                   !isfinite(profile->copies[0].error_percent);
        vbs_profile_free(profile);
    }
    is_int(n_wrong, 0, "latency and rate are finite, whatever the times");
}

/* ---- rows ---- */

static void rows_keep_their_packed_weights(void)
{
    struct vbs_profile *profile = parse(HEAD ",channels,packed_bytes,form\n" ROW ",96,12,1\n"
                                             "1,L1,conv,0,1,other,4,1,1,1,8,0,96,0,0\n");
    const struct vbs_profile_row *rows;
    int n_rows;

    if (!ok(profile, "packed columns"))
        return;
    rows = vbs_profile_rows(profile, 1, 0, &n_rows);
    is_int(profile->layers[1].channels, 96, "channels");
    is_int(rows[0].weight_bytes, 12, "packed weights");
    is_int(rows[0].format, 1, "packed weight format");
    is_int(rows[1].weight_bytes, 8, "0 stands for the layer's");
    is_int(rows[1].format, 0, "packed weight format 0");
    vbs_profile_free(profile);
}

static void packed_columns_may_come_alone(void)
{
    struct vbs_profile *profile = parse("form," HEAD "\n3," ROW "\n");
    const struct vbs_profile_row *rows;
    int n_rows;

    if (!ok(profile, "only packed weight formats"))
        return;
    rows = vbs_profile_rows(profile, 1, 0, &n_rows);
    ok(rows[0].format == 3 && rows[0].weight_bytes == 8 && profile->layers[1].channels == 0,
       "what is missing has its default");
    vbs_profile_free(profile);
}

static void rows_say_in_how_many_slices_they_run(void)
{
    struct vbs_profile *profile = parse(HEAD ",channels,packed_bytes,form,parts\n" ROW ",96,9,0,0\n"
                                             "1,L1,conv,0,1,never,4,1,1,1,8,0,96,8,1,1\n"
                                             "1,L1,conv,0,1,wide,4,1,1,1,8,0,96,32,2,8\n"
                                             "1,L1,conv,0,1,wider,4,1,1,1,8,0,96,32,2,0\n");
    const struct vbs_profile_layer *layer;
    const struct vbs_profile_row *rows;
    int n_rows;

    if (!ok(profile, "a column of slices"))
        return;
    layer = &profile->layers[1];
    rows = vbs_profile_rows(profile, 1, 0, &n_rows);
    ok(rows[0].n_slices == 0 && vbs_profile_divisible(layer, &rows[0]) &&
           vbs_profile_divides(layer, &rows[0], 7) && vbs_profile_divides(layer, &rows[0], 96) &&
           !vbs_profile_divides(layer, &rows[0], 97),
       "any number, as there are channels");
    ok(rows[1].n_slices == 1 && !vbs_profile_divisible(layer, &rows[1]) &&
           vbs_profile_divides(layer, &rows[1], 1) && !vbs_profile_divides(layer, &rows[1], 2),
       "never");
    ok(rows[2].n_slices == 8 && !vbs_profile_divisible(layer, &rows[2]) &&
           vbs_profile_divides(layer, &rows[2], 1) && vbs_profile_divides(layer, &rows[2], 8) &&
           !vbs_profile_divides(layer, &rows[2], 2) && !vbs_profile_divides(layer, &rows[2], 16),
       "whole or in 8");
    ok(rows[3].n_slices == 0 && !vbs_profile_divisible(layer, &rows[3]) &&
           !vbs_profile_divides(layer, &rows[3], 2),
       "what does not say, and packs to four times the weights, never");
    vbs_profile_free(profile);
}

/* ---- CSV ---- */

static bool writes(const char *text, const char *folder)
{
    struct vbs_profile *profile = parse(text);
    char *path = path_in(folder, "written.csv"), *written = NULL;
    struct vbs_ctx ctx = {0};
    size_t length;
    bool same;

    if (profile && vbs_profile_write_csv(&ctx, profile, path) == VBS_OK)
        written = read_text(path, &length);
    same = written && strcmp(written, text) == 0;
    if (!same)
        printf("# %s\n", written ? written : "nothing");
    vbs_profile_free(profile);
    free(written);
    free(path);
    return same;
}

static void profiles_without_weights_keep_their_bytes(const char *folder)
{
    ok(writes(HEAD "\n" ROW "\n", folder), "no columns and no copies");
    ok(writes(HEAD ",mad_us,low_us,high_us,n_runs\n" ROW ",1,3,5,7\n", folder), "measured");
    ok(writes(HEAD ",channels,packed_bytes,form\n" ROW ",2,8,0\n", folder), "channels");
    ok(writes(HEAD ",channels,packed_bytes,form\n" ROW ",0,9,0\n", folder), "packed weights");
    ok(writes(HEAD ",channels,packed_bytes,form\n" ROW ",0,8,1\n", folder),
       "packed weight formats");
    ok(writes(HEAD ",channels,packed_bytes,form,parts\n" ROW ",0,9,0,1\n", folder) &&
           writes(HEAD ",parts\n" ROW ",1\n", folder) &&
           writes(HEAD ",mad_us,low_us,high_us,n_runs,channels,packed_bytes,form,parts\n" ROW
                       ",1,3,5,7,4,8,1,2\n",
                  folder),
       "slices");
    ok(writes("# model: m\n# threads: 2\n# copy: page-cache,65536,12.5,0.5,12,13,9\n"
              "# copy: page-cache,262144,50\n# copy: \"a,\\\"b\\\\\\n\",1,2\n" HEAD
              ",mad_us,low_us,high_us,n_runs,channels,packed_bytes,form\n" ROW ",1,3,5,7,2,8,1\n",
              folder),
       "copies, statistics and packed weights");
}

static void sources_keep_their_order(void)
{
    struct vbs_profile *profile =
        parse("# copy: tape,9,1\n#copy:disk,5,1\n# copy: tape,4,1\n" HEAD
              "\n# copy: after the header it is only a comment\n" ROW "\n");

    if (!ok(profile && profile->n_copies == 2, "two sources"))
        return;
    is_str(profile->copies[0].source, "tape", "the first");
    is_str(profile->copies[1].source, "disk", "the second");
    is_int(profile->copies[0].rows[0].bytes, 4, "sizes ascend");
    vbs_profile_free(profile);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    char *folder = temporary_folder();

    copies_on_a_line_give_its_link();
    one_copy_gives_its_rate_without_latency();
    noisy_copies_are_fitted_by_relative_errors(rng);
    a_negative_latency_becomes_none();
    strange_copies_have_a_finite_link(rng);
    rows_keep_their_packed_weights();
    packed_columns_may_come_alone();
    rows_say_in_how_many_slices_they_run();
    profiles_without_weights_keep_their_bytes(folder);
    sources_keep_their_order();
    remove_folder(folder);
    gsl_rng_free(rng);
    return done_testing();
}
