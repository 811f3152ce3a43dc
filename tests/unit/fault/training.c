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
static enum vbs_status task(struct vbs_ctx *ctx, const struct vbs_network *network)
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

/* Runs the task with the failure of each allocation in turn; gives the number of faults. */
static long run_with_faults(struct vbs_ctx *ctx, const struct vbs_network *network, bool lasting,
                            int *n_wrong)
{
    long n = 0;

    for (bool hit = true; hit && n < 100000;) {
        enum vbs_status status;

        allocation_faults = (struct faults){.countdown = ++n, .lasting = lasting};
        status = task(ctx, network);
        hit = allocation_faults.hit;
        allocation_faults = (struct faults){0};
        if (hit && status != VBS_NO_MEMORY) {
            if (++*n_wrong < 5)
                printf("# allocation %ld: %s\n", n, vbs_detail(ctx));
        }
    }
    return n - 1;
}

int main(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL;
    int n_wrong = 0;
    long n;

    if (vbs_network_parse(&ctx, "test", TEXT, sizeof TEXT - 1, NULL, &network) != VBS_OK ||
        task(&ctx, network) != VBS_OK) {
        ok(false, "%s", vbs_detail(&ctx));
        return done_testing();
    }
    n = run_with_faults(&ctx, network, false, &n_wrong);
    ok(n > 50, "%ld allocations fail", n);
    is_int(n_wrong, 0, "each failure says that memory is out");
    n = run_with_faults(&ctx, network, true, &n_wrong);
    ok(n > 50, "%ld allocations and all behind them fail", n);
    is_int(n_wrong, 0, "each failure says that memory is out");
    ok(task(&ctx, network) == VBS_OK, "without faults it succeeds again");
    vbs_network_free(network);
    return done_testing();
}
