#include "cli/common/normalise.h"

#include "base/fail.h"
#include "cli/common/common.h"

/* Uses the numbers of one channel for all of them. */
static void spread(struct vbs_normalise *normalise, int n_channels)
{
    for (int c = 1; normalise->n_channels == 1 && c < n_channels; c++) {
        normalise->mean[c] = normalise->mean[0];
        normalise->deviation[c] = normalise->deviation[0];
    }
    if (normalise->n_channels == 1)
        normalise->n_channels = n_channels;
}

static enum vbs_status measure(struct vbs_ctx *ctx, const char *folder,
                               struct vbs_normalise *normalise)
{
    enum vbs_status status = vbs_normalise_measure(ctx, folder, normalise);

    if (status == VBS_FORMAT || status == VBS_IO)
        return vbs_fail_within(
            ctx, status,
            "the network does not say how its inputs are normalised, nor can the "
            "training images (--normalise MEAN,DEVIATION can)");
    return status;
}

enum vbs_status cli_find_normalise(struct cli *cli, const char *const *values,
                                   const struct vbs_network *network, const char *model,
                                   const char *folder, int n_channels,
                                   struct vbs_normalise *normalise, const char **from)
{
    struct vbs_ctx *ctx = &cli->ctx;
    const char *option = cli_value(cli, values, "normalise");
    enum vbs_status status;

    *from = option ? "option" : network->normalise ? "network" : "data";
    if (option) {
        status = vbs_normalise_parse(ctx, "--normalise", option, normalise);
        if (status == VBS_FORMAT)
            return vbs_fail(ctx, VBS_USAGE, "%s", vbs_detail(ctx));
        VBS_TRY(status);
    } else if (network->normalise) {
        VBS_TRY(vbs_normalise_parse(ctx, model, network->normalise, normalise));
    } else {
        VBS_TRY(measure(ctx, folder, normalise));
    }
    spread(normalise, n_channels);
    return VBS_OK;
}
