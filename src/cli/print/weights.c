#include "cli/print/weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void cli_print_held(enum vbs_weights weights, int64_t bytes, const char *indent)
{
    char text[24];

    if (weights == VBS_WEIGHTS_EXCLUDED && bytes > 0)
        printf("%sweights outside the budget: %s; --weights included counts them\n", indent,
               vbs_format_bytes(bytes, text, sizeof text));
}

void cli_print_outside(enum vbs_weights weights, int64_t least_bytes, int64_t most_bytes,
                       const char *indent)
{
    char least[24], most[24];

    if (weights != VBS_WEIGHTS_EXCLUDED || most_bytes == 0)
        return;
    vbs_format_bytes(least_bytes, least, sizeof least);
    vbs_format_bytes(most_bytes, most, sizeof most);
    if (least_bytes < most_bytes)
        printf("%sweights outside the budget: from %s (coded) to %s (dense), by plan; --weights "
               "included counts them\n",
               indent, least, most);
    else
        printf("%sweights outside the budget: %s before packing; --weights included counts them\n",
               indent, most);
}

void cli_print_rate(const struct vbs_link *copy)
{
    char bytes[24];

    printf("%s/s",
           vbs_format_bytes((int64_t)fmin(1e6 * copy->bytes_per_us, 1e18), bytes, sizeof bytes));
}

void cli_print_link(const struct vbs_link *copy)
{
    if (!(copy->bytes_per_us > 0)) {
        printf(", no copies");
        return;
    }
    printf(", copies at ");
    cli_print_rate(copy);
    if (!copy->source || strcmp(copy->source, "given") == 0)
        return;
    printf(" from ");
    cli_print_name(copy->source);
}
