/*
 * The CSV reader and the builder of profiles refuse everything that is no profile, in the words
 * that are listed here.
 */
#include "support/tap.h"

#include "vbslab/profile.h"

#include <stdlib.h>

#define HEAD                                                                                       \
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"     \
    "in_place\n"

#define ONE HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n"

#define PACKED                                                                                     \
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"     \
    "in_place,channels,packed_bytes,form\n"

static enum vbs_status parse(struct vbs_ctx *ctx, const char *text, size_t length,
                             struct vbs_profile **profile)
{
    *ctx = (struct vbs_ctx){0};
    *profile = NULL;
    return vbs_profile_parse_csv(ctx, "t.csv", text, length, profile);
}

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
     "t.csv: activations of 4096 samples, workspace and weights together exceed 2^63 bytes"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,9223372036854775807,0,0\n",
     "t.csv: activations of 4096 samples, workspace and weights together exceed 2^63 bytes"},
    {HEAD "1,L1,conv,0,1,default,4,1,1,1,9223372036854775807,0\n"
          "2,L2,conv,1,1,default,4,1,1,1,1,0\n",
     "t.csv: weights of all layers together exceed 2^63 bytes"},
    {"# threads: many\n" HEAD, "t.csv:1: threads 'many' is not a whole number"},
    {"# threads: -1\n" HEAD, "t.csv:1: threads -1 is out of range; it goes from 0 to 2147483647"},
    {"# model: a\n# model: b\n" HEAD, "t.csv:2: 'model' is there twice"},
    {"# notes: \"open\n" HEAD, "t.csv:1: the quoted text of 'notes' is malformed"},
    {"# notes: \"a\" b\n" HEAD, "t.csv:1: the quoted text of 'notes' is malformed"},
    {"# notes: \"\\x00\"\n" HEAD, "t.csv:1: the quoted text of 'notes' is malformed"},
    {"# notes: \xff\n" HEAD "1,L1,conv,0,1,default,4,1,1,1,0,0\n",
     "t.csv: notes is not valid UTF-8"},
    {"layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
     "in_place,mad_us,low_us,high_us,n_runs\n1,L1,conv,0,1,default,4,1,1,1,0,0,1,5,6,3\n",
     "t.csv:2: layer 1 batch 1: time_us lies outside low_us..high_us"},
    {"layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
     "in_place,mad_us,low_us,high_us,n_runs\n1,L1,conv,0,1,default,4,1,1,1,0,0,1,3,6,-3\n",
     "t.csv:2: n_runs is negative: -3"},
    {PACKED "1,L1,conv,0,1,a,4,1,1,1,8,0,-1,8,0\n", "t.csv:2: channels is negative: -1"},
    {PACKED "1,L1,conv,0,1,a,4,1,1,1,8,0,2147483648,8,0\n",
     "t.csv:2: channels 2147483648 is above the largest, 2147483647"},
    {PACKED "1,L1,conv,0,1,a,4,1,1,1,8,0,2,8,0\n1,L1,conv,0,2,a,4,2,2,1,8,0,3,8,0\n",
     "t.csv:3: layer 1 batch 2: channels differs from that of line 2"},
    {PACKED "1,L1,conv,0,1,a,4,1,1,1,8,0,2,-8,0\n", "t.csv:2: packed_bytes is negative: -8"},
    {PACKED "1,L1,conv,0,1,a,4,1,1,1,8,0,2,8,64\n", "t.csv:2: form 64 is above the largest, 63"},
    {"parts," PACKED "-1,1,L1,conv,0,1,a,4,1,1,1,8,0,2,8,0\n", "t.csv:2: parts is negative: -1"},
    {"parts," PACKED "4097,1,L1,conv,0,1,a,4,1,1,1,8,0,2,8,0\n",
     "t.csv:2: parts 4097 is above the largest, 4096"},
    {"parts," PACKED "3,1,L1,conv,0,1,a,4,1,1,1,8,0,32,8,0\n",
     "t.csv:2: layer 1 batch 1: 32 channels make no 3 equal slices"},
    {"parts," PACKED "2,1,L1,conv,0,1,a,4,1,1,1,8,1,32,8,0\n",
     "t.csv:2: layer 1 batch 1: a layer in place cannot run in 2 slices"},
    {PACKED "1,L1,conv,0,1,a,4,1,1,1,8,0,2,9,1\n1,L1,conv,0,2,a,4,2,2,1,8,0,2,10,1\n",
     "t.csv:3: layer 1 batch 2: form 1 takes 10 bytes of packed weights, but at batch 1 9; rows of "
     "one form read the same weights"},
    {PACKED "1,L1,conv,0,1,a,4,1,1,1,8,0,2,0,1\n1,L1,conv,0,2,a,4,2,2,1,8,0,2,9,1\n",
     "t.csv:3: layer 1 batch 2: form 1 takes 9 bytes of packed weights, but at batch 1 8; rows of "
     "one form read the same weights"},
    {PACKED "1,L1,conv,0,1,a,4,1,1,1,0,0,2,9223372036854775807,0\n"
            "1,L1,conv,0,1,b,4,1,1,1,0,0,2,1,1\n",
     "t.csv: weights of all layers together exceed 2^63 bytes"},
    {PACKED "1,L1,conv,0,1,a,4,1,1,1,0,0,2,9223372036854775807,0\n"
            "2,L2,conv,1,1,b,4,1,1,1,0,0,2,1,0\n",
     "t.csv: weights of all layers together exceed 2^63 bytes"},
    {"# copy: disk,1\n" ONE,
     "t.csv:1: a copy is SOURCE,BYTES,TIME_US[,MAD_US,LOW_US,HIGH_US,N_RUNS]"},
    {"# copy:\n" ONE, "t.csv:1: a copy is SOURCE,BYTES,TIME_US[,MAD_US,LOW_US,HIGH_US,N_RUNS]"},
    {"# copy: disk,1,1,1,1,1\n" ONE,
     "t.csv:1: a copy is SOURCE,BYTES,TIME_US[,MAD_US,LOW_US,HIGH_US,N_RUNS]"},
    {"# copy: disk,1,1,1,1,1,1,1\n" ONE,
     "t.csv:1: a copy is SOURCE,BYTES,TIME_US[,MAD_US,LOW_US,HIGH_US,N_RUNS]"},
    {"# copy: \"disk,1,1\n" ONE,
     "t.csv:1: a copy is SOURCE,BYTES,TIME_US[,MAD_US,LOW_US,HIGH_US,N_RUNS]"},
    {"# copy: \"disk\"x,1,1\n" ONE,
     "t.csv:1: a copy is SOURCE,BYTES,TIME_US[,MAD_US,LOW_US,HIGH_US,N_RUNS]"},
    {"# copy: ,1,1\n" ONE, "t.csv:1: the source of a copy is empty"},
    {"# copy: \xff,1,1\n" ONE, "t.csv:1: the source of a copy is not valid UTF-8"},
    {"# copy: disk,x,1\n" ONE, "t.csv:1: bytes of the copy 'x' is not a whole number"},
    {"# copy: disk,0,1\n" ONE, "t.csv:1: bytes of the copy 0 is out of range; it goes from 1 to "
                               "9223372036854775807"},
    {"# copy: disk,1,inf\n" ONE,
     "t.csv:1: time_us of the copy 'inf' is not a finite decimal number"},
    {"# copy: disk,1,0\n" ONE,
     "t.csv:1: copy of 1 bytes from 'disk': time_us is too short, the rate "
     "is above 1e18 bytes per us"},
    {"# copy: disk,1,-1\n" ONE, "t.csv:1: copy of 1 bytes from 'disk': time_us is negative"},
    {"# copy: disk,1,2e18\n" ONE,
     "t.csv:1: copy of 1 bytes from 'disk': time_us is above the largest, 1e18"},
    {"# copy: disk,2,1,0,2,3,4\n" ONE,
     "t.csv:1: copy of 2 bytes from 'disk': time_us is outside low_us..high_us"},
    {"# copy: disk,2,1,-1,1,3,4\n" ONE, "t.csv:1: copy of 2 bytes from 'disk': mad_us is negative"},
    {"# copy: disk,2,1,0,1,3,-4\n" ONE, "t.csv:1: n_runs of the copy is negative: -4"},
    {"# copy: disk,2,1\n# copy: page-cache,2,1\n# copy: disk,2,3\n" ONE,
     "t.csv:3: copy of 2 bytes from 'disk' is there twice"},
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

