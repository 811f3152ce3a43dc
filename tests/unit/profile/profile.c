/*
 * Profiles as CSV: the allowed forms of a file, and profiles that are written and read back to the
 * bit. Refusals are in refusals.c.
 */
#include "support/profile_help.h"
#include "cases/random_profile.h"
#include "support/tap.h"

#include <locale.h>
#include <stdlib.h>
#include <unistd.h>

#define HEAD                                                                                       \
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"     \
    "in_place\n"

/* The worked example of VBS III. */
#define EXAMPLE                                                                                    \
    HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n"                                                     \
         "1,L1,conv,0,2,default,6,2,2,2,0,0\n"                                                     \
         "2,L2,conv,1,1,default,4,1,1,4,0,0\n"                                                     \
         "2,L2,conv,1,2,default,6,2,2,8,0,0\n"                                                     \
         "3,L3,conv,2,1,default,4,1,1,1,0,0\n"                                                     \
         "3,L3,conv,2,2,default,6,2,2,2,0,0\n"

static enum vbs_status parse(struct vbs_ctx *ctx, const char *text, size_t length,
                             struct vbs_profile **profile)
{
    *ctx = (struct vbs_ctx){0};
    *profile = NULL;
    return vbs_profile_parse_csv(ctx, "t.csv", text, length, profile);
}

/* ---- what is allowed ---- */

static void the_worked_example_reads_as_it_stands(void)
{
    struct vbs_profile *profile;
    struct vbs_ctx ctx;
    const struct vbs_profile_row *rows;
    int n_rows;

    if (!ok(parse(&ctx, EXAMPLE, strlen(EXAMPLE), &profile) == VBS_OK, "the example of VBS III"))
        return;
    is_int(profile->n_layers, 3, "three layers");
    ok(profile->n_batches == 2 && profile->batches[0] == 1 && profile->batches[1] == 2,
       "batches 1 and 2");
    is_int(profile->layers[0].out_bytes, 1, "the network's input takes one byte");
    is_int(profile->layers[2].inputs[0], 1, "layer 2 reads layer 1");
    rows = vbs_profile_rows(profile, 2, 1, &n_rows);
    is_int(n_rows, 1, "one algorithm");
    is_near(rows[0].time_us, 6, 0, "time of layer 2 at batch 2");
    is_int(rows[0].ws_bytes, 8, "workspace of layer 2 at batch 2");
    is_int(vbs_profile_batch_index(profile, 2), 1, "batch 2 is found");
    is_int(vbs_profile_batch_index(profile, 3), -1, "batch 3 is not");
    is_int(vbs_profile_batch_index(profile, 0), -1, "batch 0 is not");
    is_int(vbs_profile_algorithm(profile, "default"), 0, "the algorithm is found by name");
    is_int(vbs_profile_algorithm(profile, "other"), -1, "another is not");
    is_str(profile->provenance.model, "", "no provenance is null");
    vbs_profile_free(profile);
}

static void same_as_example(const char *name, const char *text)
{
    struct vbs_profile *example, *profile;
    struct vbs_ctx ctx;
    char where[80];
    enum vbs_status status;

    if (parse(&ctx, EXAMPLE, strlen(EXAMPLE), &example) != VBS_OK)
        return;
    status = parse(&ctx, text, strlen(text), &profile);
    ok(status == VBS_OK && !profile_difference(example, profile, where, sizeof where), "%s", name);
    if (status != VBS_OK)
        printf("# %s\n", ctx.detail);
    vbs_profile_free(example);
    vbs_profile_free(profile);
}

