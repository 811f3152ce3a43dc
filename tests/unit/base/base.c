/*
 * The helpers of the room base do what their headers promise: sizes, ranges, lists of batches,
 * texts, files, names, and arithmetic that notices overflow.
 */
#include "base/arena.h"
#include "base/arith.h"
#include "base/fail.h"
#include "base/parse.h"
#include "base/text.h"
#include "support/tap.h"
#include "vbslab/units.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void sizes(void)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } GOOD[] = {{"0", 0},
                {"15MiB", 15 << 20},
                {"15MB", 15000000},
                {"15mb", 15000000},
                {"512KiB", 512 << 10},
                {"1.5GiB", INT64_C(3) << 29},
                {"0.3B", 0},
                {"0.999999KiB", 1023},
                {"9223372036854775807", INT64_MAX},
                {"2PB", INT64_C(2000000000000000)},
                {"1.5PiB", INT64_C(3) << 49},
                {"7EiB", INT64_C(7) << 60},
                {"7.999999EiB", INT64_C(9223370883933271201)},
                {"1.000001EB", INT64_C(1000001000000000000)}};
    static const char *const BAD[] = {"",
                                      "MiB",
                                      "-1",
                                      "1.MiB",
                                      "1 MiB",
                                      "1XiB",
                                      ".5MiB",
                                      "1..2MB",
                                      "0x10",
                                      "1e6",
                                      "nan",
                                      "1.1234567MiB",
                                      "9223372036854775808",
                                      "8388608TiB",
                                      "8EiB",
                                      "1MiBx"};
    struct vbs_ctx ctx = {0};
    int64_t bytes;

    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        bytes = -1;
        ok(vbs_parse_bytes(&ctx, GOOD[i].text, &bytes) == VBS_OK && bytes == GOOD[i].bytes,
           "size %s is %lld", GOOD[i].text, (long long)bytes);
    }
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        bytes = 77;
        ok(vbs_parse_bytes(&ctx, BAD[i], &bytes) == VBS_USAGE && bytes == 77, "no size '%s': %s",
           BAD[i], vbs_detail(&ctx));
    }
}

static void ranges(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_byte_range range;

    ok(vbs_parse_byte_range(&ctx, "15MiB..40MiB:1MiB", &range) == VBS_OK &&
           vbs_byte_range_count(&range) == 26,
       "a range counts both ends");
    ok(vbs_parse_byte_range(&ctx, "1.5MiB..2MiB:0.5MiB", &range) == VBS_OK &&
           range.from_bytes == 3 << 19 && vbs_byte_range_count(&range) == 2,
       "decimals in a range");
    ok(vbs_parse_byte_range(&ctx, "6..10:2", &range) == VBS_OK && range.from_bytes == 6 &&
           range.to_bytes == 10 && vbs_byte_range_count(&range) == 3,
       "plain bytes in a range");
    ok(vbs_parse_byte_range(&ctx, "20MB", &range) == VBS_OK && vbs_byte_range_count(&range) == 1,
       "one size is a range");
    ok(vbs_parse_byte_range(&ctx, "2MB..1MB:1", &range) == VBS_USAGE, "a range that falls");
    ok(vbs_parse_byte_range(&ctx, "1MB..2MB:0", &range) == VBS_USAGE, "a step of zero");
    ok(vbs_parse_byte_range(&ctx, "1MB..2MB", &range) == VBS_USAGE, "no step");
    ok(vbs_parse_byte_range(&ctx, "0..9223372036854775807:1", &range) == VBS_USAGE,
       "too many sizes");
}

