#include "cli/print/weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void cli_print_outside(enum vbs_weights weights, int64_t weight_bytes, const char *indent)
{
    char bytes[24];

    if (weights == VBS_WEIGHTS_EXCLUDED && weight_bytes > 0)
        printf("%sweights outside the budget: %s; --weights included counts them\n", indent,
               vbs_format_bytes(weight_bytes, bytes, sizeof bytes));
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
