/*
 * Making the kernels of a session within a limit of time: every layer gets one that can run, then
 * there are as many batches and formats of weights as there is time for. The backend and its clock
 * are the test's: a kernel says how long it takes to make, and its weights how long to pack.
 */
#include "backend/common/common.h"

#include "support/tap.h"

#include <math.h>
#include <stdlib.h>

#define LAYERS    30
#define N_FORMATS 3

/* What the backend has of a kernel. */
struct own {
    int layer, batch;
    bool is_there;
};

struct backend {
    struct vbs_session_core core;
    struct vbs_ctx ctx;
    struct own *own;
    double now_s;
    double make_s; /* that the kernels of a layer take at a batch */
    double pack_s; /* that packing a layer's weights takes, in the first format */
    int n_made, n_released;
    bool packed[LAYERS + 1][N_FORMATS];
    int n_packed;
    double begun_s; /* the last time at which something was begun */
    double least_s; /* the time when the first batch can run */
};

/* Appends kernels of one, two or three algorithms; each packs its weights in its own way, the later
 * ones to more bytes. Every fifth layer has no weights. */
static enum vbs_status make(void *build, int layer, int batch,
                            const struct vbs_requested *requested)
{
    static const char *const NAMES[N_FORMATS] = {"a", "b", "c"};
    struct backend *b = build;

    (void)requested;
    b->begun_s = b->now_s;
    b->now_s += b->make_s;
    for (int a = 0; a < 1 + layer % N_FORMATS; a++) {
        const struct vbs_kernel kernel = {.layer = layer,
                                          .batch = batch,
                                          .algorithm = NAMES[a],
                                          .format = a,
                                          .packed_bytes = layer % 5 == 0 ? 0 : 1000 * (a + 1)};
        enum vbs_status status =
            vbs_kernel_append(&b->ctx, &b->core, &kernel, &b->own, sizeof *b->own);

        if (status != VBS_OK)
            return status;
        b->own[b->core.session.n_kernels - 1] = (struct own){layer, batch, true};
        b->n_made++;
    }
    return VBS_OK;
}

static enum vbs_status make_rows(void *build, int layer, int row, int n,
                                 const struct vbs_requested *requested)
{
    (void)row, (void)n;
    return make(build, layer, 1, requested);
}

static enum vbs_status pack(void *build, int index)
{
    struct backend *b = build;
    const struct vbs_kernel *kernel = &b->core.offers[index];

    if (kernel->packed_bytes == 0 || b->packed[kernel->layer][kernel->format])
        return VBS_OK;
    b->begun_s = b->now_s;
    b->now_s += b->pack_s * (double)kernel->packed_bytes / 1000;
    b->packed[kernel->layer][kernel->format] = true;
    b->n_packed++;
    if (kernel->layer == LAYERS - 1 && kernel->format == 0)
        b->least_s = b->now_s + b->make_s; /* the last layer has no weights */
    return VBS_OK;
}

static void release(void *build, int index)
{
    struct backend *b = build;

    b->own[index].is_there = false;
    b->n_released++;
}

static void swap(void *build, int i, int j)
{
    struct backend *b = build;
    struct own own = b->own[i];

    b->own[i] = b->own[j];
    b->own[j] = own;
}

static double now_s(void *build)
{
    return ((struct backend *)build)->now_s;
}

/* Returns whether kernel i comes behind the one before it: by layer, whole samples before rows. */
static bool is_behind(const struct vbs_kernel *before, const struct vbs_kernel *k)
{
    if (before->layer != k->layer)
        return before->layer < k->layer;
    if (before->rows != k->rows)
        return before->rows < k->rows;
    if (before->batch != k->batch)
        return before->batch < k->batch;
    return strcmp(before->algorithm, k->algorithm) < 0;
}

/* Returns how many kernels on whole samples a layer has at a batch. */
static int count(const struct backend *b, int layer, int batch)
{
    int n = 0;

    for (int i = 0; i < b->core.session.n_kernels; i++)
        n += b->own[i].layer == layer && b->own[i].batch == batch && b->core.offers[i].rows == 0;
    return n;
}

/* Returns whether the kernels are in order and can run, those of all layers at the batches of the
 * first, and the backend's own are in their places. */