static void ranges_by_a_factor(void)
{
    static const char *const BAD[] = {"1MB..2MB:*",    "1MB..2MB:*1",       "1MB..2MB:*0.5",
                                      "1MB..2MB:*-2",  "1MB..2MB:*2x",      "0..2MB:*2",
                                      "1..8:*1.5",     "1MB..2MB:*1.00001", "2MB..1MB:*2",
                                      "1MB..2MB:*1e3", "1MB..2MB:*inf"};
    struct vbs_ctx ctx = {0};
    struct vbs_byte_range range;

    ok(vbs_parse_byte_range(&ctx, "4MiB..64MiB:*2", &range) == VBS_OK &&
           vbs_byte_range_count(&range) == 5 && vbs_byte_range_at(&range, 4) == 64 << 20,
       "a factor reaches the end");
    ok(vbs_parse_byte_range(&ctx, "1000..2000:*1.1", &range) == VBS_OK &&
           vbs_byte_range_count(&range) == 8 && vbs_byte_range_at(&range, 2) == 1210 &&
           vbs_byte_range_at(&range, 4) == 1464,
       "sizes are rounded down, powers of the factor are not rounded between");
    ok(vbs_parse_byte_range(&ctx, "1..9223372036854775807:*2", &range) == VBS_OK &&
           vbs_byte_range_count(&range) == 63 && vbs_byte_range_at(&range, 62) == INT64_C(1) << 62,
       "up to the largest size");
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        ok(vbs_parse_byte_range(&ctx, BAD[i], &range) == VBS_USAGE, "no range '%s': %s", BAD[i],
           vbs_detail(&ctx));
}

static void batches(void)
{
    static const char *const BAD[] = {"",   "0",    "2,1", "1,1",  "1-",
                                      "-1", "1,,2", "3-1", "4097", "a"};
    struct vbs_ctx ctx = {0};
    int *list = NULL, n = 0;

    ok(vbs_parse_batches(&ctx, "1-4,8", &list, &n) == VBS_OK && n == 5 && list[4] == 8,
       "spans and single batches");
    free(list);
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        ok(vbs_parse_batches(&ctx, BAD[i], &list, &n) == VBS_USAGE, "no batches '%s'", BAD[i]);
}

static void whole_numbers(void)
{
    struct vbs_ctx ctx = {0};
    int64_t value = 5;

    ok(vbs_parse_int(&ctx, "--request", "12", 1, 4096, &value) == VBS_OK && value == 12, "12");
    ok(vbs_parse_int(&ctx, "--request", "0", 1, 4096, &value) == VBS_USAGE && value == 12, "0");
    is_str(vbs_detail(&ctx), "--request 0 is out of range; it goes from 1 to 4096", "says why");
    ok(vbs_parse_int(&ctx, "x", "99999999999999999999", 1, 9, &value) == VBS_USAGE, "overflow");
    ok(vbs_parse_int(&ctx, "x", "-3", -5, 9, &value) == VBS_OK && value == -3, "negative");
    ok(vbs_parse_int(&ctx, "x", "-", -5, 9, &value) == VBS_USAGE, "a lone sign");
}

static void formats(void)
{
    char buffer[48];
    struct vbs_text text = {0};

    is_str(vbs_format_bytes(20 << 20, buffer, sizeof buffer), "20 MiB", "whole MiB");
    is_str(vbs_format_bytes(11219763, buffer, sizeof buffer), "10.7 MiB", "one decimal");
    is_str(vbs_format_bytes(812, buffer, sizeof buffer), "812 B", "bytes");
    is_str(vbs_format_bytes(INT64_MAX, buffer, sizeof buffer), "8 EiB", "the largest");
    is_str(vbs_format_exact(8830976, buffer, sizeof buffer), "8830976 bytes (8.42 MiB)", "exact");
    is_str(vbs_format_exact(1024, buffer, sizeof buffer), "1024 bytes (1 KiB)", "from 1 KiB");
    is_str(vbs_format_exact(1023, buffer, sizeof buffer), "1023 bytes", "below 1 KiB");
    is_str(vbs_format_exact(1, buffer, sizeof buffer), "1 byte", "one byte");
    is_str(vbs_format_exact(INT64_MAX, buffer, sizeof buffer), "9223372036854775807 bytes (8 EiB)",
           "the largest, exact");
    vbs_text_add_double(&text, 0.1);
    vbs_text_add(&text, " ");
    vbs_text_add_double(&text, 4);
    vbs_text_add(&text, " ");
    vbs_text_add_double(&text, 1.0 / 3);
    vbs_text_add(&text, " ");
    vbs_text_add_csv(&text, "a \"b\", c");
    is_str(text.data, "0.1 4 0.3333333333333333 \"a \"\"b\"\", c\"", "numbers and CSV fields");
    vbs_text_clear(&text);
}

