/* The options of training: words, defaults, and what is refused. */
#include "train/run.h"

#include "base/fail.h"
#include "base/options.h"
#include "vbslab/units.h"

#include <math.h>

#define WORD(name, word) word,

const char *vbs_optimiser_word(enum vbs_optimiser optimiser)
{
    static const char *const words[] = {VBS_OPTIMISER_LIST(WORD)};

    return (unsigned)optimiser < VBS_N_OPTIMISERS ? words[optimiser] : NULL;
}

const char *vbs_rate_word(enum vbs_rate_course course)
{
    static const char *const words[] = {VBS_RATE_LIST(WORD)};

    return (unsigned)course < VBS_N_RATES ? words[course] : NULL;
}

const char *vbs_initialisation_word(enum vbs_initialisation initialisation)
{
    static const char *const words[] = {VBS_INITIALISATION_LIST(WORD)};

    return (unsigned)initialisation < VBS_N_INITIALISATIONS ? words[initialisation] : NULL;
}

/* 0 stands for the default, and a value below 0 for none. */
static double or_none(double value, double by_default)
{
    return value < 0 ? 0 : value > 0 ? value : by_default;
}

static void set_defaults(struct vbs_train_options *o, int n_images)
{
    if (o->batch == 0)
        o->batch = n_images < 128 ? n_images : 128;
    if (o->rate == 0)
        o->rate = o->optimiser == VBS_OPTIMISER_ADAM ? 0.001 : 0.02;
    o->momentum = or_none(o->momentum, 0.9);
    o->weight_decay = or_none(o->weight_decay, 0.0005);
    if (o->rate_epochs == 0)
        o->rate_epochs = fmax(1, o->epochs / 3.0);
    if (o->rate_factor == 0)
        o->rate_factor = o->course == VBS_RATE_EXPONENTIAL ? 0.9 : 0.1;
    if (o->checkpoint_s == 0)
        o->checkpoint_s = 30;
}

/* One option that is a number. */
struct range {
    const char *name;
    double value, low, high; /* low itself is refused where it is open */
    bool open;
};

static enum vbs_status check_ranges(struct vbs_ctx *ctx, const struct vbs_train_options *o)
{
    const struct range ranges[] = {
        {"rate", o->rate, 0, 1e6, true},
        {"momentum", o->momentum, 0, 1, false},
        {"weight decay", o->weight_decay, 0, 1e6, false},
        {"number of epochs of a step", o->rate_epochs, 0, 1e9, true},
        {"factor of the rate", o->rate_factor, 0, 1, true},
        {"label smoothing", o->label_smoothing, 0, 1, false},
        {"number of epochs of warm-up", o->warm_up_epochs, 0, o->epochs, false},
        {"number of seconds between checkpoints", o->checkpoint_s, 0, 60, true},
        {"shift", o->max_shift, 0, 4096, false},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const struct range *r = &ranges[i];

        if (!(r->value >= r->low && r->value <= r->high) || (r->open && r->value == r->low))
            return vbs_fail(ctx, VBS_USAGE,
                            "training with a %s of %g; it must be %s %g and at most %g", r->name,
                            r->value, r->open ? "above" : "at least", r->low, r->high);
    }
    return VBS_OK;
}

enum vbs_status vbs_train_read_options(struct vbs_ctx *ctx, const struct vbs_train_options *given,
                                       int n_images, struct vbs_train_options *own)
{
    VBS_TRY(vbs_options_read(ctx, "vbs_train_options", given, own, sizeof *own));
    if (own->epochs < 1 || own->epochs > 1000000)
        return vbs_fail(ctx, VBS_USAGE, "%d epochs of training; 1 to 1000000 are allowed",
                        own->epochs);
    if (!vbs_optimiser_word(own->optimiser) || !vbs_rate_word(own->course) ||
        !vbs_initialisation_word(own->initialisation))
        return vbs_fail(ctx, VBS_USAGE, "no such optimiser, course of the rate or initialisation");
    set_defaults(own, n_images);
    if (own->batch < 1 || own->batch > VBS_MAX_BATCH || own->batch > n_images)
        return vbs_fail(ctx, VBS_USAGE,
                        "a batch of %d for training on %d images; 1 to %d are allowed", own->batch,
                        n_images, n_images < VBS_MAX_BATCH ? n_images : VBS_MAX_BATCH);
    return check_ranges(ctx, own);
}
