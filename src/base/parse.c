#include "base/parse.h"

#include "base/arith.h"
#include "base/fail.h"

bool vbs_parse_digits(const char *text, const char **end, int64_t *value)
{
    bool fits = true;

    *value = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        fits = fits && vbs_mul(*value, 10, value) && vbs_add(*value, *text - '0', value);
    *end = text;
    return fits;
}

enum vbs_status vbs_parse_int(struct vbs_ctx *ctx, const char *what, const char *text, int64_t low,
                              int64_t high, int64_t *value)
{
    bool negative = text[0] == '-';
    const char *end;
    int64_t number;
    bool fits = vbs_parse_digits(text + negative, &end, &number);

    if (end == text + negative || *end)
        return vbs_fail(ctx, VBS_USAGE, "%s '%s' is not a whole number", what, text);
    if (negative)
        number = -number;
    if (!fits || number < low || number > high)
        return vbs_fail(ctx, VBS_USAGE, "%s %s is out of range; it goes from %lld to %lld", what,
                        text, (long long)low, (long long)high);
    *value = number;
    return VBS_OK;
}
