/* The model of kernel times: what it takes from a layer; that it finds a law that made the times,
 * for layers that it has not seen; how it answers for kernels that it knows nothing of; what it
 * refuses. */
#include "base/ctx.h"
#include "predict/predict.h"
#include "support/tap.h"
#include "tune/space/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_LAYERS 40
#define MOST     (N_LAYERS * 12)

static struct vbs_arena arena;
static struct vbs_shape views[2 * N_LAYERS];

/* Makes number i of the views a convolution. */
static struct vbs_layer conv(int i, int64_t in, int64_t out, int64_t side, int64_t kernel,
                             int64_t groups)
{
    struct vbs_layer l = {.op = VBS_OP_CONV, .name = "c", .n_inputs = 1, .views = &views[i]};

    views[i] = (struct vbs_shape){3, {in, side, side}};
    l.shape = (struct vbs_shape){3, {out, side, side}};
    l.attributes.weighted.groups = groups;
    for (int d = 0; d < 2; d++) {
        l.attributes.weighted.window.kernel[d] = kernel;
        l.attributes.weighted.window.stride[d] = 1;
    }
    l.macs = in / groups * out * side * side * kernel * kernel;
    return l;
}

static struct predict_point point_of(const struct vbs_layer *l, int batch, const char *algorithm)
{
    const struct vbs_profile_layer about = {.in_bytes = 4 * vbs_shape_elements(&l->views[0]),
                                            .out_bytes = 4 * vbs_shape_elements(&l->shape)};
    const struct vbs_profile_row row = {.weight_bytes =
                                            4 * l->macs / (l->shape.dim[1] * l->shape.dim[2])};

    return vbs_predict_describe(l, &about, batch, algorithm, &row, &arena);
}

/* The law: a launch, operations and bytes, and a device that few channels do not fill. */
static double law_us(const struct vbs_layer *l, int batch)
{
    double in = (double)l->views[0].dim[0];
    double values = (double)(vbs_shape_elements(&l->views[0]) + vbs_shape_elements(&l->shape));

    return (3 + (double)l->macs * batch / 2e5 + 4 * values * batch / 2e4) * (in + 40) / in;
}

static void test_describe(void)
{
    const struct vbs_layer l = conv(0, 8, 16, 10, 3, 1), d = conv(1, 8, 8, 10, 3, 8);
    const struct vbs_profile_layer about = {.in_bytes = 3200, .out_bytes = 6400};
    const struct vbs_profile_row row = {.weight_bytes = 4608, .ws_bytes = 40000, .n_slices = 4};
    const struct predict_point p = vbs_predict_describe(&l, &about, 5, "a/b/4", &row, &arena);
    const struct predict_point q = point_of(&d, 1, "a/4");

    is_str(p.algorithm, "a/b", "an algorithm's name loses its number of slices");
    is_str(q.algorithm, "a/4", "but not a number that is none of slices");
    ok(p.groups == PREDICT_DENSE && q.groups == PREDICT_DEPTHWISE,
       "a conv of as many groups as channels is depthwise");
    is_near(p.terms[1], 5 * 115200 / 1e5, 1e-12, "the operations of the batch");
    is_near(p.terms[2], 5 * 9600 / 4e4, 1e-12, "the bytes of its activations");
    is_near(p.terms[3], 4608 / 4e4, 1e-12, "those of the weights, once");
    is_near(p.terms[4], 1, 1e-12, "and those of the workspace");
}

/* The weights of the states are read for each element, the others once. */
static void test_recurrent(void)
{
    struct vbs_shape view = {2, {10, 16}};
    const struct vbs_layer l = {.op = VBS_OP_LSTM,
                                .shape = {2, {10, 8}},
                                .n_inputs = 1,
                                .views = &view,
                                .operand = {3, {1, 32, 8}},
                                .attributes.recurrent.hidden = 8,
                                .macs = 10 * 32 * 24};
    const struct vbs_profile_layer about = {.in_bytes = 640, .out_bytes = 320};
    const int64_t state = 32 * 8 * 4, weights = state + 32 * 16 * 4;
    const struct vbs_profile_row row = {.weight_bytes = weights, .n_slices = 1};
    const struct predict_point p =
        vbs_predict_describe(&l, &about, 3, "loop:recurrent", &row, &arena);

    is_near(p.terms[3] * 4e4, (double)(weights + 9 * state), 1e-6,
            "weights of the states, ten times");
}

