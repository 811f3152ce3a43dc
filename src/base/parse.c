#include "base/parse.h"

#include "base/arith.h"
#include "base/fail.h"
#include "base/text.h"

#include <string.h>

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

enum vbs_status vbs_parse_word(struct vbs_ctx *ctx, const char *what, const char *text,
                               const char *const *words, int n_words, int *index)
{
    const char *near = vbs_nearest_name(text, words, n_words);
    struct vbs_text all = {0};
    enum vbs_status status;

    for (int i = 0; i < n_words; i++)
        if (strcmp(text, words[i]) == 0) {
            *index = i;
            return VBS_OK;
        }
    vbs_text_add_names(&all, words, n_words);
    status = all.failed
                 ? vbs_no_memory(ctx)
                 : vbs_fail(ctx, VBS_USAGE, "%s '%.40s' is none of %s%s%s%s", what, text, all.data,
                            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    vbs_text_clear(&all);
    return status;
}
