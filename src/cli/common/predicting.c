#include "cli/common/predicting.h"

#include "base/fail.h"

#include <stdlib.h>

static struct vbs_predict_options options_of(const struct cli_measuring *how)
{
    return (struct vbs_predict_options){.struct_size = sizeof(struct vbs_predict_options),
                                        .backend = how->backend,
                                        .threads = how->prepare.threads,
                                        .vbslab = cli_build};
}

enum vbs_status cli_calibrate_machine(struct cli *cli, const struct cli_measuring *how,
                                      double time_limit_s, bool again,
                                      struct vbs_predict_report *report)
{
    struct vbs_predict_options options = options_of(how);
    struct vbs_store *store = NULL;
    char *folder = cli_copy_folder(cli);
    enum vbs_status status = folder ? VBS_OK : vbs_no_memory(&cli->ctx);

    options.time_limit_s = time_limit_s;
    options.again = again;
    options.progress = cli_progress(cli);
    options.folder = folder;
    if (status == VBS_OK)
        status = cli_check_backend(cli, how->backend);
    if (status == VBS_OK)
        status = cli_open_store(cli, true, &store);
    if (status == VBS_OK)
        status = vbs_predict_calibrate(&cli->ctx, store, &options, report);
    cli_progress_end(cli);
    vbs_store_close(store);
    free(folder);
    return status;
}

enum vbs_status cli_predict_network(struct cli *cli, const struct cli_measuring *how,
                                    const struct vbs_network *network, struct vbs_store *store,
                                    int64_t *id)
{
    const struct vbs_predict_options options = options_of(how);
    struct vbs_progress progress = cli_progress(cli);
    struct vbs_predictor *predictor = NULL;
    struct vbs_profile *profile = NULL;
    enum vbs_status status = vbs_predictor_load(&cli->ctx, store, &options, &predictor);

    if (status == VBS_OK && progress.report)
        progress.report(progress.self, 0, -1, "preparing kernels");
    if (status == VBS_OK)
        status = vbs_predict_profile(&cli->ctx, store, predictor, network, how->prepare.batches,
                                     how->prepare.n_batches, &profile);
    cli_progress_end(cli);
    if (status == VBS_OK)
        status = vbs_store_save(&cli->ctx, store, profile, id);
    if (status == VBS_OK)
        cli_note(cli, "%s: profile %lld: predicted from this machine's calibration", network->name,
                 (long long)*id);
    vbs_profile_free(profile);
    vbs_predictor_free(predictor);
    return status;
}
