/*
 * Profiles: what the builder and the CSV reader refuse and with which words, and that what is
 * written comes back to the bit.
 */
#include "profile_help.h"
#include "random_profile.h"
#include "tap.h"

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

/* ---- refusals ---- */

struct refusal {
    const char *text;
    const char *detail;
};

static const struct refusal REFUSALS[] = {
    {"", "t.csv: no header; the first line names the columns: layer,name,kind,..."},
    {"# only: a comment\n\n", "t.csv: no header; the first line names the columns: "
                              "layer,name,kind,..."},
    {HEAD, "t.csv: no rows after the header"},
    {"layer,name\n", "t.csv:1: column 'kind' is missing"},
    {"layer,name,layer\n", "t.csv:1: column 'layer' is there twice"},
    {"# c\nlayer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,"
     "weight_bytes,in_place,n_runs\n",
     "t.csv:2: column 'mad_us' is missing"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0\n", "t.csv:2: the line has 11 fields, the header 12"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0,\n", "t.csv:2: the line has 13 fields, the header 12"},
    {HEAD "1,\"L1,conv,0,1,default,4,1,1,1,0,0\n", "t.csv:2: a quote is opened and never closed"},
    {HEAD "1,\"L1\"x,conv,0,1,default,4,1,1,1,0,0\n",
     "t.csv:2: text after the closing quote of a field"},
    {HEAD "1,L\"1,conv,0,1,default,4,1,1,1,0,0\n",
     "t.csv:2: a quote inside a field that does not begin with one"},
    {HEAD "1,L1\r,conv,0,1,default,4,1,1,1,0,0\n",
     "t.csv:2: a carriage return without a line feed"},
    {HEAD "1,L\xff,conv,0,1,default,4,1,1,1,0,0\n", "t.csv:2: layer 1: name is not valid UTF-8"},
    {HEAD "1,L\xed\xa0\x80,conv,0,1,default,4,1,1,1,0,0\n",
     "t.csv:2: layer 1: name is not valid UTF-8"},
    {HEAD "1,L\xc0\x80,conv,0,1,default,4,1,1,1,0,0\n",
     "t.csv:2: layer 1: name is not valid UTF-8"},
    {HEAD "x,L1,conv,0,1,default,4,1,1,1,0,0\n", "t.csv:2: layer 'x' is not a whole number"},
    {HEAD ",L1,conv,0,1,default,4,1,1,1,0,0\n", "t.csv:2: layer '' is not a whole number"},
    {HEAD "1 ,L1,conv,0,1,default,4,1,1,1,0,0\n", "t.csv:2: layer '1 ' is not a whole number"},
    {HEAD "+1,L1,conv,0,1,default,4,1,1,1,0,0\n", "t.csv:2: layer '+1' is not a whole number"},
    {HEAD "0,L1,conv,0,1,default,4,1,1,1,0,0\n",
     "t.csv:2: layer 0 is out of range; it goes from 1 to 4096"},
    {HEAD "4097,L1,conv,0,1,default,4,1,1,1,0,0\n",
     "t.csv:2: layer 4097 is above the largest, 4096"},
    {HEAD "1,L1,conv,0,0,default,4,1,1,1,0,0\n",
     "t.csv:2: batch 0 is out of range; it goes from 1 to 4096"},
    {HEAD "1,L1,conv,0,-1,default,4,1,1,1,0,0\n", "t.csv:2: batch is negative: -1"},
    {HEAD "1,L1,conv,0,4097,default,4,1,1,1,0,0\n",
     "t.csv:2: batch 4097 is above the largest, 4096"},
    {HEAD "1,L1,conv,0,1.0,default,4,1,1,1,0,0\n", "t.csv:2: batch '1.0' is not a whole number"},
    {HEAD "1,L1,conv,0,1,,4,1,1,1,0,0\n", "t.csv:2: layer 1: algorithm is empty"},
    {HEAD "1,L1,conv,0,1,default,4x,1,1,1,0,0\n",
     "t.csv:2: time_us '4x' is not a finite decimal number"},
    {HEAD "1,L1,conv,0,1,default,0x4,1,1,1,0,0\n",
     "t.csv:2: time_us '0x4' is not a finite decimal number"},
    {HEAD "1,L1,conv,0,1,default,inf,1,1,1,0,0\n",
     "t.csv:2: time_us 'inf' is not a finite decimal number"},
    {HEAD "1,L1,conv,0,1,default,nan,1,1,1,0,0\n",
     "t.csv:2: time_us 'nan' is not a finite decimal number"},
    {HEAD "1,L1,conv,0,1,default,\"4,5\",1,1,1,0,0\n",
     "t.csv:2: time_us '4,5' is not a finite decimal number"},
    {HEAD "1,L1,conv,0,1,default, 4,1,1,1,0,0\n",
     "t.csv:2: time_us ' 4' is not a finite decimal number"},
    {HEAD "1,L1,conv,0,1,default,,1,1,1,0,0\n",
     "t.csv:2: time_us '' is not a finite decimal number"},
    {HEAD "1,L1,conv,0,1,default,-,1,1,1,0,0\n",
     "t.csv:2: time_us '-' is not a finite decimal number"},
    {HEAD "1,L1,conv,0,1,default,1e999,1,1,1,0,0\n",
     "t.csv:2: layer 1 batch 1: time_us is not finite"},
    {HEAD "1,L1,conv,0,1,default,-4,1,1,1,0,0\n", "t.csv:2: layer 1 batch 1: time_us is negative"},
    {HEAD "1,L1,conv,0,1,default,2e18,1,1,1,0,0\n",
     "t.csv:2: layer 1 batch 1: time_us is above the largest, 1e18"},
    {HEAD "1,L1,conv,0,1,default,4,-1,1,1,0,0\n", "t.csv:2: in_bytes is negative: -1"},
    {HEAD "1,L1,conv,0,1,default,4,1,-99999999999999999999,1,0,0\n",
     "t.csv:2: out_bytes is negative: -99999999999999999999"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,9223372036854775808,0,0\n",
     "t.csv:2: ws_bytes 9223372036854775808 is above the largest, 9223372036854775807"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,1e3,0\n",
     "t.csv:2: weight_bytes '1e3' is not a whole number"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,2\n", "t.csv:2: in_place 2 is above the largest, 1"},
    {HEAD "1,L1,conv,,1,default,4,1,1,1,0,0\n",
     "t.csv:2: inputs '' is not a list of layers such as 0 or 3;5"},
    {HEAD "1,L1,conv,0;,1,default,4,1,1,1,0,0\n",
     "t.csv:2: inputs '0;' is not a list of layers such as 0 or 3;5"},
    {HEAD "1,L1,conv,-1,1,default,4,1,1,1,0,0\n",
     "t.csv:2: inputs '-1' is not a list of layers such as 0 or 3;5"},
    {HEAD "1,L1,conv,\"0,0\",1,default,4,1,1,1,0,0\n",
     "t.csv:2: inputs '0,0' is not a list of layers such as 0 or 3;5"},
    {HEAD "1,L1,conv,1,1,default,4,1,1,1,0,0\n",
     "t.csv:2: layer 1 ('L1') reads layer 1, which does not come before it; layers are numbered in "
     "topological order, without cycles"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n2,L2,conv,1;3,1,default,4,1,1,1,0,0\n",
     "t.csv:3: layer 2 ('L2') reads layer 3, which does not come before it; layers are numbered in "
     "topological order, without cycles"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n3,L3,conv,1,1,default,4,1,1,1,0,0\n",
     "t.csv:3: there is a layer 3 but no layer 2; layers are numbered from 1 without gaps"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n1,L2,conv,0,2,default,4,2,2,1,0,0\n",
     "t.csv:3: layer 1 batch 2: name differs from that of line 2"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n1,L1,fc,0,2,default,4,2,2,1,0,0\n",
     "t.csv:3: layer 1 batch 2: kind differs from that of line 2"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n1,L1,conv,0;0,2,default,4,2,2,1,0,0\n",
     "t.csv:3: layer 1 batch 2: inputs differs from that of line 2"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n1,L1,conv,0,2,default,4,2,2,1,1,0\n",
     "t.csv:3: layer 1 batch 2: weight_bytes differs from that of line 2"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n1,L1,conv,0,2,default,4,2,2,1,0,1\n",
     "t.csv:3: layer 1 batch 2: in_place differs from that of line 2"},
    {HEAD "1,L1,conv,0,1,default,4,3,1,1,0,0\n1,L1,conv,0,2,default,4,5,2,1,0,0\n",
     "t.csv:3: layer 1 batch 2: in_bytes is 5, not 2 times the 3 per sample of line 2; it must "
     "grow "
     "linearly with the batch"},
    {HEAD "1,L1,conv,0,1,default,4,1,3,1,0,0\n1,L1,conv,0,2,default,4,2,8,1,0,0\n",
     "t.csv:3: layer 1 batch 2: out_bytes is 8, not 2 times the 3 per sample of line 2; it must "
     "grow linearly with the batch"},
    {HEAD "1,L1,conv,0,2,default,4,5,2,1,0,0\n1,L1,conv,0,1,default,4,2,1,1,0,0\n",
     "t.csv:2: layer 1 batch 2: in_bytes is 5, no multiple of the batch; it must grow linearly "
     "with the batch"},
    {HEAD "1,L1,conv,0,2,default,4,2,2,1,0,0\n", "t.csv:2: layer 1 ('L1') has no row for batch 1"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n1,L1,conv,0,3,default,4,3,3,1,0,0\n"
          "2,L2,conv,1,1,default,4,1,1,1,0,0\n",
     "t.csv:4: layer 2 ('L2') has no row for batch 3, which layer 1 has; every layer must have the "
     "same batches"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n2,L2,conv,1,2,default,4,2,2,1,0,0\n"
          "2,L2,conv,1,1,default,4,1,1,1,0,0\n",
     "t.csv:2: layer 1 ('L1') has no row for batch 2, which layer 2 has; every layer must have the "
     "same batches"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n\n# between\n1,L1,conv,0,1,default,5,1,1,1,0,0\n",
     "t.csv:5: repeats layer 1 batch 1 algorithm 'default' of line 2"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n2,L2,conv,1,1,default,4,2,1,1,0,0\n",
     "t.csv:3: layer 2 ('L2') reads 2 bytes per sample, but its inputs produce only 1"},
    {HEAD "1,L1,conv,0,1,default,4,1,9223372036854775807,1,0,0\n",
     "t.csv: activations of all layers together exceed 2^63 bytes"},
    {HEAD "1,L1,conv,0,1,default,4,1,2251799813685248,1,0,0\n",
     "t.csv: activations of 4096 samples, scratch and weights together exceed 2^63 bytes"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,9223372036854775807,0,0\n",
     "t.csv: activations of 4096 samples, scratch and weights together exceed 2^63 bytes"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,9223372036854775807,0\n"
          "2,L2,conv,1,1,default,4,1,1,1,1,0\n",
     "t.csv: weights of all layers together exceed 2^63 bytes"},
    {"# threads: many\n" HEAD, "t.csv:1: threads 'many' is not a whole number"},
    {"# threads: -1\n" HEAD, "t.csv:1: threads -1 is out of range; it goes from 0 to 2147483647"},
    {"# model: a\n# model: b\n" HEAD, "t.csv:2: 'model' is there twice"},
    {"# notes: \"open\n" HEAD, "t.csv:1: the quoted text of 'notes' is malformed"},
    {"# notes: \"a\" b\n" HEAD, "t.csv:1: the quoted text of 'notes' is malformed"},
    {"# notes: \"\\x00\"\n" HEAD, "t.csv:1: the quoted text of 'notes' is malformed"},
    {"# notes: \xff\n" EXAMPLE, "t.csv: notes is not valid UTF-8"},
    {"layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
     "in_place,mad_us,low_us,high_us,n_runs\n1,L1,conv,0,1,default,4,1,1,1,0,0,1,5,6,3\n",
     "t.csv:2: layer 1 batch 1: time_us lies outside low_us..high_us"},
    {"layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
     "in_place,mad_us,low_us,high_us,n_runs\n1,L1,conv,0,1,default,4,1,1,1,0,0,1,3,6,-3\n",
     "t.csv:2: n_runs is negative: -3"},
};

static void check_refusal(const char *text, size_t length, const char *detail)
{
    struct vbs_profile *profile;
    struct vbs_ctx ctx;
    enum vbs_status status = parse(&ctx, text, length, &profile);

    ok(status == VBS_FORMAT && strcmp(ctx.detail, detail) == 0, "refused: %s", detail);
    if (status != VBS_FORMAT || strcmp(ctx.detail, detail) != 0)
        printf("#  got %d %s\n", (int)status, ctx.detail);
    vbs_profile_free(profile);
}

static void malformed_files_are_refused_with_file_and_line(void)
{
    static const char ZERO[] = HEAD "1,L1\0,conv,0,1,default,4,1,1,1,0,0\n";

    for (size_t i = 0; i < sizeof REFUSALS / sizeof REFUSALS[0]; i++)
        check_refusal(REFUSALS[i].text, strlen(REFUSALS[i].text), REFUSALS[i].detail);
    check_refusal(ZERO, sizeof ZERO - 1,
                  "t.csv:2: a zero byte; this is not a text file (UTF-16 must be converted to "
                  "UTF-8)");
}

static void long_names_and_many_fields_are_refused(void)
{
    char *text = calloc(1, 10000), *at = text;
    struct vbs_profile *profile;
    struct vbs_ctx ctx;

    at += sprintf(at, "%s1,", HEAD);
    memset(at, 'n', 256);
    strcpy(at + 256, ",conv,0,1,default,4,1,1,1,0,0\n");
    ok(parse(&ctx, text, strlen(text), &profile) == VBS_FORMAT &&
           strstr(ctx.detail, "layer 1: name is longer than 255 bytes"),
       "a name of 256 bytes is refused");
    memmove(at + 255, at + 256, strlen(at + 256) + 1);
    ok(parse(&ctx, text, strlen(text), &profile) == VBS_OK, "a name of 255 bytes is taken");
    vbs_profile_free(profile);
    memset(text, ',', 1024);
    strcpy(text + 1024, "\n");
    ok(parse(&ctx, text, 1025, &profile) == VBS_FORMAT &&
           strcmp(ctx.detail, "t.csv:1: more than 1024 fields") == 0,
       "a line of 1025 fields is refused");
    free(text);
}

static void a_long_path_leaves_room_for_the_reason(void)
{
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    char path[2000];

    memset(path, 'p', sizeof path);
    strcpy(path + sizeof path - 10, "/last.csv");
    ok(vbs_profile_parse_csv(&ctx, path, HEAD, strlen(HEAD), &profile) == VBS_FORMAT &&
           strstr(ctx.detail, "/last.csv: no rows after the header"),
       "the end of a long path and the reason are in the detail");
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
    is_int(rows[0].ws_bytes, 8, "scratch of layer 2 at batch 2");
    is_int(vbs_profile_batch_index(profile, 2), 1, "batch 2 is found");
    is_int(vbs_profile_batch_index(profile, 3), -1, "batch 3 is not");
    is_int(vbs_profile_batch_index(profile, 0), -1, "batch 0 is not");
    is_int(vbs_profile_algorithm(profile, "default"), 0, "the algorithm is found by name");
    is_int(vbs_profile_algorithm(profile, "other"), -1, "another is not");
    is_str(profile->circumstances.model, "", "no circumstance is null");
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

static void circumstances_are_read_from_comments(void)
{
    static const char TEXT[] = "#model:plain\n#   device:  A: b  \n# threads: 7\n# unknown: x\n"
                               "# notes: \"two\\nlines \\\"\\\\\\x1b\"\r\n# no colon\n" EXAMPLE;
    struct vbs_profile *profile;
    struct vbs_ctx ctx;

    if (!ok(parse(&ctx, TEXT, strlen(TEXT), &profile) == VBS_OK, "comments with circumstances"))
        return;
    is_str(profile->circumstances.model, "plain", "model");
    is_str(profile->circumstances.device, "A: b", "blanks around a value do not count");
    is_int(profile->circumstances.threads, 7, "threads");
    is_str(profile->circumstances.notes, "two\nlines \"\\\x1b", "quoted text");
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

/* ---- the builder ---- */

static void the_builder_refuses_without_file_and_line(void)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile_row row = {.time_us = 1}, nan_row = {.time_us = NAN};
    struct vbs_profile_layer layer = {
        .name = "a", .kind = "conv", .n_inputs = 1, .inputs = (const int[]){0}, .in_bytes = -1};
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};

    ok(vbs_profile_builder_finish(&ctx, builder, &profile) == VBS_FORMAT, "no layers");
    is_str(ctx.detail, "no layers", "... is said");
    ok(vbs_profile_builder_layer(&ctx, builder, &layer) == VBS_FORMAT, "negative bytes");
    is_str(ctx.detail, "layer 1: in_bytes is negative: -1", "... are named");
    layer.in_bytes = 1;
    layer.n_inputs = 0;
    ok(vbs_profile_builder_layer(&ctx, builder, &layer) == VBS_FORMAT, "a layer without inputs");
    layer.n_inputs = 1;
    ok(vbs_profile_builder_row(&ctx, builder, 1, 1, "x", &row) == VBS_FORMAT, "row without layer");
    is_str(ctx.detail, "row of layer 1, which is not there", "... is said");
    ok(vbs_profile_builder_layer(&ctx, builder, &layer) == VBS_OK, "a good layer");
    ok(vbs_profile_builder_row(&ctx, builder, 1, 1, "x", &nan_row) == VBS_FORMAT, "NaN");
    is_str(ctx.detail, "layer 1 batch 1: time_us is not a number", "... is said");
    ok(vbs_profile_builder_finish(&ctx, builder, &profile) == VBS_FORMAT, "a layer without rows");
    is_str(ctx.detail, "layer 1 ('a') has no row for batch 1", "... is named");
    ok(vbs_profile_builder_row(&ctx, builder, 1, 1, "x", &row) == VBS_OK &&
           vbs_profile_builder_row(&ctx, builder, 1, 1, "x", &row) == VBS_OK &&
           vbs_profile_builder_finish(&ctx, builder, &profile) == VBS_FORMAT,
       "a repeated row");
    is_str(ctx.detail, "layer 1 batch 1: algorithm 'x' is there twice", "... is named");
    ok(vbs_profile_builder_layer(NULL, builder, &layer) == VBS_OK, "without a context");
    vbs_profile_builder_free(builder);
    vbs_profile_builder_free(NULL);
    vbs_profile_free(NULL);
}

static void the_largest_profile_is_taken(void)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile_row row = {.time_us = 1};
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = VBS_OK;
    int input = 0;
    struct vbs_profile_layer layer = {.name = "", .kind = "", .n_inputs = 1, .inputs = &input};

    for (; input < 4096 && status == VBS_OK; input++)
        status = vbs_profile_builder_layer(&ctx, builder, &layer);
    is_int(status, VBS_OK, "4096 layers");
    ok(vbs_profile_builder_layer(&ctx, builder, &layer) == VBS_FORMAT, "and not one more");
    is_str(ctx.detail, "more than 4096 layers", "... is said");
    for (int id = 1; id <= 4096; id++)
        for (int batch = 4096; batch >= 1 && status == VBS_OK; batch -= 1365)
            status = vbs_profile_builder_row(&ctx, builder, id, batch, "x", &row);
    ok(status == VBS_OK && vbs_profile_builder_finish(&ctx, builder, &profile) == VBS_OK &&
           profile->n_batches == 4 && profile->batches[3] == 4096,
       "with batches up to 4096");
    vbs_profile_free(profile);
    for (int i = 0; i <= 4096 && status == VBS_OK; i++) {
        char name[16];

        snprintf(name, sizeof name, "a%d", i);
        status = vbs_profile_builder_row(&ctx, builder, 1, 1, name, &row);
    }
    ok(status == VBS_FORMAT && strcmp(ctx.detail, "more than 4096 algorithms") == 0,
       "more than 4096 algorithms are refused");
    vbs_profile_builder_free(builder);
}