static void test_roofline(void)
{
    struct predict_point points[20];
    const struct predict_point *all[20];
    double coefficients[PREDICT_TERMS], want[PREDICT_TERMS] = {2, 0.5, 0, 3, 0};

    for (int i = 0; i < 20; i++) {
        points[i] = (struct predict_point){.terms = {1, i * i, 7 + i % 3, 40 - i, i % 5}};
        points[i].time_us = vbs_predict_roofline(want, &points[i]);
        all[i] = &points[i];
    }
    vbs_predict_fit_roofline(all, 20, coefficients);
    for (int i = 0; i < 20; i++)
        is_near(vbs_predict_roofline(coefficients, &points[i]) / points[i].time_us, 1, 0.01,
                "times that are a sum of terms are found");
    points[3].time_us *= 100;
    vbs_predict_fit_roofline(all, 20, coefficients);
    for (int j = 0; j < PREDICT_TERMS; j++)
        ok(coefficients[j] >= 0, "none is below 0, whatever the times");
}

static struct vbs_layer random_layer(struct tune_random *random, int i)
{
    static const int64_t SIDES[] = {7, 14, 28, 56}, KERNELS[] = {1, 3, 5};
    int64_t in = 8 << vbs_tune_below(random, 6), out = 8 << vbs_tune_below(random, 6);

    return conv(i, in, out, SIDES[vbs_tune_below(random, 4)], KERNELS[vbs_tune_below(random, 3)],
                1);
}

/* Fills points of N_LAYERS layers, the views of which begin at first. */
static int fill(struct tune_random *random, int first, const int *batches, int n_batches,
                struct predict_point *points)
{
    int n = 0;

