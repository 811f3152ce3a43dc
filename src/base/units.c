#include "vbslab/units.h"

#include "base/arith.h"
#include "base/fail.h"
#include "base/parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    int64_t bytes;
} UNITS[] = {
    {"", 1},
    {"B", 1},
    {"kB", 1000},
    {"MB", 1000 * 1000},
    {"GB", INT64_C(1000000000)},
    {"TB", INT64_C(1000000000000)},
    {"PB", INT64_C(1000000000000000)},
    {"EB", INT64_C(1000000000000000000)},
    {"KiB", 1 << 10},
    {"MiB", 1 << 20},
    {"GiB", 1 << 30},
    {"TiB", INT64_C(1) << 40},
    {"PiB", INT64_C(1) << 50},
    {"EiB", INT64_C(1) << 60},
};

static int64_t unit_bytes(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++)
        if (strlen(UNITS[i].name) == length && strncasecmp(UNITS[i].name, name, length) == 0)
            return UNITS[i].bytes;
    return 0;
}

#define MAX_DECIMALS 6

/* Reads digits after the point as a fraction of unit, rounded down; false when there are none or
 * too many. It computes in two parts, because the digits times the largest unit exceed 64 bits. */
static bool read_fraction(const char *text, const char **end, int64_t unit_of, int64_t *bytes)
{
    int64_t digits = 0, scale = 1;
    const char *start = text;

    for (; *text >= '0' && *text <= '9'; text++) {
        if (text - start == MAX_DECIMALS)
            return false;
        digits = 10 * digits + (*text - '0');
        scale *= 10;
    }
    *end = text;
    *bytes = unit_of / scale * digits + unit_of % scale * digits / scale;
    return text > start;
}

static enum vbs_status parse_size(struct vbs_ctx *ctx, const char *text, size_t length,
                                  int64_t *bytes)
{
    const char *end = text + length, *at;
    size_t unit_length = 0;
    int64_t whole, fraction = 0, unit;
    bool fits;

    while (unit_length < length && strchr("0123456789.", end[-1 - (ptrdiff_t)unit_length]) == NULL)
        unit_length++;
    unit = unit_bytes(end - unit_length, unit_length);
    fits = vbs_parse_digits(text, &at, &whole);
    if (at == text || unit == 0)
        goto malformed;
    if (at < end && *at == '.' && !read_fraction(at + 1, &at, unit, &fraction))
        goto malformed;
    if (at != end - unit_length)
        goto malformed;
    if (!fits || !vbs_mul(whole, unit, &whole) || !vbs_add(whole, fraction, &whole))
        return vbs_fail(ctx, VBS_USAGE, "size '%.*s' is above the largest, %lld bytes", (int)length,
                        text, (long long)VBS_MAX_BYTES);
    *bytes = whole;
    return VBS_OK;

malformed:
    return vbs_fail(ctx, VBS_USAGE,
                    "'%.*s' is not a size; write for example 15MiB, 1.5GB or 1048576", (int)length,
                    text);
}

enum vbs_status vbs_parse_bytes(struct vbs_ctx *ctx, const char *text, int64_t *bytes)
{
    return parse_size(ctx, text, strlen(text), bytes);
}

/* Rounds a product that differs from a whole number only by the rounding of the factor's powers to
 * this number. */
static double times_factor(const struct vbs_byte_range *range, int index)
{
    double bytes = (double)range->from_bytes * pow(range->factor, index), whole = nearbyint(bytes);

    return fabs(bytes - whole) <= 1e-12 * bytes ? whole : floor(bytes);
}

int64_t vbs_byte_range_at(const struct vbs_byte_range *range, int index)
{
    if (range->factor > 1)
        return index == 0 ? range->from_bytes : (int64_t)times_factor(range, index);
    return range->from_bytes + index * range->step_bytes;
}

/* Counts the sizes of a range, up to one more than VBS_MAX_BUDGETS. */
static int64_t count_sizes(const struct vbs_byte_range *range)
{
    int64_t count = 1;

    if (!(range->factor > 1)) {
        count = (range->to_bytes - range->from_bytes) / range->step_bytes;
        return count < VBS_MAX_BUDGETS ? count + 1 : VBS_MAX_BUDGETS + 1;
    }
    /* 2^63 is too large for a size, and the doubles below it are not. */
    while (count <= VBS_MAX_BUDGETS && times_factor(range, (int)count) < 0x1p63 &&
           (int64_t)times_factor(range, (int)count) <= range->to_bytes)
        count++;
    return count;
}

int vbs_byte_range_count(const struct vbs_byte_range *range)
{
    return (int)count_sizes(range);
}

static bool has_steps(const struct vbs_byte_range *range)
{
    if (range->factor != 0)
        return range->factor > 1 && isfinite(range->factor) &&
               (double)range->from_bytes * (range->factor - 1) >= 1;
    return range->step_bytes > 0;
}

bool vbs_byte_range_valid(const struct vbs_byte_range *range)
{
    return range->from_bytes >= 0 && range->to_bytes >= range->from_bytes && has_steps(range) &&
           count_sizes(range) <= VBS_MAX_BUDGETS;
}