/* ---- round trips ---- */

/* Whether writing, reading and writing again gives the same profile and the same bytes. */
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
    "\"",        "\"\"", ",",    "\n",   "\r\n", "\r",    "#",  ";",
    "-1",        "0",    "4096", "4097", "inf",  "1e308", "\0", "99999999999999999999",
    "# model: ", "\\x",  "\xff", "1",    "2",    "3",
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
        "# model: fuzz\n# notes: \"a\\nb\"\n# threads: 3\n"
        "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
        "in_place,mad_us,low_us,high_us,n_runs\n"
        "1,\"L,1\",conv,0,1,x,4.5,1,1,1,0,0,0.1,4,5,9\n1,\"L,1\",conv,0,2,x,6,2,2,2,0,0,0,0,0,0\n"
        "2,L2,add,1;0,1,x,4,2,1,4,7,1,0,0,0,0\n2,L2,add,1;0,2,\"y\n\",6,4,2,8,7,1,0,0,0,0\n";
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
    malformed_files_are_refused_with_file_and_line();
    long_names_and_many_fields_are_refused();
    a_long_path_leaves_room_for_the_reason();
    the_worked_example_reads_as_it_stands();
    order_and_form_of_a_file_are_free();
    circumstances_are_read_from_comments();
    the_input_takes_what_its_largest_reader_reads();
    the_builder_refuses_without_file_and_line();
    the_largest_profile_is_taken();
    written_profiles_come_back_to_the_bit(folder, rng);
    only_measured_profiles_have_the_columns_of_statistics(folder);
    what_cannot_be_opened_is_said(folder);
    numbers_do_not_depend_on_the_locale(folder);
    mutated_files_are_refused_or_come_back(folder, rng);
    remove_folder(folder);
    gsl_rng_free(rng);
    return done_testing();
}
