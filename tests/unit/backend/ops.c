/* The onednn backend computes every operator that has no model text as the definition says, in
 * either layout, in any number of dimensions, with inputs read in other shapes. */
#include "vbslab/vbslab.h"

#include "support/backend_bench.h"
#include "support/tap.h"

#include <stdlib.h>

/* Checks that every operator is in some case, or in the cases of text. */
static void check_complete(void)
{
    const struct operator_case *c;
    bool seen[VBS_N_OPS] = {false};
    int n_missing = 0;

    for (int op = 0; op < VBS_N_TEXT_OPS; op++)
        seen[op] = true;
    for (int i = 0; (c = operator_case_at(i)); i++)
        for (const struct vbs_node *n = c->nodes; n->name; n++)
            seen[n->op] = true;
    for (int op = 0; op < VBS_N_OPS; op++)
        if (!seen[op]) {
            printf("# there is no case of '%s'\n", vbs_op_word((enum vbs_op)op));
            n_missing++;
        }
    is_int(n_missing, 0, "every operator has a case");
}

/* Reports a check of the bench. */
static void report(bool passed, const char *name, const char *detail)
{
    if (!ok(passed, "%s", name))
        printf("# %s\n", detail);
}

/* Checks layers with weights, which runs are given, and with constants, which the session keeps. */
static void check_given_weights(void)
{
    static const char *const names[] = {
        "deconv of stride 2",
        "deconv in groups",
        "deconv, depthwise",
        "deconv with operators folded and fused",
        "fc on rows of what a convolution makes",
        "matmul with a constant",
        "prelu by channel and by position",
        "a run of operators on values, of which some are fused",
        "convolution at moved places in groups",
        "fourier transform of a length with a large factor",
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct operator_case *c = operator_case(names[i]);

        if (c)
            bench_check_given(c, report);
        else
            ok(false, "there is no case '%s'", names[i]);
    }
}

/* Checks indices, which come from files. */
static void check_wrong_index(float index, bool valid)
{
    static const int batches[] = {1};
    const struct vbs_values values = {
        .name = "indices", .element = VBS_F32, .count = 1, .memory = &index, .file = -1};
    struct operator_case c = {
        .name = "gather",
        .input = {2, {4, 3}},
        .nodes = {{VBS_OP_GATHER, "n", .n_inputs = 1, .inputs = (const int[]){0},
                   .operand = {1, {1}}, .values = {[VBS_PARAMETER_OPERAND] = &values},
                   .attributes = {.gather = {.indices = {1, {1}}}}}}};
    struct vbs_backend_options options = {
        .struct_size = sizeof(struct vbs_backend_options), .batches = batches, .n_batches = 1};
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL;
    struct vbs_session *session = NULL;
    const struct vbs_backend *backend;
    enum vbs_status status = operator_case_network(&ctx, &c, &network);

    if (status == VBS_OK)
        status = vbs_backend_find(&ctx, "onednn", &backend);
    if (status == VBS_OK)
        status = backend->open(&ctx, network, &options, &session);
    ok(status == (valid ? VBS_OK : VBS_FORMAT), "index %g of a dimension of 4 is %s", (double)index,
       valid ? "taken" : "refused");
    if (session)
        session->ops->close(session);
    vbs_network_free(network);
}

int main(int argc, char **argv)
{
    const struct operator_case *c;

    check_complete();
    for (int i = 0; (c = operator_case_at(i)); i++)
        bench_check_operator(c, report);
    check_given_weights();
    check_wrong_index(3, true);
    check_wrong_index(-4, true);
    check_wrong_index(4, false);
    check_wrong_index(-5, false);
    check_wrong_index(0.5f, false);
    ok(argc > 0 && bench_passes_on(argv[0], "AVX2"), "all of this with DNNL_MAX_CPU_ISA=AVX2");
    return done_testing();
}