static bool is_sound(const struct backend *b)
{
    int n = b->core.session.n_kernels;
    bool sound = b->n_made - b->n_released == n;

    for (int i = 0; i < n; i++) {
        const struct vbs_kernel *k = &b->core.offers[i];

        sound = sound && b->own[i].is_there && b->own[i].layer == k->layer &&
                b->own[i].batch == k->batch && (i == 0 || is_behind(k - 1, k));
        sound = sound && (k->packed_bytes == 0 || b->packed[k->layer][k->format]);
    }
    for (int layer = 2; layer <= LAYERS; layer++)
        for (int batch = 1; batch <= 12; batch++)
            sound = sound && (count(b, 1, batch) > 0) == (count(b, layer, batch) > 0);
    return sound;
}

static const int ALL[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

struct limit_case {
    const char *what;
    double make_s, pack_s, limit_s;
    const char *batches; /* those that are made */
    int n_packed;        /* of 24 layers with weights, in one to three formats: 48 in all */
    double most_s;       /* that it takes */
    bool stripes;
};

/* Makes the kernels of 12 batches within a limit. */
static void check(const struct limit_case *c)
{
    struct backend b = {.make_s = c->make_s, .pack_s = c->pack_s};
    const struct vbs_backend_options options = {.struct_size = sizeof options,
                                                .batches = ALL,
                                                .n_batches = 12,
                                                .stripes = c->stripes,
                                                .time_limit_s = c->limit_s};
    const struct vbs_kernel_maker maker = {.build = &b,
                                           .make = make,
                                           .make_rows = make_rows,
                                           .pack = pack,
                                           .release = release,
                                           .swap = swap,
                                           .now_s = now_s};
    struct vbs_profile_layer layers[LAYERS + 1];
    struct vbs_reach reach = {0};
    char made[60] = "";

    for (int k = 0; k <= LAYERS; k++)
        layers[k] = (struct vbs_profile_layer){.name = "layer", .rows = 8, .reaches = &reach};
    b.core.layers = layers;
    b.core.session.n_layers = LAYERS;
    is_int(vbs_kernels_make(&b.ctx, &b.core, &options, &maker), VBS_OK, c->what);
    ok(is_sound(&b), "all layers have kernels at the same batches, in order, and all can run");
    for (int batch = 1; batch <= 12; batch++)
        if (count(&b, 1, batch) > 0)
            snprintf(made + strlen(made), sizeof made - strlen(made), "%s%d", made[0] ? "," : "",
                     batch);
    is_str(made, c->batches, "these are the batches");
    is_int(b.n_packed, c->n_packed, "weights are packed in so many formats");
    ok(b.now_s <= c->most_s + 1e-9, "it takes %g s, at most %g", b.now_s, c->most_s);
    ok(c->limit_s == 0 || b.begun_s <= fmax(c->limit_s, b.least_s),
       "nothing is begun behind the limit of %g s but what every layer needs, until %g (%g)",
       c->limit_s, b.least_s, b.begun_s);
    free(b.own);
    vbs_session_core_clear(&b.core);
}

int main(void)
{
    static const char EVERY[] = "1,2,3,4,5,6,7,8,9,10,11,12";
    static const struct limit_case CASES[] = {
        {"without a limit", 1, 1, 0, EVERY, 48, 360 + 80, false},
        {"with enough time", 1, 1, 440, EVERY, 48, 440, false},
        {"with half of it", 1, 1, 220, "1,6,9,12", 48, 220, false},
        {"with a quarter", 1, 1, 110, "1", 48, 110, false},
        {"with hardly any", 1, 1, 0.001, "1", 24, 54, false},
        {"where packing weights takes most of it", 0.1, 20, 640, EVERY, 27, 640, false},
        {"where there is time for the least only", 0.1, 20, 484, "1", 24, 484, false},
        {"with rows, without a limit", 1, 0, 0, EVERY, 48, 450, true},
        {"with rows and time for some of them", 1, 0, 90, "1", 48, 90, true},
        {"with rows and hardly any time", 1, 0, 0.001, "1", 24, 30, true},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        check(&CASES[i]);
    return done_testing();
}
