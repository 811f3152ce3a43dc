/*
 * Backends say consistently in which formats kernels pack their weights, how many channels have
 * weights of their own, and into how many slices kernels divide.
 */
#include "vbslab/vbslab.h"

#include "support/tap.h"

#include <stdlib.h>

struct opened {
    struct vbs_ctx ctx;
    struct vbs_network *network;
    struct vbs_session *session;
};

static bool open_on(struct opened *o, const char *backend, const char *model)
{
    static const int BATCHES[] = {1, 2, 5};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = BATCHES,
                                          .n_batches = 3,
                                          .threads = 1,
                                          .weights_given = true};
    const struct vbs_backend *found;

    *o = (struct opened){0};
    return ok(vbs_network_load(&o->ctx, model, NULL, &o->network) == VBS_OK &&
                  vbs_backend_find(&o->ctx, backend, &found) == VBS_OK &&
                  found->open(&o->ctx, o->network, &options, &o->session) == VBS_OK,
              "%s opens on %s: %s", model, backend, o->ctx.detail);
}

static void close_it(struct opened *o)
{
    if (o->session)
        o->session->ops->close(o->session);
    vbs_network_free(o->network);
}

/* Counts the formats of a layer; -1 when they are not 0, 1, ... in the order of their first use, or
 * kernels of one format differ in their weights. */
static int count_formats(const struct vbs_session *session, int layer)
{
    int64_t bytes[VBS_MAX_FORMATS], packed[VBS_MAX_FORMATS];
    int n = 0;

    for (int i = 0; i < session->n_kernels; i++) {
        const struct vbs_kernel *kernel = &session->kernels[i];

        if (kernel->layer != layer)
            continue;
        if (kernel->format < 0 || kernel->format > n || kernel->format >= VBS_MAX_FORMATS)
            return -1;
        if (kernel->format == n) {
            packed[n] = kernel->packed_bytes;
            bytes[n++] = kernel->weight_bytes;
        }
        if (bytes[kernel->format] != kernel->weight_bytes ||
            packed[kernel->format] != kernel->packed_bytes)
            return -1;
    }
    return n;
}

static void formats_and_channels_hold_together(const char *backend, const char *model)
{
    int n_wrong = 0, n_weightless = 0, n_kernels = 0, n_formats = 0;
    struct opened o;

    if (!open_on(&o, backend, model)) {
        close_it(&o);
        return;
    }
    for (int k = 1; k <= o.session->n_layers; k++) {
        const struct vbs_profile_layer *layer = &o.session->layers[k];
        bool weighted = strcmp(layer->kind, "conv") == 0 || strcmp(layer->kind, "fc") == 0;
        int formats = count_formats(o.session, k);

        n_wrong += formats < 1 || (weighted ? layer->channels < 1 : layer->channels != 0);
        n_wrong += !weighted && formats != 1;
        n_weightless += !weighted;
        n_formats += formats;
    }
    n_kernels = o.session->n_kernels;
    is_int(n_wrong, 0,
           "every layer's packed weight formats are numbered, and only conv and fc have channels");
    ok(n_weightless > 0 && n_formats < n_kernels, "%d kernels share %d formats", n_kernels,
       n_formats);
    close_it(&o);
}

/* Counts the kernels whose slices or weights are impossible. */
static int count_odd(const struct vbs_session *session)
{
    int n = 0;

    for (int i = 0; i < session->n_kernels; i++) {
        const struct vbs_kernel *kernel = &session->kernels[i];
        int channels = session->layers[kernel->layer].channels, n_slices = kernel->row_slices;

        n += kernel->packed_bytes < 0 || kernel->packed_bytes > kernel->weight_bytes;
        n += kernel->slice != 0 || kernel->n_slices != 0;
        n += n_slices < 0 || n_slices > VBS_MAX_ROW_SLICES || (n_slices != 1 && channels == 0);
        n += n_slices > 1 && (channels % n_slices != 0 || kernel->packed_bytes % n_slices != 0);
        n += n_slices == 0 && !session->modelled && kernel->packed_bytes % channels != 0;
    }
    return n;
}

static void slices_are_of_whole_units(const char *model)
{
    int n_any = 0, n_never = 0, n_measured = 0;
    struct opened o;

    if (open_on(&o, "onednn", model)) {
        for (int i = 0; i < o.session->n_kernels; i++) {
            int n_slices = o.session->kernels[i].row_slices;

            n_any += n_slices == 0;
            n_never += n_slices == 1;
            n_measured += n_slices > 1;
        }
        is_int(count_odd(o.session), 0, "slices are of layers with weights, in whole units");
        ok(n_any > 0 && n_never > 0, "%d kernels in any number of slices, %d never, %d measured so",
           n_any, n_never, n_measured);
    }
    close_it(&o);
}

static const struct vbs_kernel *kernel_of(const struct vbs_session *session, const char *layer,
                                          const char *algorithm)
{
    for (int i = 0; i < session->n_kernels; i++)
        if (strcmp(session->layers[session->kernels[i].layer].name, layer) == 0 &&
            strcmp(session->kernels[i].algorithm, algorithm) == 0)
            return &session->kernels[i];
    return NULL;
}

static const struct vbs_profile_layer *layer_of(const struct vbs_session *session, const char *name)
{
    for (int k = 1; k <= session->n_layers; k++)
        if (strcmp(session->layers[k].name, name) == 0)
            return &session->layers[k];
    return NULL;
}

static void winograd_packs_in_a_format_of_its_own(void)
{
    const struct vbs_kernel *direct, *winograd;
    struct opened o;

    if (open_on(&o, "analytic", "vgg-16")) {
        direct = kernel_of(o.session, "conv3_1", "direct");
        winograd = kernel_of(o.session, "conv3_1", "winograd");
        ok(direct && winograd && direct->format == 0 && winograd->format == 1 &&
               winograd->weight_bytes > direct->weight_bytes,
           "direct and winograd");
        is_int(layer_of(o.session, "conv3_1")->channels, 256, "channels of a conv");
        is_int(layer_of(o.session, "fc8")->channels, 1000, "channels of a fc");
    }
    close_it(&o);
}

int main(void)
{
    formats_and_channels_hold_together("analytic", "googlenet");
    formats_and_channels_hold_together("onednn", "squeezenet-v1.0");
    formats_and_channels_hold_together("onednn", "resnet-56-cifar");
    slices_are_of_whole_units("resnet-56-cifar");
    slices_are_of_whole_units("alexnet");
    winograd_packs_in_a_format_of_its_own();
    return done_testing();
}