static void order_and_form_of_a_file_are_free(void)
{
    same_as_example("rows in any order", HEAD "3,L3,conv,2,2,default,6,2,2,2,0,0\n"
                                              "1,L1,conv,0,2,default,6,2,2,2,0,0\n"
                                              "2,L2,conv,1,2,default,6,2,2,8,0,0\n"
                                              "2,L2,conv,1,1,default,4,1,1,4,0,0\n"
                                              "3,L3,conv,2,1,default,4,1,1,1,0,0\n"
                                              "1,L1,conv,0,1,default,4,1,1,1,0,0\n");
    same_as_example("columns in any order, further ones ignored",
                    "time_us,in_place,mood,weight_bytes,ws_bytes,out_bytes,in_bytes,algorithm,"
                    "batch,inputs,kind,name,layer\n"
                    "4,0,x,0,1,1,1,default,1,0,conv,L1,1\n"
                    "6,0,,0,2,2,2,default,2,0,conv,L1,1\n"
                    "4,0,\"a,\nb\",0,4,1,1,default,1,1,conv,L2,2\n"
                    "6,0,nan,0,8,2,2,default,2,1,conv,L2,2\n"
                    "4,0,1,0,1,1,1,default,1,2,conv,L3,3\n"
                    "6,0,1,0,2,2,2,default,2,2,conv,L3,3\n");
    same_as_example("byte order mark, CRLF, empty lines, comments, quotes, no last line end",
                    "\xef\xbb\xbf# a comment\r\n\r\n"
                    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,"
                    "weight_bytes,\"in_place\"\r\n"
                    "1,L1,conv,0,1,default,4,1,1,1,0,0\r\n"
                    "# model: after the header it is only a comment\r\n"
                    "\"1\",\"L1\",\"conv\",\"0\",\"2\",\"default\",\"6\",\"2\",\"2\",\"2\",\"0\",0"
                    "\r\n"
                    "2,L2,conv,1,1,default,4.0,1,1,4,0,0\r\n\r\n"
                    "2,L2,conv,1,2,default,.6e1,2,2,8,0,0\r\n"
                    "3,L3,conv,2,1,default,40e-1,1,1,1,0,0\r\n"
                    "3,L3,conv,2,2,default,6,2,2,2,0,0");
}

static void provenances_are_read_from_comments(void)
{
    static const char TEXT[] = "#model:plain\n#   device:  A: b  \n# threads: 7\n# unknown: x\n"
                               "# notes: \"two\\nlines \\\"\\\\\\x1b\"\r\n# no colon\n" EXAMPLE;
    struct vbs_profile *profile;
    struct vbs_ctx ctx;

    if (!ok(parse(&ctx, TEXT, strlen(TEXT), &profile) == VBS_OK, "comments with provenance"))
        return;
    is_str(profile->provenance.model, "plain", "model");
    is_str(profile->provenance.device, "A: b", "blanks around a value do not count");
    is_int(profile->provenance.threads, 7, "threads");
    is_str(profile->provenance.notes, "two\nlines \"\\\x1b", "quoted text");
    vbs_profile_free(profile);
}

static void the_input_takes_what_its_largest_reader_reads(void)
{
    static const char TEXT[] = HEAD "1,a,conv,0,1,x,1,5,3,0,0,0\n"
                                    "2,b,add,0;1,1,x,1,12,9,0,0,0\n"
                                    "3,c,add,0;0,1,x,1,15,1,0,0,0\n"
                                    "4,d,part,2,1,x,1,4,1,0,0,0\n";
    struct vbs_profile *profile;
    struct vbs_ctx ctx;

    if (!ok(parse(&ctx, TEXT, strlen(TEXT), &profile) == VBS_OK,
            "reading a part of an input is allowed, and reading one twice"))
        return;
    is_int(profile->layers[0].out_bytes, 9, "12 bytes less the 3 of layer 1");
    vbs_profile_free(profile);
}

/* ---- round trips ---- */

/* Gives whether writing, reading and writing again gives the same profile and the same bytes. */
static bool round_trips(const struct vbs_profile *profile, const char *folder)
{
    char *first = path_in(folder, "first.csv"), *second = path_in(folder, "second.csv");
    struct vbs_profile *back = NULL;
    char *a = NULL, *b = NULL, where[80];
    size_t n = 0, m = 0;
    struct vbs_ctx ctx = {0};
    const char *difference;
    bool same = false;

    if (vbs_profile_write_csv(&ctx, profile, first) != VBS_OK ||
        vbs_profile_read_csv(&ctx, first, &back) != VBS_OK ||
        vbs_profile_write_csv(&ctx, back, second) != VBS_OK) {
        printf("# %s\n", ctx.detail);
        goto done;
    }
    if ((difference = profile_difference(profile, back, where, sizeof where))) {
        printf("# differs: %s\n", difference);
        goto done;
    }
    a = read_text(first, &n);
    b = read_text(second, &m);
    same = a && b && n == m && memcmp(a, b, n) == 0;

done:
    vbs_profile_free(back);
    free(first);
    free(second);
    free(a);
    free(b);
    return same;
}

