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
    "lstm both ways, without bias",
    "gru that resets after the product",
};

struct subject {
    const struct vbs_backend *backend;
    struct vbs_network *network;
};

static enum vbs_status open_and_close(struct vbs_ctx *ctx, const void *subject)
{
    const struct subject *s = subject;
    static const int batches[] = {1, 2};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = batches,
                                          .n_batches = 2,
                                          .threads = 1};
    struct vbs_session *session = (void *)&fault_untouched;
    enum vbs_status status = s->backend->open(ctx, s->network, &options, &session);

    if (status != VBS_OK)
        return fault_status(status, session);
    session->ops->close(session);
    return VBS_OK;
}

static void try_case(const char *name, const struct vbs_backend *backend, bool lasting)
{
    const struct operator_case *c = operator_case(name);
    struct subject subject = {backend, NULL};
    struct fault_trial trial = {.run = open_and_close, .subject = &subject, .lasting = lasting};
    struct vbs_ctx ctx = {0};

    if (!c || operator_case_network(&ctx, c, &subject.network) != VBS_OK) {
        ok(false, "%s: %s", name, c ? vbs_detail(&ctx) : "no such case");
        return;
    }
    fault_each(&trial);
    ok(trial.n_faults > 0 && trial.n_wrong == 0 && trial.status == VBS_OK, "%s: %d allocations, %s",
       name, trial.n_faults, trial.way);
    vbs_network_free(subject.network);
}

int main(void)
{
    const struct vbs_backend *backend;

    if (vbs_backend_find(NULL, "onednn", &backend) != VBS_OK)
        return 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        try_case(names[i], backend, false);
        try_case(names[i], backend, true);
    }
    return done_testing();
}