/* Reads "*1.25", of which text is the part behind the star. */
static enum vbs_status parse_factor(struct vbs_ctx *ctx, const char *text, double *factor)
{
    static const int64_t MILLION = 1000000;
    const char *end = text;
    int64_t whole = 0, millionths = 0;
    bool fits = vbs_parse_digits(text, &end, &whole) && whole <= MILLION;

    if (end == text || (*end == '.' && !read_fraction(end + 1, &end, MILLION, &millionths)))
        fits = false;
    if (!fits || *end != '\0' || whole < 1 || (whole == 1 && millionths == 0))
        return vbs_fail(ctx, VBS_USAGE,
                        "'%s' is not a factor above 1; write for example 5MiB..1GiB:*1.25", text);
    *factor = (double)whole + (double)millionths / (double)MILLION;
    return VBS_OK;
}

enum vbs_status vbs_parse_byte_range(struct vbs_ctx *ctx, const char *text,
                                     struct vbs_byte_range *range)
{
    const char *dots = strstr(text, ".."), *colon = strchr(text, ':');
    struct vbs_byte_range parsed = {.step_bytes = 1};

    if (!dots && !colon) {
        VBS_TRY(vbs_parse_bytes(ctx, text, &parsed.from_bytes));
        parsed.to_bytes = parsed.from_bytes;
        *range = parsed;
        return VBS_OK;
    }
    if (!dots || !colon || colon < dots)
        return vbs_fail(ctx, VBS_USAGE, "'%s' is not a range of sizes; write 15MiB..40MiB:1MiB",
                        text);
    VBS_TRY(parse_size(ctx, text, (size_t)(dots - text), &parsed.from_bytes));
    VBS_TRY(parse_size(ctx, dots + 2, (size_t)(colon - dots - 2), &parsed.to_bytes));
    if (colon[1] == '*')
        VBS_TRY(parse_factor(ctx, colon + 2, &parsed.factor));
    else
        VBS_TRY(parse_size(ctx, colon + 1, strlen(colon + 1), &parsed.step_bytes));
    if (parsed.step_bytes == 0 || parsed.from_bytes > parsed.to_bytes)
        return vbs_fail(ctx, VBS_USAGE, "range '%s' is empty", text);
    if (!has_steps(&parsed))
        return vbs_fail(ctx, VBS_USAGE, "range '%s' begins with a step of less than a byte", text);
    if (!vbs_byte_range_valid(&parsed))
        return vbs_fail(ctx, VBS_USAGE, "range '%s' has more than %d sizes", text, VBS_MAX_BUDGETS);
    *range = parsed;
    return VBS_OK;
}

static enum vbs_status bad_batches(struct vbs_ctx *ctx, const char *text)
{
    return vbs_fail(ctx, VBS_USAGE,
                    "'%s' is not a list of batches from 1 to %d, ascending; write 1-12 or 1,2,4",
                    text, VBS_MAX_BATCH);
}

/* Reads one "A" or "A-B" at *text, above *last, and appends it to batches. */
static bool read_batch_span(const char **text, int *batches, int *count)
{
    int64_t low, high, last = *count ? batches[*count - 1] : 0;
    const char *end;

    if (!vbs_parse_digits(*text, &end, &low) || end == *text)
        return false;
    high = low;
    if (*end == '-') {
        *text = end + 1;
        if (!vbs_parse_digits(*text, &end, &high) || end == *text)
            return false;
    }
    if (low <= last || high < low || high > VBS_MAX_BATCH)
        return false;
    for (int64_t batch = low; batch <= high; batch++)
        batches[(*count)++] = (int)batch;
    *text = end;
    return true;
}

enum vbs_status vbs_parse_batches(struct vbs_ctx *ctx, const char *text, int **batches,
                                  int *n_batches)
{
    int *list = malloc(VBS_MAX_BATCH * sizeof *list);
    const char *at = text;
    int count = 0;

    if (!list)
        return vbs_no_memory(ctx);
    for (;;) {
        if (!read_batch_span(&at, list, &count))
            break;
        if (*at == '\0') {
            *batches = list;
            *n_batches = count;
            return VBS_OK;
        }
        if (*at++ != ',')
            break;
    }
    free(list);
    return bad_batches(ctx, text);
}

char *vbs_format_bytes(int64_t bytes, char *buffer, size_t size)
{
    static const char *const NAMES[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    int unit = 0;

    while (value >= 1023.95 && unit < 6) {
        value /= 1024;
        unit++;
    }
    if (unit == 0 || value == (double)(int64_t)value)
        snprintf(buffer, size, "%.0f %s", value, NAMES[unit]);
    else
        snprintf(buffer, size, value < 10 ? "%.2f %s" : "%.1f %s", value, NAMES[unit]);
    return buffer;
}

char *vbs_format_exact(int64_t bytes, char *buffer, size_t size)
{
    char rounded[24];

    if (bytes < 1024)
        snprintf(buffer, size, "%lld byte%s", (long long)bytes, bytes == 1 ? "" : "s");
    else
        snprintf(buffer, size, "%lld bytes (%s)", (long long)bytes,
                 vbs_format_bytes(bytes, rounded, sizeof rounded));
    return buffer;
}