static void written_profiles_come_back_to_the_bit(const char *folder, gsl_rng *rng)
{
    int n_plain = 0, n_hostile = 0;

    for (int i = 0; i < 200; i++) {
        struct vbs_ctx ctx = {0};
        struct vbs_profile *plain =
            random_profile(rng, (enum random_graph)(i % RANDOM_N_GRAPHS), RANDOM_MAX_LAYERS);
        struct vbs_profile *hostile = hostile_profile(&ctx, rng, i % 2);

        if (!hostile)
            printf("# %s\n", ctx.detail);
        n_plain += plain && round_trips(plain, folder);
        n_hostile += hostile && round_trips(hostile, folder);
        vbs_profile_free(plain);
        vbs_profile_free(hostile);
    }
    is_int(n_plain, 200, "random profiles");
    is_int(n_hostile, 200, "random profiles with hostile texts and times of all magnitudes");
    ok(access("hostile-file", F_OK) != 0, "no text was run as a command");
}

static void only_measured_profiles_have_the_columns_of_statistics(const char *folder)
{
    char *path = path_in(folder, "columns.csv"), *text;
    struct vbs_profile *profile;
    struct vbs_ctx ctx;
    size_t length;

    if (parse(&ctx, EXAMPLE, strlen(EXAMPLE), &profile) == VBS_OK &&
        ok(vbs_profile_write_csv(&ctx, profile, path) == VBS_OK, "written") &&
        (text = read_text(path, &length))) {
        is_str(text, EXAMPLE, "the example is written as it was read");
        free(text);
    }
    vbs_profile_free(profile);
    free(path);
}

static void what_cannot_be_opened_is_said(const char *folder)
{
    char *path = path_in(folder, "no/such.csv");
    struct vbs_profile *profile = NULL, *example;
    struct vbs_ctx ctx = {0};

    ok(vbs_profile_read_csv(&ctx, path, &profile) == VBS_IO &&
           strstr(ctx.detail, "No such file or directory"),
       "reading a file that is not there");
    ok(vbs_profile_read_csv(&ctx, folder, &profile) == VBS_IO && strstr(ctx.detail, "directory"),
       "reading a folder");
    if (parse(&ctx, EXAMPLE, strlen(EXAMPLE), &example) != VBS_OK)
        return;
    ok(vbs_profile_write_csv(&ctx, example, path) == VBS_IO &&
           strstr(ctx.detail, "No such file or directory"),
       "writing into a folder that is not there");
    ok(vbs_profile_write_csv(&ctx, example, "/dev/full") == VBS_IO &&
           strstr(ctx.detail, "No space left"),
       "writing to a full device");
    vbs_profile_free(example);
    free(path);
}

