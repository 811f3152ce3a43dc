/*
 * Every allocation that the onednn backend makes when it opens fails once, and then also every one
 * from it on: opening says that memory is out and leaves nothing behind (AddressSanitizer looks).
 */
#include "vbslab/vbslab.h"

#include "cases/backend_cases.h"
#include "support/fault.h"
#include "support/tap.h"

/* These cases together have every kind of plan, constant and packed format. */
static const char *const names[] = {
    "a run of operators on values, of which some are fused",
    "operators on values of plain and of many dimensions",
    "add by column",
    "mul by channel",
    "deconv in groups",
    "fc on rows of what a convolution makes",
    "matmul with a constant",
    "softmax and its logarithm along every dimension",
    "instancenorm with a relu and more behind it",
    "layernorm of more",
    "reducel2",
    "slices of channels",
    "padding of positions",
    "gather along every dimension",
    "concat of what is plain for another reader",
    "cubic",
    "nearest by thirds, rounded down",
    "resize with something behind it",
};

static enum vbs_status open_and_close(const struct vbs_network *network,
                                      const struct vbs_backend *backend)
{
    static const int batches[] = {1, 2};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = batches,
                                          .n_batches = 2,
                                          .threads = 1};
    struct vbs_ctx ctx = {0};
    struct vbs_session *session = NULL;
    enum vbs_status status = backend->open(&ctx, network, &options, &session);

    if (status == VBS_OK)
        session->ops->close(session);
    else if (session || ctx.detail[0] == '\0')
        status = VBS_INVALID;
    return status;
}

static void try_case(const struct operator_case *c, const struct vbs_backend *backend, bool lasting)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL;
    enum vbs_status status = VBS_NOT_FOUND;
    int n_wrong = 0, n_faults = 0;

    if (c)
        status = operator_case_network(&ctx, c, &network);
    while (network) {
        allocation_faults = (struct faults){.countdown = n_faults + 1, .lasting = lasting};
        status = open_and_close(network, backend);
        allocation_faults.countdown = 0;
        if (!allocation_faults.hit)
            break;
        n_faults++;
        if (status == VBS_NO_MEMORY)
            continue;
        n_wrong++;
        printf("# allocation %d: status %d\n", n_faults, (int)status);
    }
    ok(n_faults > 0 && n_wrong == 0 && status == VBS_OK, "%s: %d allocations, %s",
       c ? c->name : "no such case", n_faults,
       lasting ? "all from one on fail" : "each fails once");
    vbs_network_free(network);
}

int main(void)
{
    const struct vbs_backend *backend;

    if (vbs_backend_find(NULL, "onednn", &backend) != VBS_OK)
        return 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        try_case(operator_case(names[i]), backend, false);
        try_case(operator_case(names[i]), backend, true);
    }
    return done_testing();
}