/* Fields of CSV that spreadsheets would execute. */
static void formulas(void)
{
    static const struct {
        const char *field, *written;
    } CASES[] = {{"=1+1", "'=1+1"},
                 {"+a", "'+a"},
                 {"-a", "'-a"},
                 {"@a", "'@a"},
                 {"\ta", "'\ta"},
                 {"\ra", "\"'\ra\""},
                 {"\t=a", "'\t'=a"},
                 {"=\"a\",b", "\"'=\"\"a\"\",b\""},
                 {"a;=b", "a;'=b"},
                 {"a,-b", "\"a,'-b\""},
                 {"a\n@b", "\"a\n'@b\""},
                 {"a,b;+", "\"a,b;+\""},
                 {"a=b+c-d@e", "a=b+c-d@e"},
                 {"a, -b", "\"a, -b\""},
                 {"-", "-"},
                 {"'=a", "'=a"},
                 {"", ""}};

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct vbs_text text = {0}, exact = {0};

        vbs_text_add(&text, "");
        vbs_text_add_csv(&text, CASES[i].field);
        is_str(text.data, CASES[i].written, "a field is harmless");
        vbs_text_add(&exact, "");
        vbs_text_add_csv_exact(&exact, CASES[i].field);
        ok(vbs_text_has_formula(CASES[i].field) == (strcmp(text.data, exact.data) != 0),
           "or was before: %s", CASES[i].field);
        vbs_text_clear(&text);
        vbs_text_clear(&exact);
    }
}

static void failures(void)
{
    struct vbs_ctx ctx = {0};

    vbs_fail(&ctx, VBS_IO, "cannot open '%s'", "a\nb\033[31m");
    is_str(vbs_detail(&ctx), "cannot open 'a\\x0ab\\x1b[31m'", "control characters are harmless");
    vbs_fail_within(&ctx, VBS_IO, "model");
    is_str(vbs_detail(&ctx), "model: cannot open 'a\\x0ab\\x1b[31m'", "a prefix is put before");
    vbs_fail(&ctx, VBS_IO, "%s", "\xc3\xa4\xc2\x9b\xe2\x80\xae\xff\x7f");
    is_str(vbs_detail(&ctx), "\xc3\xa4\\xc2\\x9b\\xe2\\x80\\xae\\xff\\x7f",
           "so are controls of two bytes, turned text and what is no UTF-8");
    ok(vbs_fail_at(&ctx, VBS_FORMAT, "line 3", "%d is no %s", 7, "name") == VBS_FORMAT &&
           ctx.status == VBS_FORMAT,
       "a refusal with its place");
    is_str(vbs_detail(&ctx), "line 3: 7 is no name", "the place stands before the reason");
    ok(vbs_fail(NULL, VBS_IO, "x") == VBS_IO && vbs_fail_at(NULL, VBS_IO, "x", "y") == VBS_IO,
       "no context is allowed");
    ok(vbs_status_exit_code(VBS_INFEASIBLE) == 3 && vbs_status_exit_code(VBS_USAGE) == 2 &&
           vbs_status_exit_code(VBS_STORE) == 1 && vbs_status_exit_code(VBS_OK) == 0,
       "exit codes");
}

static void files(void)
{
    struct vbs_ctx ctx = {0};
    char path[] = "/tmp/vbs-base-XXXXXX", *data = NULL;
    size_t length = 0;
    int fd = mkstemp(path);

    close(fd);
    ok(vbs_write_file(&ctx, path, "a\0b", 3) == VBS_OK, "a file is written");
    ok(vbs_read_file(&ctx, path, 10, &data, &length) == VBS_OK && length == 3 && data[3] == 0,
       "and read");
    free(data);
    ok(vbs_read_file(&ctx, path, 2, &data, &length) == VBS_FORMAT, "larger than the limit");
    unlink(path);
    ok(vbs_read_file(&ctx, path, 2, &data, &length) == VBS_IO, "missing: %s", vbs_detail(&ctx));
    ok(vbs_write_file(&ctx, "/nonexistent/x", "a", 1) == VBS_IO, "no folder: %s", vbs_detail(&ctx));
    ok(vbs_write_file(&ctx, "/dev/full", "a", 1) == VBS_IO, "full: %s", vbs_detail(&ctx));
}