static void numbers_do_not_depend_on_the_locale(const char *folder)
{
    static const char *const WITH_COMMA[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"};
    struct vbs_profile *profile;
    struct vbs_ctx ctx;
    const char *set = NULL;

    for (size_t i = 0; i < sizeof WITH_COMMA / sizeof WITH_COMMA[0] && !set; i++)
        set = setlocale(LC_ALL, WITH_COMMA[i]);
    if (!set) {
        skip("a locale with a decimal comma", "none is installed");
        return;
    }
    if (ok(parse(&ctx, HEAD "1,a,b,0,1,x,1.5,1,1,0,0,0\n", strlen(HEAD) + 26, &profile) == VBS_OK,
           "1.5 is read with a decimal comma in force"))
        ok(round_trips(profile, folder), "and written");
    vbs_profile_free(profile);
    setlocale(LC_ALL, "C");
}

/* ---- fuzzing ---- */

static const char *const TOKENS[] = {
    "\"",
    "\"\"",
    ",",
    "\n",
    "\r\n",
    "\r",
    "#",
    ";",
    "-1",
    "0",
    "4096",
    "4097",
    "inf",
    "1e308",
    "\0",
    "99999999999999999999",
    "# model: ",
    "\\x",
    "\xff",
    "1",
    "2",
    "3",
    "# copy: disk,",
};

/* Overwrites, deletes, repeats or inserts something somewhere. */
static size_t mutate(gsl_rng *rng, char *text, size_t length, size_t capacity)
{
    size_t at = (size_t)random_int(rng, 0, (int)length);
    size_t n = (size_t)random_int(rng, 1, 40);
    const char *token = TOKENS[random_int(rng, 0, sizeof TOKENS / sizeof TOKENS[0] - 1)];
    size_t n_token = token[0] ? strlen(token) : 1;

    switch (random_int(rng, 0, 3)) {
    case 0:
        if (at < length)
            text[at] = (char)random_int(rng, 0, 255);
        return length;
    case 1:
        n = n > length - at ? length - at : n;
        memmove(text + at, text + at + n, length - at - n);
        return length - n;
    case 2:
        n = n > length - at ? length - at : n;
        if (length + n > capacity)
            return length;
        memmove(text + at + n, text + at, length - at);
        return length + n;
    default:
        if (length + n_token > capacity)
            return length;
        memmove(text + at + n_token, text + at, length - at);
        memcpy(text + at, token, n_token);
        return length + n_token;
    }
}

static void mutated_files_are_refused_or_come_back(const char *folder, gsl_rng *rng)
{
    static const char SEED[] =
        "# model: fuzz\n# notes: \"a\\nb\"\n# threads: 3\n# copy: disk,9,4\n"
        "# copy: \"page,cache\",9,4.5,1,4,5,7\n# copy: disk,90,8\n"
        "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
        "in_place,mad_us,low_us,high_us,n_runs,channels,packed_bytes,form\n"
        "1,\"L,1\",conv,0,1,x,4.5,1,1,1,0,0,0.1,4,5,9,3,40,2\n"
        "1,\"L,1\",conv,0,2,x,6,2,2,2,0,0,0,0,0,0,3,40,2\n"
        "2,L2,add,1;0,1,x,4,2,1,4,7,1,0,0,0,0,0,7,0\n"
        "2,L2,add,1;0,2,\"y\n\",6,4,2,8,7,1,0,0,0,0,0,9,1\n";
    int n_taken = 0, n_refused = 0, n_wrong = 0;
    char text[2048];

    for (int i = 0; i < 20000; i++) {
        size_t length = strlen(SEED);
        struct vbs_profile *profile;
        struct vbs_ctx ctx;
        enum vbs_status status;

        memcpy(text, SEED, length);
        for (int n = random_int(rng, 1, 4); n > 0; n--)
            length = mutate(rng, text, length, sizeof text);
        status = parse(&ctx, text, length, &profile);
        if (status == VBS_OK) {
            n_taken++;
            n_wrong += n_taken <= 500 && !round_trips(profile, folder);
        } else {
            n_refused++;
            n_wrong += status != VBS_FORMAT || profile || strncmp(ctx.detail, "t.csv:", 6) != 0;
        }
        vbs_profile_free(profile);
    }
    is_int(n_wrong, 0, "every mutated file is refused with its name or comes back unchanged");
    ok(n_taken > 200 && n_refused > 2000, "mutations hit both: %d taken, %d refused", n_taken,
       n_refused);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    unsigned long seed = getenv("SEED") ? strtoul(getenv("SEED"), NULL, 10) : 20170328;
    char *folder = temporary_folder();

    printf("# SEED=%lu\n", seed);
    gsl_rng_set(rng, seed);
    the_worked_example_reads_as_it_stands();
    order_and_form_of_a_file_are_free();
    provenances_are_read_from_comments();
    the_input_takes_what_its_largest_reader_reads();
    written_profiles_come_back_to_the_bit(folder, rng);
    only_measured_profiles_have_the_columns_of_statistics(folder);
    what_cannot_be_opened_is_said(folder);
    numbers_do_not_depend_on_the_locale(folder);
    mutated_files_are_refused_or_come_back(folder, rng);
    remove_folder(folder);
    gsl_rng_free(rng);
    return done_testing();
}
