/*
 * The CSV of placement problems is read as it is documented, wrong files are refused with line and
 * reason, and files that were written are read back.
 */
#include "reference/place/place_check.h"
#include "support/tap.h"

#include <stdlib.h>
#include <unistd.h>

static enum vbs_status parse(const char *text, struct vbs_ctx *ctx, struct vbs_place_csv **csv)
{
    *ctx = (struct vbs_ctx){0};
    *csv = NULL;
    return vbs_place_csv_parse(ctx, "f.csv", text, strlen(text), csv);
}

/* Each text has one fault, for which it is refused; the detail has this part. */
static void test_refusals(void)
{
    static const struct {
        const char *text, *part;
    } CASES[] = {
        {"", "f.csv:1: no header"},
        {"\n\r\n", "no header"},
        {"id,lower,upper\n", "f.csv:1: column 'size' is missing"},
        {"id,lower,upper,size,size\n", "column 'size' is there twice"},
        {"id,lower,upper,size,colour\n", "column 'colour' is not known; there are id, lower"},
        {"id,lower,end,size\n", "column 'end' is not known"},
        {"id,lower,upper,size\na,0,1\n", "f.csv:2: the line has 3 fields, the header 4"},
        {"id,lower,upper,size\na,0,1,2,3\n", "the line has 5 fields"},
        {"id,lower,upper,size\n\na,0,x,2\n", "f.csv:3: upper 'x' is not a whole number"},
        {"id,lower,upper,size\na,0,,2\n", "upper '' is not a whole number"},
        {"id,lower,upper,size\na,0,1.5,2\n", "upper '1.5' is not a whole number"},
        {"id,lower,upper,size\na,0, 1,2\n", "upper ' 1' is not a whole number"},
        {"id,lower,upper,size\na,0,9223372036854775808,2\n", "is not a whole number of 64 bits"},
        {"id,lower,upper,size\na,0,1,-2\n", "size -2 is below 0"},
        {"id,lower,upper,size\na,1,1,2\n", "lower 1 is not below upper 1"},
        {"id,lower,upper,size\na,1,-1,2\n", "lower 1 is not below upper -1"},
        {"id,lower,upper,size\n\"a,0,1,2\n", "f.csv:2: a quote is opened and never closed"},
        {"id,lower,upper,size\n\"a\"b,0,1,2\n", "text behind the end of a field"},
        {"id,lower,upper,size\na\"b,0,1,2\n", "a quote inside a field"},
        {"id,lower,upper,size\na,0,1,2\rb,0,1,2\n", "text behind the end of a field"},
        {"id,lower,upper,size,alignment\na,0,1,2,0\n", "alignment 0 is below 1"},
        {"id,lower,upper,size,alignment\na,0,1,2,48\n", "alignment 48 is no power of two"},
        {"id,lower,upper,size,hint\na,0,1,2,there\n", "hint 'there' is not a whole number"},
        {"id,lower,upper,size,offset\na,0,1,2,-4\n", "offset -4 is below 0"},
        {"id,lower,upper,size,offset,alignment\na,0,1,2,6,4\n", "no multiple of the alignment, 4"},
        {"id,lower,upper,size,gaps\na,0,9,2,3\n", "gaps '3' are not like 3-5 or 3-5@0:64"},
        {"id,lower,upper,size,gaps\na,0,9,2,3-4;5-6\n", "gaps '3-4;5-6' are not like"},
        {"id,lower,upper,size,gaps\na,0,9,2,3-4@1\n", "gaps '3-4@1' are not like"},
        {"id,lower,upper,size,gaps\na,0,9,2,4-3\n", "gap '4-3' is not within the buffer's steps"},
        {"id,lower,upper,size,gaps\na,0,9,2,3-10\n", "gap '3-10' is not within"},
        {"id,lower,upper,size,gaps\na,0,9,2,3-5@0:3\n", "gap '3-5@0:3' is not within"},
        {"id,lower,upper,size,gaps\na,0,9,2,3-5 4-6\n", "the gaps overlap"},
        {"id,lower,upper,size,gaps\na,0,9,2,0-9\n", "the gaps leave no step at which all"},
    };
    struct vbs_place_csv *csv;
    struct vbs_ctx ctx;
    int n_wrong = 0;

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        enum vbs_status status = parse(CASES[i].text, &ctx, &csv);

        if (status == VBS_FORMAT && !csv && strstr(ctx.detail, CASES[i].part))
            continue;
        n_wrong++;
        printf("# '%s': status %d (%s)\n", CASES[i].part, (int)status, ctx.detail);
        vbs_place_csv_free(csv);
    }
    ok(n_wrong == 0, "%d texts are refused", (int)(sizeof CASES / sizeof CASES[0]));
    ok(vbs_place_csv_parse(&ctx, "f.csv", "id,lower,upper,size\na\0b,0,1,2\n", 30, &csv) ==
               VBS_FORMAT &&
           strstr(ctx.detail, "a zero byte"),
       "a zero byte");
    ok(vbs_place_csv_read(&ctx, "not-there.csv", &csv) == VBS_IO, "no file: %s", ctx.detail);
}

