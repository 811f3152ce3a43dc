/*
 * Making the kernels of a session within a limit of time: fewer batches are made where all would
 * take longer. The backend and its clock are the test's: a kernel says how long it takes to make.
 */
#include "backend/common/common.h"

#include "support/tap.h"

#include <stdlib.h>

#define LAYERS 30

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
    double first_s, other_s; /* that the kernels of a layer take at batch 1, and at others */
    double last_factor;      /* how many times as long the second half of the layers takes */
    int n_made, n_released;
};

static enum vbs_status make(void *build, int layer, int batch,
                            const struct vbs_requested *requested)
{
    struct backend *b = build;

    (void)requested;
    b->now_s += (batch == 1 ? b->first_s : b->other_s) * (layer > LAYERS / 2 ? b->last_factor : 1);
    for (int a = 0; a < 1 + layer % 3; a++) {
        const struct vbs_kernel kernel = {.layer = layer, .batch = batch, .algorithm = "a"};
        enum vbs_status status =
            vbs_kernel_append(&b->ctx, &b->core, &kernel, &b->own, sizeof *b->own);

        if (status != VBS_OK)
            return status;
        b->own[b->core.session.n_kernels - 1] = (struct own){layer, batch, true};
        b->n_made++;
    }
    return VBS_OK;
}

static void release(void *build, int index)
{
    struct backend *b = build;

    b->own[index].is_there = false;
    b->n_released++;
}

static void move(void *build, int from, int to)
{
    struct backend *b = build;

    b->own[to] = b->own[from];
}

static double now_s(void *build)
{
    return ((struct backend *)build)->now_s;
}

/* Returns whether the kernels are in order, those of all layers at the batches of the first, and
 * the backend's own are in their places. */
static bool is_sound(const struct backend *b)
{
    int n = b->core.session.n_kernels;
    bool sound = b->n_made - b->n_released == n;

    for (int i = 0; i < n; i++) {
        const struct vbs_kernel *k = &b->core.offers[i], *before = i > 0 ? k - 1 : NULL;

        sound = sound && b->own[i].is_there && b->own[i].layer == k->layer &&
                b->own[i].batch == k->batch;
        sound = sound && (!before || k->layer > before->layer ||
                          (k->layer == before->layer && k->batch >= before->batch));
    }
    for (int layer = 2; layer <= LAYERS; layer++)
        for (int batch = 1; batch <= 12; batch++) {
            int n_first = 0, n_own = 0;

            for (int i = 0; i < n; i++) {
                n_first += b->own[i].layer == 1 && b->own[i].batch == batch;
                n_own += b->own[i].layer == layer && b->own[i].batch == batch;
            }
            sound = sound && (n_first > 0) == (n_own > 0);
        }
    return sound;
}

/* Makes the kernels of 12 batches within a limit; batches: the text of those that are made. */
static void check(const char *what, double first_s, double other_s, double last_factor,
                  double limit_s, const char *batches, double most_s)
{
    static const int ALL[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct backend b = {.first_s = first_s, .other_s = other_s, .last_factor = last_factor};
    const struct vbs_backend_options options = {
        .struct_size = sizeof options, .batches = ALL, .n_batches = 12, .time_limit_s = limit_s};
    const struct vbs_kernel_maker maker = {
        .build = &b, .make = make, .release = release, .move = move, .now_s = now_s};
    struct vbs_profile_layer layers[LAYERS + 1] = {{.name = "layer"}};
    char made[60] = "";
    int last = 0;

    b.core.layers = layers;
    b.core.session.n_layers = LAYERS;
    is_int(vbs_kernels_make(&b.ctx, &b.core, &options, &maker), VBS_OK, what);
    ok(is_sound(&b), "all layers have the same batches, and nothing else is left");
    for (int i = 0; i < b.core.session.n_kernels && b.own[i].layer == 1; i++) {
        if (b.own[i].batch > last)
            snprintf(made + strlen(made), sizeof made - strlen(made), "%s%d", last ? "," : "",
                     b.own[i].batch);
        last = b.own[i].batch;
    }
    is_str(made, batches, "these are the batches");
    ok(b.now_s <= most_s + 1e-9, "it takes %g s, at most %g", b.now_s, most_s);
    free(b.own);
    vbs_session_core_clear(&b.core);
}

int main(void)
{
    static const char ALL[] = "1,2,3,4,5,6,7,8,9,10,11,12";

    check("without a limit", 1, 1, 1, 0, ALL, 360);
    check("with enough time", 1, 1, 1, 360, ALL, 360);
    check("with half of it", 1, 1, 1, 200, "1,5,9,12", 200);
    check("with a quarter", 1, 1, 1, 90, "1,12", 90);
    check("with hardly any", 1, 1, 1, 0.001, "1", 42);
    check("where packing weights takes most of it", 20, 0.1, 1, 640, ALL, 640);
    check("where the last layers take ten times as long", 1, 1, 10, 700, "1", 730);
    return done_testing();
}
