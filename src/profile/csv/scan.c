/* Scans numbers, quoted texts and copies in a CSV file. */
#include "profile/csv/csv.h"

#include "base/arith.h"
#include "base/fail.h"
#include "vbslab/units.h"

#include <stdlib.h>
#include <string.h>

#define FAIL(scan, ...)                                                                            \
    vbs_builder_fail((scan)->ctx, (scan)->builder, (scan)->builder->line, __VA_ARGS__)

bool vbs_csv_digits(const char **text, int64_t *value)
{
    const char *start = *text;
    bool fits = true;

    *value = 0;
    for (; **text >= '0' && **text <= '9'; ++*text)
        fits = fits && vbs_mul(*value, 10, value) && vbs_add(*value, **text - '0', value);
    return fits && *text > start;
}

enum vbs_status vbs_csv_whole(const struct csv_scan *scan, const char *name, const char *text,
                              int64_t low, int64_t high, int64_t *value)
{
    const char *digits = text + (text[0] == '-');
    int64_t number = 0;
    bool fits;

    if (digits[0] == '\0' || digits[strspn(digits, "0123456789")])
        return FAIL(scan, "%s '%.40s' is not a whole number", name, text);
    fits = vbs_csv_digits(&digits, &number);
    if (text[0] == '-' && (!fits || number > 0))
        return FAIL(scan, "%s is negative: %.40s", name, text);
    if (!fits || number > high)
        return FAIL(scan, "%s %.40s is above the largest, %lld", name, text, (long long)high);
    if (number < low)
        return FAIL(scan, "%s %.40s is out of range; it goes from %lld to %lld", name, text,
                    (long long)low, (long long)high);
    *value = number;
    return VBS_OK;
}

/* Reads a number of a reach that ends in stop, and moves *text behind it. */
static bool read_number(const char **text, char stop, bool may_be_negative, int64_t *value)
{
    bool negative = may_be_negative && **text == '-';

    *text += negative;
    if (!vbs_csv_digits(text, value) || *value > VBS_MAX_REACH || **text != stop)
        return false;
    *text += stop != '\0';
    *value = negative ? -*value : *value;
    return true;
}

/* Reads one reach, and moves *text to the separator behind it. */
static bool read_reach(const char **text, struct vbs_reach *reach)
{
    int64_t step, unit, low, high;
    const char *end;

    *reach = (struct vbs_reach){0};
    if (strncmp(*text, CSV_WHOLE, strlen(CSV_WHOLE)) == 0) {
        *text += strlen(CSV_WHOLE);
        return **text == ';' || **text == '\0';
    }
    if (!read_number(text, '/', false, &step) || !read_number(text, ':', false, &unit) ||
        !read_number(text, ':', true, &low))
        return false;
    end = *text + strcspn(*text, ";");
    if (!read_number(text, *end, true, &high) || (unit == 0 && step == 0))
        return false;
    *text = end;
    *reach = (struct vbs_reach){(int)step, (int)unit, low, high};
    return true;
}

enum vbs_status vbs_csv_reaches(const struct csv_scan *scan, const char *text, int n,
                                struct vbs_reach *reaches)
{
    const char *at = text;

    for (int i = 0; i < n; i++) {
        if (!read_reach(&at, &reaches[i]) || *at != (i + 1 < n ? ';' : '\0'))
            return FAIL(scan,
                        "reach '%.40s' is not a list of %d such as 1/1:-1:1 or all, one for each "
                        "input, with ; between them",
                        text, n);
        at++;
    }
    return VBS_OK;
}

/* Accepts only decimal forms: strtod alone would accept hexadecimal numbers, "inf" and leading
 * blanks too. */
enum vbs_status vbs_csv_time(const struct csv_scan *scan, const char *name, const char *text,
                             double *value)
{
    char *end;

    if (text[0] == '\0' || text[strspn(text, "0123456789+-.eE")])
        goto malformed;
    *value = strtod_l(text, &end, scan->locale);
    if (*end == '\0')
        return VBS_OK;

malformed:
    return FAIL(scan, "%s '%.40s' is not a finite decimal number", name, text);
}

/* Reads the number behind "\x" at text; -1 where there is none. A zero is refused because it would
 * end the text. */
static int read_escaped_byte(const char *text)
{
    char digits[3] = {0};

    if (!strchr("0123456789abcdef", text[0]) || !text[0])
        return -1;
    if (!strchr("0123456789abcdef", text[1]) || !text[1])
        return -1;
    memcpy(digits, text, 2);
    return strcmp(digits, "00") == 0 ? -1 : (int)strtol(digits, NULL, 16);
}