static void links_and_modes(void)
{
    struct vbs_ctx ctx = {0};
    char folder[] = "/tmp/vbs-base-XXXXXX", file[64], link[64];
    struct stat info;

    ok(mkdtemp(folder) != NULL, "a folder");
    snprintf(file, sizeof file, "%s/file", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    ok(vbs_write_file(&ctx, file, "a", 1) == VBS_OK && chmod(file, 0600) == 0 &&
           symlink(file, link) == 0 && vbs_write_file(&ctx, link, "bc", 2) == VBS_OK,
       "a file is replaced through a link");
    ok(lstat(link, &info) == 0 && S_ISLNK(info.st_mode), "which stays a link");
    ok(stat(file, &info) == 0 && info.st_size == 2 && (info.st_mode & 0777) == 0600,
       "and the file keeps its mode");
    unlink(link);
    unlink(file);
    ok(rmdir(folder) == 0, "nothing else is left");
}

static void names(void)
{
    static const char *const NAMES[] = {"alexnet", "googlenet", "vgg-16", "vgg-19"};
    static const char *const OPTIONS[] = {"io", "planners", "plot", "json"};

    is_str(vbs_nearest_name("googelnet", NAMES, 4), "googlenet", "a slip of the fingers");
    is_str(vbs_nearest_name("AlexNet", NAMES, 4), "alexnet", "case");
    is_str(vbs_nearest_name("vgg-1", NAMES, 4), "vgg-16", "the first that begins so");
    is_str(vbs_nearest_name("js", OPTIONS, 4), "json", "what was broken off, before what is near");
    is_str(vbs_nearest_name("P", OPTIONS, 4), "plot", "the shortest of those");
    ok(vbs_nearest_name("", OPTIONS, 4) == NULL, "no name begins with nothing");
    ok(vbs_nearest_name("transformer", NAMES, 4) == NULL, "nothing near");
}

static void arenas(void)
{
    struct vbs_arena arena = {0};
    char *first = vbs_arena_alloc(&arena, 10, 1), *large = vbs_arena_alloc(&arena, 1, 5000000);

    ok(first && large && large[4999999] == 0, "small and large pieces, zero-filled");
    ok(!vbs_arena_alloc(&arena, SIZE_MAX / 2, 4), "overflow is refused");
    vbs_arena_clear(&arena);
    ok(arena.total_bytes == 0, "cleared");
}

/* The macros, the call and the Makefile, from which the package takes its version, agree. */
static void versions(void)
{
    struct vbs_ctx ctx = {0};
    char text[32], line[64], *makefile = NULL;
    size_t length;

    snprintf(text, sizeof text, "%d.%d.%d", VBS_VERSION_MAJOR, VBS_VERSION_MINOR,
             VBS_VERSION_PATCH);
    is_str(VBS_VERSION_STRING, text, "the macros agree");
    is_str(vbs_version(), VBS_VERSION_STRING, "the library has the version of its headers");
    snprintf(line, sizeof line, "\nVERSION = %s\n", VBS_VERSION_STRING);
    ok(vbs_read_file(&ctx, "Makefile", 1 << 20, &makefile, &length) == VBS_OK &&
           strstr(makefile, line) != NULL,
       "and so has the Makefile");
    free(makefile);
}

static void arithmetic(void)
{
    int64_t result = 7;

    ok(vbs_add(INT64_MAX - 1, 1, &result) && result == INT64_MAX, "the largest sum");
    ok(!vbs_add(INT64_MAX, 1, &result) && result == INT64_MAX, "a sum that does not fit");
    ok(vbs_mul(INT64_MAX / 2, 2, &result) && result == INT64_MAX - 1, "a large product");
    ok(!vbs_mul(INT64_MAX / 2 + 1, 2, &result) && result == INT64_MAX - 1,
       "a product that does not fit");
}

int main(void)
{
    sizes();
    ranges();
    ranges_by_a_factor();
    batches();
    whole_numbers();
    formats();
    formulas();
    failures();
    files();
    links_and_modes();
    names();
    arenas();
    arithmetic();
    versions();
    return done_testing();
}
