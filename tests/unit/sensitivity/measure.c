/* Points whose retraining diverges: they say so, but the whole network must not. */
#include "vbslab/sensitivity.h"

#include "base/ctx.h"
#include "support/bail_out.h"
#include "support/data_help.h"
#include "support/tap.h"

#include <math.h>

static const char TEXT[] = "model small\ninput 1x3x4\nfc a out=8\nfc f out=4\n";

/* A network with images, whose group 0 has 8 channels. */
struct subject {
    struct vbs_ctx ctx;
    char folder[DATA_FOLDER_SIZE];
    struct vbs_network *network;
    struct vbs_dataset *images, *validation;
};

static void open_subject(struct subject *s)
{
    const struct vbs_data_options data = {.struct_size = sizeof data, .n_validation = 12};

    *s = (struct subject){.network = NULL};
    data_folder_new(s->folder);
    data_put_idx(s->folder, 40, 1, false);
    if (vbs_network_parse(&s->ctx, "test", TEXT, sizeof TEXT - 1, NULL, &s->network) != VBS_OK ||
        vbs_dataset_open(&s->ctx, s->folder, VBS_SPLIT_TRAIN, &data, &s->images) != VBS_OK ||
        vbs_dataset_open(&s->ctx, s->folder, VBS_SPLIT_VALIDATION, &data, &s->validation) != VBS_OK)
        bail_out("%s", vbs_detail(&s->ctx));
}

static struct vbs_sensitivity *open_with(struct subject *s, double rate)
{
    const struct vbs_sensitivity_options options = {
        .struct_size = sizeof options, .epochs = 2, .rate = rate, .batch = 4, .threads = 1};
    struct vbs_sensitivity *sensitivity = NULL;

    if (vbs_sensitivity_open(&s->ctx, s->network, s->images, s->validation, NULL, &options,
                             &sensitivity) != VBS_OK)
        bail_out("%s", vbs_detail(&s->ctx));
    return sensitivity;
}

static void check_divergence(struct subject *s)
{
    struct vbs_sensitivity *sensitivity = open_with(s, 1e6);
    struct vbs_sensitivity_point point = {.group = 7};

    is_int(vbs_sensitivity_measure(&s->ctx, sensitivity, 0, 4, &point), VBS_OK,
           "a group whose retraining diverges has a point");
    ok(point.diverged && !point.retrained && isfinite(point.loss) && point.keep == 4,
       "which says so, and has the values before");
    point.group = 7;
    is_int(vbs_sensitivity_measure(&s->ctx, sensitivity, -1, 0, &point), VBS_UNSUPPORTED,
           "the whole network must not diverge");
    is_int(point.group, 7, "... and the point stays as it was");
    vbs_sensitivity_free(sensitivity);
}

static void check_training(struct subject *s)
{
    struct vbs_sensitivity *sensitivity = open_with(s, 0.01);
    struct vbs_sensitivity_point point = {.group = 7};

    ok(vbs_sensitivity_measure(&s->ctx, sensitivity, 0, 4, &point) == VBS_OK && point.retrained &&
           !point.diverged && isfinite(point.retrained_loss),
       "at a lower rate it is retrained");
    vbs_sensitivity_free(sensitivity);
}

int main(void)
{
    struct subject s;

    open_subject(&s);
    check_divergence(&s);
    check_training(&s);
    vbs_network_free(s.network);
    vbs_dataset_free(s.images);
    vbs_dataset_free(s.validation);
    data_folder_remove(s.folder);
    return done_testing();
}
