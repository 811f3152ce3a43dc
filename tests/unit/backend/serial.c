/* Kernels for one thread in a session of several: small layers have them beside the others, they
 * compute the same, and they can be requested by their names. */
#include "vbslab/vbslab.h"

#include "base/ctx.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SMALL                                                                                      \
    "model small\ninput 16x6x6\nconv c out=24 kernel=3 pad=1\nrelu r\navgpool p kernel=2\n"
#define LARGE "model large\ninput 64x56x56\nconv c out=64 kernel=3 pad=1\n"

static bool is_serial(const char *algorithm)
{
    size_t n = strlen(algorithm), end = strlen("+serial");

    return n > end && strcmp(algorithm + n - end, "+serial") == 0;
}

static struct vbs_session *open_with(const struct vbs_network *network, int threads,
                                     const struct vbs_requested_kernel *requested, int n)
{
    static const int batches[] = {1, 2};
    const struct vbs_backend_options options = {.struct_size = sizeof options,
                                                .batches = batches,
                                                .n_batches = 2,
                                                .threads = threads,
                                                .requested = requested,
                                                .n_requested = n};
    const struct vbs_backend *backend;
    struct vbs_session *session = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_backend_find(&ctx, "onednn", &backend) != VBS_OK ||
        backend->open(&ctx, network, &options, &session) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    return session;
}

static struct vbs_network *parse(const char *text)
{
    struct vbs_network *network = NULL;

    ok(vbs_network_parse(NULL, "a test", text, strlen(text), NULL, &network) == VBS_OK,
       "a network");
    return network;
}

static int count_serial(const struct vbs_session *session, int layer)
{
    int n = 0;

    for (int i = 0; session && i < session->n_kernels; i++)
        n += session->kernels[i].layer == layer && is_serial(session->kernels[i].algorithm);
    return n;
}

/* Runs a kernel on seeded samples; gives its output in plain order. times: tells the time. */
static float *output_of(struct vbs_session *s, int kernel, bool times)
{
    const struct vbs_kernel *k = &s->kernels[kernel];
    const struct vbs_profile_layer *layer = &s->layers[k->layer];
    int64_t out_bytes = k->batch * layer->out_bytes;
    int input = layer->inputs[0];
    void *src = s->ops->alloc(s, k->batch * s->layers[input].out_bytes);
    void *dst = s->ops->alloc(s, out_bytes), *ws = s->ops->alloc(s, k->ws_bytes + 1);
    const void *sources[] = {src};
    float *values = calloc(1, (size_t)out_bytes);
    double time_us = -1;
    bool done = src && dst && ws && values && s->ops->fill(NULL, s, input, k->batch, src) == VBS_OK;

    /* twice: the second run finds its addresses as they are */
    for (int i = 0; i < 2 && done; i++)
        done = s->ops->run(NULL, s, kernel,
                           &(struct vbs_operands){.src = sources, .dst = dst, .ws = ws},
                           times ? &time_us : NULL) == VBS_OK;
    done = done && s->ops->read(NULL, s, k->layer, k->batch, dst, values) == VBS_OK &&
           (time_us >= 0) == times;
    s->ops->free(s, src);
    s->ops->free(s, dst);
    s->ops->free(s, ws);
    if (done)
        return values;
    free(values);
    return NULL;
}

static double largest_difference(const float *a, const float *b, int64_t n)
{
    double largest = a && b ? 0 : INFINITY;

    for (int64_t i = 0; a && b && i < n; i++)
        largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
    return largest;
}

/* Compares every kernel for one thread with the first kernel of its layer and batch, and with
 * itself when it is requested by name. */
static void compare_kernels(const struct vbs_network *network, struct vbs_session *s)
{
    double largest = 0, again = 0;

    for (int i = 0; i < s->n_kernels; i++) {
        const struct vbs_kernel *k = &s->kernels[i];
        const struct vbs_requested_kernel requested = {
            .layer = k->layer, .batch = k->batch, .algorithm = k->algorithm};
        int64_t n = k->batch * vbs_shape_elements(&network->layers[k->layer].shape);
        struct vbs_session *one = NULL;
        float *a, *b, *c = NULL;
        int first = 0;

        if (!is_serial(k->algorithm))
            continue;
        while (s->kernels[first].layer != k->layer || s->kernels[first].batch != k->batch)
            first++;
        one = open_with(network, 2, &requested, 1);
        a = output_of(s, first, true);
        b = output_of(s, i, false);
        c = one ? output_of(one, 0, true) : NULL;
        largest = fmax(largest, largest_difference(a, b, n));
        again = fmax(again, largest_difference(b, c, n));
        free(a);
        free(b);
        free(c);
        if (one)
            one->ops->close(one);
    }
    ok(largest < 1e-5, "they compute what the others compute (%g)", largest);
    ok(again == 0, "and the same when they are requested by name (%g)", again);
}

int main(void)
{
    struct vbs_network *small = parse(SMALL), *large = parse(LARGE);
    struct vbs_session *two = open_with(small, 2, NULL, 0), *one = open_with(small, 1, NULL, 0);
    struct vbs_session *more = open_with(large, 2, NULL, 0);

    ok(two && one && more, "sessions");
    ok(count_serial(two, 1) > 0 && count_serial(two, 2) > 0,
       "with two threads small layers have kernels for one");
    ok(count_serial(one, 1) + count_serial(one, 2) == 0, "with one thread there are no others");
    ok(count_serial(more, 1) == 0, "large layers have none");
    if (two)
        compare_kernels(small, two);
    for (int i = 0; i < 3; i++) {
        struct vbs_session *session = i == 0 ? two : i == 1 ? one : more;

        if (session)
            session->ops->close(session);
    }
    vbs_network_free(small);
    vbs_network_free(large);
    return done_testing();
}
