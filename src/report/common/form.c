#include "report/common/common.h"

#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

int vbs_form_width(const char *text)
{
    int width = 0;

    for (; *text; text++)
        width += !is_continuation(*text);
    return width;
}

void vbs_form_add_utf8(struct vbs_text *text, const char *name)
{
    uint32_t code;

    while (*name) {
        int length = vbs_utf8_character(name, &code);

        if (length > 0)
            vbs_text_addf(text, "%.*s", length, name);
        else
            vbs_text_add(text, "\xef\xbf\xbd");
        name += length > 0 ? length : 1;
    }
}

/* Gives whether a text with this many parts of a unit (1, 10, 100) reads back as bytes: sizes are
 * rounded down when they are read. */
static bool is_written_in(int64_t bytes, int64_t unit_bytes, int64_t scale)
{
    int64_t rest = bytes % unit_bytes;

    return (rest * scale + unit_bytes - 1) / unit_bytes * unit_bytes / scale == rest;
}

static bool are_written_in(const struct vbs_compare *compare, int64_t unit_bytes, int64_t scale)
{
    for (int b = 0; b < compare->n_budgets; b++)
        if (!is_written_in(compare->budgets[b], unit_bytes, scale))
            return false;
    return compare->budgets[compare->n_budgets - 1] >= unit_bytes;
}

struct vbs_form_unit vbs_form_budget_unit(const struct vbs_compare *compare)
{
    static const struct vbs_form_unit UNITS[] = {
        {"GiB", INT64_C(1) << 30, 0}, {"GB", INT64_C(1000000000), 0},
        {"MiB", 1 << 20, 0},          {"MB", 1000000, 0},
        {"KiB", 1 << 10, 0},          {"kB", 1000, 0},
    };

    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++) {
        struct vbs_form_unit unit = UNITS[i];
        int64_t scale = 1;

        for (; unit.decimals <= 2; unit.decimals++, scale *= 10)
            if (are_written_in(compare, unit.bytes, scale))
                return unit;
    }
    return (struct vbs_form_unit){"B", 1, 0};
}

char *vbs_form_bytes_up(int64_t bytes, char *buffer, size_t size)
{
    static const char *const NAMES[] = {"B", "KiB", "MiB", "GiB"};
    int64_t hundredths, unit;
    int i = 0;

    while (i < 3 && bytes >> (10 * (i + 1)) > 0)
        i++;
    unit = INT64_C(1) << (10 * i);
    /* The rest is below 2^30, so that a hundred of it cannot overflow. */
    hundredths = (bytes % unit * 100 + unit - 1) / unit;
    if (hundredths % 100 == 0)
        snprintf(buffer, size, "%lld %s", (long long)(bytes / unit + hundredths / 100), NAMES[i]);
    else
        snprintf(buffer, size, "%lld.%02lld %s", (long long)(bytes / unit), (long long)hundredths,
                 NAMES[i]);
    return buffer;
}

const char *vbs_form_intervals(enum vbs_intervals intervals)
{
    static const char *const WORDS[] = {[VBS_INTERVALS_NONE] = "none",
                                        [VBS_INTERVALS_ROWS] = "rows",
                                        [VBS_INTERVALS_SAMPLES] = "samples"};

    return WORDS[intervals];
}

double vbs_form_gap_percent(double time_us, double bound_us)
{
    double gap;

    if (!(bound_us > 0))
        return 0;
    gap = 100 * (time_us - bound_us) / bound_us;
    /* Both numbers are sums of the same terms in different orders. */
    return gap < 0 && gap > -1e-9 ? 0 : gap;
}

char *vbs_form_us_up(double us, char buffer[VBS_FORM_US_SIZE])
{
    snprintf(buffer, VBS_FORM_US_SIZE, "%.6g", us);
    if (strtod(buffer, NULL) < us)
        snprintf(buffer, VBS_FORM_US_SIZE, "%.6g", us + pow(10, floor(log10(us)) - 5) / 2);
    return buffer;
}

const struct vbs_compare_row *vbs_form_row(const struct vbs_compare *compare, int b, int p)
{
    return &compare->rows[(size_t)b * (size_t)compare->n_planners + (size_t)p];
}

const struct vbs_compare_row *vbs_form_fastest(const struct vbs_compare *compare, int b, bool ours)
{
    const struct vbs_compare_row *fastest = NULL;

    for (int p = 0; p < compare->n_planners; p++) {
        const struct vbs_compare_row *row = vbs_form_row(compare, b, p);

        if (row->feasible && !(ours && vbs_planner_is_baseline(row->planner)) &&
            (!fastest || row->per_sample_us < fastest->per_sample_us))
            fastest = row;
    }
    return fastest;
}

char *vbs_form_time(double us, char buffer[VBS_FORM_US_SIZE])
{
    if (us >= 1e6)
        snprintf(buffer, VBS_FORM_US_SIZE, "%.4g s", us / 1e6);
    else if (us >= 1e3)
        snprintf(buffer, VBS_FORM_US_SIZE, "%.4g ms", us / 1e3);
    else
        snprintf(buffer, VBS_FORM_US_SIZE, "%.4g us", us);
    return buffer;
}