static void test_columns(void)
{
    struct vbs_place_csv *csv;
    struct vbs_ctx ctx;
    enum vbs_status status = parse("\xef\xbb\xbfsize,\"id\",upper,alignment,lower,offset\r\n"
                                   "7,\"a \"\"b\"\",\nc\",5,8,-2,16\r\n\r\n1,,3,,0,",
                                   &ctx, &csv);
    const struct vbs_place_problem *problem = status ? NULL : vbs_place_csv_problem(csv);

    ok(problem && problem->n_items == 2 && problem->n_rects == 2 && problem->capacity == INT64_MAX,
       "columns in any order, CRLF, quotes, an empty line, no end of line: %s", ctx.detail);
    if (problem) {
        const struct vbs_place_item *items = problem->items;
        const struct vbs_place_rect *rects = problem->rects;

        is_str(problem->names[0], "a \"b\",\nc", "a quoted id");
        is_str(problem->names[1], "", "an empty one");
        ok(rects[0].lower == -2 && rects[0].upper == 5 && rects[0].size == 7 &&
               rects[0].offset == 0 && rects[1].lower == 0 && rects[1].upper == 3,
           "steps and sizes");
        ok(items[0].alignment == 8 && items[0].fixed && items[0].fixed_offset == 16 &&
               !items[1].fixed && items[1].alignment <= 1,
           "alignment and offset, and none");
    }
    vbs_place_csv_free(csv);
    status = parse("id,lower,upper,size\n", &ctx, &csv);
    ok(status == VBS_OK && vbs_place_csv_problem(csv)->n_items == 0, "a header alone: no buffers");
    vbs_place_csv_free(csv);
}

static void test_gaps(void)
{
    static const struct vbs_place_rect WANT[] = {
        {0, 2, 0, 10}, {2, 4, 3, 4}, {5, 6, 0, 10}, {7, 9, 0, 10}};
    struct vbs_place_csv *csv;
    struct vbs_ctx ctx;
    enum vbs_status status =
        parse("id,lower,upper,size,gaps\na,0,9,10, 6-7  2-4@3:7 4-5@2:2 \nb,0,9,10,0-1 8-9\n", &ctx,
              &csv);
    bool good = status == VBS_OK && vbs_place_csv_problem(csv)->items[0].n_rects == 4;

    for (int r = 0; r < 4 && good; r++) {
        const struct vbs_place_rect *rect = &vbs_place_csv_problem(csv)->rects[r];

        good = rect->lower == WANT[r].lower && rect->upper == WANT[r].upper &&
               rect->offset == WANT[r].offset && rect->size == WANT[r].size;
    }
    ok(good, "gaps with and without windows, unsorted: %s", ctx.detail);
    ok(good && vbs_place_csv_problem(csv)->items[1].n_rects == 1 &&
           vbs_place_csv_problem(csv)->rects[4].lower == 1 &&
           vbs_place_csv_problem(csv)->rects[4].upper == 8,
       "gaps at both ends");
    vbs_place_csv_free(csv);
}

/* Writes the CSV with these offsets, and compares. */
static void check_written(const char *text, int64_t *offsets, const char *want, const char *name)
{
    char path[] = "/tmp/vbslab-place-XXXXXX", got[256] = "";
    struct vbs_place_result result = {.offsets = offsets};
    struct vbs_place_csv *csv;
    struct vbs_ctx ctx;
    FILE *file;

    close(mkstemp(path));
    if (parse(text, &ctx, &csv) == VBS_OK) {
        result.n_items = vbs_place_csv_problem(csv)->n_items;
        if (vbs_place_csv_write(&ctx, csv, &result, path) == VBS_OK && (file = fopen(path, "r"))) {
            got[fread(got, 1, sizeof got - 1, file)] = '\0';
            fclose(file);
        }
        result.n_items++;
        ok(vbs_place_csv_write(&ctx, csv, &result, path) == VBS_USAGE, "%s: of another problem",
           name);
    }
    is_str(got, want, name);
    vbs_place_csv_free(csv);
    unlink(path);
}

static void test_writing(void)
{
    int64_t offsets[] = {640, INT64_MAX};

    check_written("size,id,lower,upper,hint\n7,\"a,\"\"b\",0,3,-1\n9,c,1,2,\n", offsets,
                  "size,id,lower,upper,hint,offset\n7,\"a,\"\"b\",0,3,-1,640\n"
                  "9,c,1,2,,9223372036854775807\n",
                  "a column is added");
    check_written("id,offset,lower,upper,size\r\na,,0,3,7\r\nb,9,0,3,7\r\n", offsets,
                  "id,offset,lower,upper,size\na,640,0,3,7\nb,9223372036854775807,0,3,7\n",
                  "the column that is there is filled");
}

int main(void)
{
    test_refusals();
    test_columns();
    test_gaps();
    test_writing();
    return done_testing();
}