    for (int i = 0; i < N_LAYERS; i++) {
        const struct vbs_layer l = random_layer(random, first + i);

        for (int b = 0; b < n_batches; b++) {
            points[n] = point_of(&l, batches[b], "jit");
            points[n].geometry = i;
            points[n++].time_us = law_us(&l, batches[b]);
        }
    }
    return n;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void test_law(void)
{
    static const int LEARNT[] = {1, 2, 3, 5, 8, 12}, ASKED[] = {1, 4, 6, 7, 9, 11, 12};
    static struct predict_point points[MOST], asked[MOST];
    static struct predict_time times[MOST];
    static double errors[MOST];
    struct tune_random random = {11};
    struct predict_model model;
    struct vbs_ctx ctx = {0};
    int n = fill(&random, 0, LEARNT, 6, points), n_asked = fill(&random, N_LAYERS, ASKED, 7, asked);
    int inside = 0;

    if (vbs_predict_learn(&ctx, points, n, &model) != VBS_OK ||
        vbs_predict_times(&ctx, &model, asked, n_asked, times) != VBS_OK)
        bail_out("%s", ctx.detail);
    for (int i = 0; i < n_asked; i++) {
        errors[i] = fabs(times[i].log_us - log(asked[i].time_us));
        inside += errors[i] <= 1.96 * times[i].deviation;
    }
    qsort(errors, (size_t)n_asked, sizeof *errors, compare);
    ok(errors[n_asked / 2] < 0.03, "half of the times of layers not seen are within 3%%: %.4f",
       errors[n_asked / 2]);
    ok(errors[n_asked * 9 / 10] < 0.10, "nine tenths within 10%%: %.4f", errors[n_asked * 9 / 10]);
    ok(inside >= n_asked * 9 / 10, "nine tenths within their intervals: %d of %d", inside, n_asked);
    vbs_predict_clear(&model);
}

static void test_unknown(void)
{
    static const int LEARNT[] = {1, 2, 4};
    static struct predict_point points[MOST];
    struct tune_random random = {5};
    struct predict_model model;
    struct predict_point asked[4];
    struct predict_time times[4];
    struct vbs_ctx ctx = {0};
    struct vbs_layer l;
    int n = fill(&random, 0, LEARNT, 3, points);

    /* A third of the points is a slower algorithm. */
    for (int i = 0; i < n; i += 3) {
        points[i].algorithm = "slow";
        points[i].time_us *= 4;
    }
    if (vbs_predict_learn(&ctx, points, n, &model) != VBS_OK)
        bail_out("%s", ctx.detail);
    is_int(model.n_families, 2, "algorithms are learnt apart");
    l = conv(N_LAYERS, 64, 64, 14, 3, 1);
    asked[0] = point_of(&l, 1, "slow");
    asked[1] = point_of(&l, 1, "slow+serial");
    asked[2] = point_of(&l, 1, "another");
    l.op = VBS_OP_MATMUL;
    asked[3] = point_of(&l, 1, "jit");
    if (vbs_predict_times(&ctx, &model, asked, 4, times) != VBS_OK)
        bail_out("%s", ctx.detail);
    is_near(times[1].log_us, times[0].log_us, 1e-12,
            "one thread's kernel has the algorithm's time");
    ok(times[2].log_us < times[0].log_us - 1, "an unknown algorithm that of the one best known");
    ok(times[1].known && !times[2].known && times[2].deviation > times[0].deviation + 0.4,
       "which says little of it");
    ok(isfinite(times[3].log_us) && times[3].deviation > 0, "an unknown operator that of all");
    vbs_predict_clear(&model);
}

/* What is asked and what is learnt differ by a mark, or by the operator within its class. */
static void test_alike(void)
{
    static struct predict_point points[MOST];
    struct tune_random random = {9};
    struct predict_model model;
    struct predict_point asked[6];
    struct predict_time times[6];
    struct vbs_ctx ctx = {0};
    struct vbs_layer l;
    int n = fill(&random, 0, (const int[]){1, 4}, 2, points);

    for (int i = 0; i < n; i += 2) {
        points[i].op = VBS_OP_MUL;
        points[i].time_us *= 4;
    }
    for (int i = 0; i < n; i += 4)
        points[i].algorithm = i % 8 ? "jit+tiling" : "loop";
    if (vbs_predict_learn(&ctx, points, n, &model) != VBS_OK)
        bail_out("%s", ctx.detail);
    l = conv(N_LAYERS, 64, 64, 14, 3, 1);
    asked[0] = point_of(&l, 1, "jit");
    asked[1] = point_of(&l, 1, "jit+reorder");
    asked[2] = point_of(&l, 1, "gemm+tiling");
    l.op = VBS_OP_MUL;
    asked[3] = point_of(&l, 1, "loop");
    asked[4] = point_of(&l, 1, "gemm+tiling");
    l.op = VBS_OP_DIV;
    asked[5] = point_of(&l, 1, "loop");
    if (vbs_predict_times(&ctx, &model, asked, 6, times) != VBS_OK)
        bail_out("%s", ctx.detail);
    ok(times[1].known && times[1].log_us > times[0].log_us && times[1].log_us < times[0].log_us + 1,
       "with a mark an implementation is known; copies of layouts take longer");
    ok(!times[2].known, "products in the place of a convolution are another implementation");
    ok(times[4].known, "the same one whichever multiplies");
    ok(times[5].known, "another operator of the class is known by the implementation");
    is_near(times[5].log_us, times[3].log_us, 1e-12, "and takes as long");
    for (int i = 0; i < 6; i++)
        ok(exp(times[i].log_us) >= model.least_us * (1 - 1e-12),
           "no kernel is faster than all that were measured");
    vbs_predict_clear(&model);
}

static void test_prefer_known(void)
{
    const struct vbs_kernel kernels[] = {{.layer = 1, .batch = 1},
                                         {.layer = 1, .batch = 1},
                                         {.layer = 1, .batch = 2},
                                         {.layer = 2, .batch = 2},
                                         {.layer = 2, .batch = 2}};
    struct predict_time times[] = {{.log_us = 2, .deviation = 1},
                                   {.log_us = 2.5, .deviation = 0.1, .known = true},
                                   {.log_us = 3, .deviation = 1},
                                   {.log_us = 4, .deviation = 0.1, .known = true},
                                   {.log_us = 4, .deviation = 0.1, .known = true}};

    vbs_predict_prefer_known(kernels, 5, times);
    is_near(times[0].log_us, 3, 1e-12, "beside a known implementation an unknown one is slower");
    is_near(times[1].log_us, 2.5, 1e-12, "the known one is as it was");
    is_near(times[2].log_us, 3, 1e-12, "so is an unknown one that is the only one at its batch");
    ok(times[3].log_us == 4 && times[4].log_us == 4, "and known ones beside each other");
}

static void test_refusals(void)
{
    const struct vbs_layer l = conv(0, 8, 8, 8, 1, 1);
    struct predict_point points[2] = {point_of(&l, 1, "jit"), point_of(&l, 2, "jit")};
    struct predict_model model;
    struct predict_time time;
    struct vbs_ctx ctx = {0};

    is_int(vbs_predict_learn(&ctx, points, 0, &model), VBS_INVALID, "nothing to learn from");
    points[0].time_us = 5;
    is_int(vbs_predict_learn(&ctx, points, 2, &model), VBS_INVALID, "a time of 0");
    ok(!model.families && !model.n_families, "a failed model is empty");
    is_int(vbs_predict_learn(&ctx, points, 1, &model), VBS_OK, "one time is enough to learn from");
    is_int(vbs_predict_times(&ctx, &model, points, 1, &time), VBS_OK, "and to predict");
    is_near(exp(time.log_us), 5, 0.01, "... itself");
    vbs_predict_clear(&model);
}

int main(void)
{
    test_describe();
    test_recurrent();
    test_roofline();
    test_law();
    test_unknown();
    test_alike();
    test_prefer_known();
    test_refusals();
    vbs_arena_clear(&arena);
    return done_testing();
}