static void copies_of_many_sources_and_sizes_are_refused(void)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_copy_row row = {.bytes = 1, .time_us = 1};
    enum vbs_status status = VBS_OK;
    struct vbs_ctx ctx = {0};
    char source[300];

    for (int i = 0; i < VBS_MAX_COPIES && status == VBS_OK; i++) {
        snprintf(source, sizeof source, "source %d", i);
        status = vbs_profile_builder_copy(&ctx, builder, source, &row);
    }
    is_int(status, VBS_OK, "16 sources");
    ok(vbs_profile_builder_copy(&ctx, builder, "one more", &row) == VBS_FORMAT, "not one more");
    is_str(ctx.detail, "copies from more than 16 sources", "... is said");
    for (row.bytes = VBS_MAX_COPY_ROWS; row.bytes > 1 && status == VBS_OK; row.bytes--)
        status = vbs_profile_builder_copy(&ctx, builder, "source 3", &row);
    is_int(status, VBS_OK, "256 sizes of one source, from the largest down");
    row.bytes = VBS_MAX_COPY_ROWS + 1;
    ok(vbs_profile_builder_copy(&ctx, builder, "source 3", &row) == VBS_FORMAT, "not one more");
    is_str(ctx.detail, "more than 256 copies from 'source 3'", "... is said");
    memset(source, 's', sizeof source);
    source[256] = '\0';
    ok(vbs_profile_builder_copy(&ctx, builder, source, &row) == VBS_FORMAT,
       "a source of 256 bytes");
    row = (struct vbs_copy_row){.time_us = 1};
    ok(vbs_profile_builder_copy(&ctx, builder, "source 1", &row) == VBS_FORMAT, "no bytes");
    is_str(ctx.detail, "copy from 'source 1': bytes is 0, not 1 or more", "... is said");
    row = (struct vbs_copy_row){.bytes = 2, .time_us = NAN};
    ok(vbs_profile_builder_copy(&ctx, builder, "source 1", &row) == VBS_FORMAT, "NaN");
    is_str(ctx.detail, "copy of 2 bytes from 'source 1': time_us is not a number", "... is said");
    vbs_profile_builder_free(builder);
}

