/* The onednn backend computes every operator that has no model text as the definition says, in
 * either layout, in any number of dimensions, with inputs read in other shapes. */
#include "vbslab/vbslab.h"

#include "backend_bench.h"
#include "tap.h"

#include <stdlib.h>

/* Every operator is in some case, or in the cases of text. */
static void check_complete(void)
{
    bool seen[VBS_N_OPS] = {false};
    int n_missing = 0;

    for (int op = 0; op < VBS_N_TEXT_OPS; op++)
        seen[op] = true;
    for (const struct operator_case *c = operator_cases; c->name; c++)
        for (const struct vbs_node *n = c->nodes; n->name; n++)
            seen[n->op] = true;
    for (int op = 0; op < VBS_N_OPS; op++)
        if (!seen[op]) {
            printf("# there is no case of '%s'\n", vbs_op_word((enum vbs_op)op));
            n_missing++;
        }
    is_int(n_missing, 0, "every operator has a case");
}

/* A check of the bench. */
static void report(bool passed, const char *name, const char *detail)
{
    if (!ok(passed, "%s", name))
        printf("# %s\n", detail);
}

int main(int argc, char **argv)
{
    check_complete();
    for (int i = 0; operator_cases[i].name; i++)
        bench_check_operator(&operator_cases[i], report);
    ok(argc > 0 && bench_passes_on(argv[0], "AVX2"), "all of this with DNNL_MAX_CPU_ISA=AVX2");
    return done_testing();
}
