/* How inputs are normalised stays with a network: from the metadata of an ONNX file into the
 * network, its copies with other values, and files with coded weights. */
#include "cases/onnx_bytes.h"
#include "support/bail_out.h"
#include "support/tap.h"

#include "vbslab/data.h"
#include "vbslab/model.h"

#include <stdlib.h>
#include <unistd.h>

#define TEXT "0.286041;0.353024"

/* Writes an ONNX file with a metadata entry (text null: none) to path. */
static void put_file(const char *path, const char *text)
{
    struct bytes graph = onnx_usual_graph(), model, entry = {0};

    onnx_add_node(&graph, onnx_node("Relu", "x", "y"));
    model = onnx_model(17, &graph);
    bytes_text(&entry, 1, "author");
    bytes_text(&entry, 2, "nobody");
    bytes_put(&model, 14, &entry);
    if (text) {
        bytes_text(&entry, 1, VBS_NORMALISE_KEY);
        bytes_text(&entry, 2, text);
        bytes_put(&model, 14, &entry);
    }
    if (!bytes_write(&model, path))
        bail_out("cannot write a file");
    bytes_clear(&model);
}

static struct vbs_network *load(const char *path)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_network_load(&ctx, path, NULL, &network) != VBS_OK)
        bail_out("%s", ctx.detail);
    return network;
}

static void check_text(const struct vbs_network *network, const char *name)
{
    struct vbs_normalise normalise;
    struct vbs_ctx ctx = {0};

    is_str(network->normalise, TEXT, name);
    ok(vbs_normalise_parse(&ctx, "file", network->normalise ? network->normalise : "",
                           &normalise) == VBS_OK &&
           normalise.mean[0] == 0.286041,
       "which can be read");
}

int main(void)
{
    char onnx[] = "/tmp/vbslab-normalise.XXXXXX.onnx", vbz[64];
    int file = mkstemps(onnx, 5);
    struct vbs_network *network, *copy = NULL;
    struct vbs_ctx ctx = {0};

    if (file < 0)
        bail_out("cannot make a file");
    close(file);
    snprintf(vbz, sizeof vbz, "%.*s.vbz", (int)strlen(onnx) - 5, onnx);
    put_file(onnx, NULL);
    network = load(onnx);
    ok(!network->normalise, "a file without this entry says nothing");
    ok(vbs_network_set_normalise(&ctx, network, TEXT) == VBS_OK, "a network can be told");
    check_text(network, "and keeps it");
    ok(vbs_network_set_normalise(&ctx, network, NULL) == VBS_OK && !network->normalise,
       "and can forget it");
    vbs_network_free(network);
    put_file(onnx, TEXT);
    network = load(onnx);
    check_text(network, "the metadata of a file come into the network");
    ok(vbs_network_revalue(&ctx, network, NULL, 0, &copy) == VBS_OK, "the network is copied");
    if (copy)
        check_text(copy, "with its normalisation");
    vbs_network_free(copy);
    if (ok(vbs_network_write(&ctx, network, NULL, 0, vbz) == VBS_OK, "it is written as .vbz")) {
        copy = load(vbz);
        check_text(copy, "with its normalisation");
        vbs_network_free(copy);
    } else {
        printf("# %s\n", ctx.detail);
    }
    vbs_network_free(network);
    unlink(onnx);
    unlink(vbz);
    return done_testing();
}
