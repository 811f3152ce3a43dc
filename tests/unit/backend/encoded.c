/* Tensors of 8 bits and of bfloat16: every kernel that the onednn backend offers for the cases of
 * all operators computes what the definition says, to a step of the output's scale, where tensors
 * are encoded at random. */
#include "vbslab/vbslab.h"

#include "support/backend_bench.h"
#include "support/tap.h"

#define SEEDS 2 /* encodings that each case is tried with */

/* Reports a check of the bench. */
static void report(bool passed, const char *name, const char *detail)
{
    if (!ok(passed, "%s", name))
        printf("# %s\n", detail);
}

int main(void)
{
    const struct operator_case *c;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (int i = 0; backend_cases[i].name; i++)
            bench_check_encoded(&backend_cases[i], 100 * seed + (uint64_t)i, report);
        for (int i = 0; (c = operator_case_at(i)); i++)
            bench_check_encoded_operator(c, 1000 * seed + (uint64_t)i, report);
    }
    return done_testing();
}
