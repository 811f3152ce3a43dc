/* Networks of 8 bits, as loading their files makes them: by way of a file without a name, of which
 * nothing stays however the process ends. */
#include "base/fail.h"
#include "base/text.h"
#include "model/export/export.h"
#include "model/network/network.h"
#include "model/onnx/onnx.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Loads the file that a descriptor has open, which is closed on failure, and else with the
 * network. */
static enum vbs_status load(struct vbs_ctx *ctx, const char *name, int descriptor,
                            struct vbs_network **network)
{
    struct vbs_source *source = vbs_source_new();
    enum vbs_status status =
        source ? vbs_source_add_file(ctx, source, name, descriptor) : vbs_no_memory(ctx);

    if (status == VBS_OK)
        return vbs_onnx_load_source(ctx, name, NULL, 0, source, network);
    close(descriptor);
    vbs_source_free(source);
    return status;
}

/* Sets what vbs_network_load sets, and the name. */
static enum vbs_status finish(struct vbs_ctx *ctx, struct vbs_network *network, const char *name)
{
    enum vbs_precision own = vbs_network_rounds(network) ? VBS_PRECISION_INT8 : VBS_PRECISION_FP32;

    VBS_TRY(vbs_network_rename(ctx, network, name));
    return vbs_network_set_precision(ctx, network, own);
}

enum vbs_status vbs_network_to_int8(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_int8_table *table, struct vbs_network **int8)
{
    const char *folder = vbs_temporary_folder();
    int descriptor = vbs_open_nameless(folder, "vbslab.");
    struct vbs_network *made = NULL;
    enum vbs_status status;

    if (descriptor < 0)
        return vbs_fail(ctx, VBS_IO, "cannot make a file in '%.300s': %s", folder, strerror(errno));
    status = vbs_export_write(ctx, network, table, folder, descriptor);
    if (status == VBS_OK)
        status = load(ctx, network->name, descriptor, &made);
    else
        close(descriptor);
    if (status == VBS_OK)
        status = finish(ctx, made, network->name);
    if (status == VBS_OK)
        *int8 = made;
    else
        vbs_network_free(made);
    return status;
}