char *vbs_csv_unquote(char *text)
{
    char *to = text;

    for (; *text != '"'; text++) {
        int byte = (unsigned char)*text;

        if (byte == '\0')
            return NULL;
        if (byte == '\\') {
            byte = (unsigned char)*++text;
            if (byte == 'n')
                byte = '\n';
            else if (byte == 'x' && (byte = read_escaped_byte(text + 1)) > 0)
                text += 2;
            else if (byte != '"' && byte != '\\')
                return NULL;
        }
        *to++ = (char)byte;
    }
    *to = '\0';
    return text + 1;
}

#define COPY_FIELDS 7 /* SOURCE,BYTES,TIME_US,MAD_US,LOW_US,HIGH_US,N_RUNS; or the first three */

/* Ends the field at *value, which may be in quotes when it is a source, and puts *value behind its
 * comma; null: it is the last. Gives the field; null: malformed quotes, or no field behind them. */
static const char *cut_field(char **value)
{
    char *field = *value, *comma = field;

    if (*field == '"') {
        comma = vbs_csv_unquote(++field);
        if (!comma || *comma != ',')
            return NULL;
    } else {
        comma = strchr(field, ',');
    }
    *value = comma ? comma + 1 : NULL;
    if (comma)
        *comma = '\0';
    return field;
}

/* Cuts value into at most COPY_FIELDS + 1 fields, and returns their number; 0: malformed. */
static int cut_copy(char *value, const char *fields[COPY_FIELDS + 1])
{
    int n = 0;

    while (value && n <= COPY_FIELDS) {
        fields[n] = cut_field(&value);
        if (!fields[n++])
            return 0;
    }
    return n;
}

enum vbs_status vbs_csv_copy(const struct csv_scan *scan, char *value)
{
    struct vbs_copy_row row = {0};
    const char *fields[COPY_FIELDS + 1];
    int n_fields = cut_copy(value, fields);
    int64_t n_runs = 0;
    enum vbs_status status;

    if (n_fields != 3 && n_fields != COPY_FIELDS)
        return FAIL(scan, "a copy is SOURCE,BYTES,TIME_US[,MAD_US,LOW_US,HIGH_US,N_RUNS]");
    if ((status =
             vbs_csv_whole(scan, "bytes of the copy", fields[1], 1, VBS_MAX_BYTES, &row.bytes)) ||
        (status = vbs_csv_time(scan, "time_us of the copy", fields[2], &row.time_us)))
        return status;
    if (n_fields == COPY_FIELDS &&
        ((status = vbs_csv_time(scan, "mad_us of the copy", fields[3], &row.mad_us)) ||
         (status = vbs_csv_time(scan, "low_us of the copy", fields[4], &row.low_us)) ||
         (status = vbs_csv_time(scan, "high_us of the copy", fields[5], &row.high_us)) ||
         (status = vbs_csv_whole(scan, "n_runs of the copy", fields[6], 0, INT32_MAX, &n_runs))))
        return status;
    row.n_runs = (int)n_runs;
    return vbs_profile_builder_copy(scan->ctx, scan->builder, fields[0], &row);
}

enum vbs_status vbs_csv_beside(const struct csv_scan *scan, char *value)
{
    const char *source = cut_field(&value);

    if (!source || !value)
        return FAIL(scan, "factors beside copies are SOURCE,FACTOR,FACTOR,...");
    for (int layer = 0; value; layer++) {
        const char *field = cut_field(&value);
        double factor = 0;

        if (!field)
            return FAIL(scan, "a factor beside copies is in quotes");
        VBS_TRY(vbs_csv_time(scan, "a factor beside copies", field, &factor));
        VBS_TRY(vbs_profile_builder_beside(scan->ctx, scan->builder, source, layer, factor));
    }
    return VBS_OK;
}

enum vbs_status vbs_csv_speed(const struct csv_scan *scan, char *value)
{
    struct vbs_speed speed = {0};
    double *numbers[] = {&speed.flops_per_us, &speed.cache_bytes_per_us,
                         &speed.memory_bytes_per_us};

    for (int i = 0; i < 3; i++) {
        const char *field = value ? cut_field(&value) : NULL;

        if (!field || (i == 2 && value))
            return FAIL(scan, "the speed of the machine is "
                              "FLOPS_PER_US,CACHE_BYTES_PER_US,MEMORY_BYTES_PER_US");
        VBS_TRY(vbs_csv_time(scan, "the speed of the machine", field, numbers[i]));
    }
    return vbs_profile_builder_speed(scan->ctx, scan->builder, &speed);
}
