/*
 * Every allocation of opening a training session fails once, and then also every one from it on:
 * the call says that memory is out, and leaves nothing behind (AddressSanitizer looks). Passes
 * allocate nothing but what oneDNN does by itself.
 */
#include "support/fault.h"
#include "support/tap.h"

#include "vbslab/training.h"

#include <stdlib.h>

static const char TEXT[] = "model training\n"
                           "input 4x6x6\n"
                           "conv a out=8 kernel=3 pad=1 groups=2\n"
                           "batchnorm ab\n"
                           "relu ar\n"
                           "conv b out=8 kernel=1\n"
                           "scale bs\n"
                           "add s from=bs,ar\n"
                           "relu sr\n"
                           "lrn n size=3 alpha=0.5 beta=0.75\n"
                           "maxpool p kernel=2 stride=2\n"
                           "concat c from=p\n"
                           "fc f out=5\n"
                           "dropout d\n"
                           "softmax o\n";

/* Opens a session and reads a parameter. */
static enum vbs_status task(struct vbs_ctx *ctx, const void *network)
{
    const struct vbs_training_options options = {
        .struct_size = sizeof options, .batch = 2, .threads = 1, .input_gradient = true};
    struct vbs_training *session = (void *)&fault_untouched;
    enum vbs_status status = vbs_training_open(ctx, "onednn", network, &options, &session);
    float plain[8 * 8];

    if (status != VBS_OK)
        return fault_status(status, session);
    status = session->ops->read(ctx, session, 1, false, plain);
    if (status == VBS_OK)
        status = session->ops->write(ctx, session, 1, plain);
    session->ops->close(session);
    return status;
}

static void try_task(const struct vbs_network *network, bool lasting)
{
    struct fault_trial trial = {.run = task, .subject = network, .lasting = lasting};

    fault_each(&trial);
    ok(trial.n_faults > 50, "%d allocations, %s", trial.n_faults, trial.way);
    is_int(trial.n_wrong, 0, "each failure says that memory is out");
    is_int(trial.status, VBS_OK, "without faults it succeeds again");
}

int main(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL;

    if (vbs_network_parse(&ctx, "test", TEXT, sizeof TEXT - 1, NULL, &network) != VBS_OK ||
        task(&ctx, network) != VBS_OK) {
        ok(false, "%s", vbs_detail(&ctx));
        return done_testing();
    }
    try_task(network, false);
    try_task(network, true);
    vbs_network_free(network);
    return done_testing();
}