static void the_builder_refuses_formats_and_channels_out_of_range(void)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile_layer layer = {
        .name = "a", .kind = "conv", .n_inputs = 1, .inputs = (const int[]){0}, .channels = -1};
    struct vbs_profile_row row = {.time_us = 1, .format = VBS_MAX_FORMATS};
    struct vbs_ctx ctx = {0};

    ok(vbs_profile_builder_layer(&ctx, builder, &layer) == VBS_FORMAT, "-1 channels");
    is_str(ctx.detail, "layer 1: channels is negative: -1", "... are named");
    layer.channels = 0;
    ok(vbs_profile_builder_layer(&ctx, builder, &layer) == VBS_OK, "a good layer");
    ok(vbs_profile_builder_row(&ctx, builder, 1, 1, "x", &row) == VBS_FORMAT,
       "packed weight format 64");
    is_str(ctx.detail, "layer 1 batch 1: form 64 is out of range; it goes from 0 to 63",
           "... is named");
    row.format = -1;
    ok(vbs_profile_builder_row(&ctx, builder, 1, 1, "x", &row) == VBS_FORMAT,
       "packed weight format -1");
    row = (struct vbs_profile_row){.time_us = 1, .n_slices = VBS_MAX_ROW_SLICES + 1};
    ok(vbs_profile_builder_row(&ctx, builder, 1, 1, "x", &row) == VBS_FORMAT, "4097 slices");
    is_str(ctx.detail, "layer 1 batch 1: parts 4097 is out of range; it goes from 0 to 4096",
           "... are named");
    row = (struct vbs_profile_row){.time_us = 1, .weight_bytes = -1};
    ok(vbs_profile_builder_row(&ctx, builder, 1, 1, "x", &row) == VBS_FORMAT, "negative weights");
    is_str(ctx.detail, "layer 1: packed weight_bytes is negative: -1", "... are named");
    vbs_profile_builder_free(builder);
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

int main(void)
{
    malformed_files_are_refused_with_file_and_line();
    long_names_and_many_fields_are_refused();
    a_long_path_leaves_room_for_the_reason();
    the_builder_refuses_without_file_and_line();
    copies_of_many_sources_and_sizes_are_refused();
    the_builder_refuses_formats_and_channels_out_of_range();
    the_largest_profile_is_taken();
    return done_testing();
}
