/* Networks of quantised ones, as loading their files makes them. */
#include "quantize/internal.h"

#include "base/fail.h"
#include "base/text.h"
#include "model/network/network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum vbs_status set_name(struct vbs_ctx *ctx, struct vbs_network *network, const char *name)
{
    size_t size = strlen(name) + 1;
    char *own = vbs_network_alloc(network, size, 1);

    if (!own)
        return vbs_no_memory(ctx);
    memcpy(own, name, size);
    network->name = own;
    return VBS_OK;
}

/* A network that has been loaded keeps its file open, which needs no name any more. */
static enum vbs_status write_and_load(struct vbs_ctx *ctx, const struct vbs_network *network,
                                      const struct vbs_int8_table *table, const char *path,
                                      struct vbs_network **loaded)
{
    struct vbs_network *made = NULL;
    enum vbs_status status = vbs_network_export_int8(ctx, network, table, path);

    if (status == VBS_OK)
        status = vbs_network_load(ctx, path, NULL, &made);
    if (status == VBS_OK)
        status = set_name(ctx, made, network->name);
    if (status == VBS_OK)
        *loaded = made;
    else
        vbs_network_free(made);
    return status;
}

enum vbs_status vbs_quantize_load(struct vbs_ctx *ctx, const struct vbs_network *network,
                                  const struct vbs_int8_table *table, struct vbs_network **loaded)
{
    const char *folder = vbs_temporary_folder();
    enum vbs_status status;
    char *path;
    int file;

    if (asprintf(&path, "%s/vbslab.XXXXXX.onnx", folder) < 0)
        return vbs_no_memory(ctx);
    file = mkstemps(path, 5);
    if (file < 0) {
        status = vbs_fail(ctx, VBS_IO, "cannot make a file in '%s': %s", folder, strerror(errno));
    } else {
        close(file);
        status = write_and_load(ctx, network, table, path, loaded);
        unlink(path);
    }
    free(path);
    return status;
}

enum vbs_status vbs_quantized_load(struct vbs_ctx *ctx,
                                   const struct vbs_quantized_network *quantized,
                                   struct vbs_network **network)
{
    const struct vbs_int8_table table = vbs_quantize_table(quantized);

    return vbs_quantize_load(ctx, quantized->network, &table, network);
}
