/* What the bound of a schedule of optimal rests on. */
#include "cli/explain/explain.h"
#include "cli/print/print.h"

enum vbs_status cli_print_bound(const struct cli_explanation *about)
{
    (void)about;
    return VBS_OK;
}
