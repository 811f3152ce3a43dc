/*
 * Every allocation of requested kernels, of packing their weights and of copying tensors fails
 * once, and then also every one from it on: the call says that memory is out, leaves nothing behind
 * (AddressSanitizer looks), and the same session then goes on.
 */
#include "support/fault.h"
#include "support/tap.h"

#include "vbslab/backend.h"

#include <stdlib.h>

#define MAX_REQUESTED 8

static const char TEXT[] = "model slices\n"
                           "input 32x8x8\n"
                           "conv a out=64 kernel=3 pad=1\n"
                           "relu r\n"
                           "conv b out=32 kernel=3 pad=1 groups=2\n"
                           "maxpool p kernel=2\n"
                           "fc f out=128\n";

struct subject {
    const struct vbs_backend *backend;
    struct vbs_network *network;
    struct vbs_requested_kernel requested[MAX_REQUESTED];
    char measured[64]; /* an algorithm that is measured in slices; empty: none */
    int n_requested;
    bool given;   /* the weights are an operand of runs */
    bool stripes; /* of the session */
    float *plain;
    void *src, *dst, *ws, *weights;
};

/* Gives algorithm number index of a layer at batch 1, or the last. */
static const char *algorithm_of(const struct vbs_session *session, int layer, int index)
{
    const char *found = "";

    for (int i = 0; i < session->n_kernels && index >= 0; i++)
        if (session->kernels[i].layer == layer && session->kernels[i].batch == 1) {
            found = session->kernels[i].algorithm;
            index--;
        }
    return found;
}

static void want(struct subject *s, struct vbs_requested_kernel kernel)
{
    s->requested[s->n_requested++] = kernel;
}

/* Gives whether the machine has an algorithm, in slices if its name has them. */
static bool exists(const struct subject *s, const char *algorithm)
{
    const struct vbs_requested_kernel one = {1, 2, 1, 2, 0, 0, algorithm};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .requested = &one,
                                          .n_requested = 1,
                                          .threads = 1};
    struct vbs_session *session = NULL;
    struct vbs_ctx ctx = {0};

    if (s->backend->open(&ctx, s->network, &options, &session) != VBS_OK)
        return false;
    session->ops->close(session);
    return true;
}

static bool choose(struct subject *s, struct vbs_session *session)
{
    for (int i = 1; i < 8 && !s->measured[0]; i++) {
        snprintf(s->measured, sizeof s->measured, "%s/2", algorithm_of(session, 1, i));
        if (!exists(s, s->measured))
            s->measured[0] = '\0';
    }
    want(s, (struct vbs_requested_kernel){1, 1, 0, 0, 0, 0, algorithm_of(session, 1, 0)});
    want(s, (struct vbs_requested_kernel){2, 2, 2, 2, 0, 0, algorithm_of(session, 2, 0)});
    want(s, (struct vbs_requested_kernel){1, 1, 0, 0, 0, 0, algorithm_of(session, 1, 0)});
    want(s, (struct vbs_requested_kernel){3, 1, 0, 0, 0, 0, algorithm_of(session, 3, 0)});
    want(s, (struct vbs_requested_kernel){4, 2, 1, 2, 0, 0, algorithm_of(session, 4, 0)});
    want(s, (struct vbs_requested_kernel){4, 1, 0, 0, 0, 0, algorithm_of(session, 4, 1)});
    if (s->measured[0])
        want(s, (struct vbs_requested_kernel){1, 2, 1, 2, 0, 0, s->measured});
    s->plain = malloc(1 << 16);
    s->src = aligned_alloc(64, 1 << 16);
    s->dst = aligned_alloc(64, 1 << 16);
    s->ws = aligned_alloc(64, 1 << 24);
    s->weights = aligned_alloc(64, 1 << 22);
    return s->plain && s->src && s->dst && s->ws && s->weights;
}

static enum vbs_status take_nothing(struct vbs_ctx *ctx, void *self, const void *bytes,
                                    int64_t n_bytes)
{
    (void)ctx, (void)self, (void)bytes, (void)n_bytes;
    return VBS_OK;
}

/* Opens the requested kernels, packs, copies in, runs and copies out. */
static enum vbs_status use(struct vbs_ctx *ctx, const void *subject)
{
    const struct subject *s = subject;
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .requested = s->requested,
                                          .n_requested = s->n_requested,
                                          .weights_given = s->given,
                                          .stripes = s->stripes,
                                          .threads = 1};
    struct vbs_session *session = NULL;
    enum vbs_status status = s->backend->open(ctx, s->network, &options, &session);

    if (status != VBS_OK)
        return session ? VBS_N_STATUS : status;
    for (int i = 0; i < session->n_kernels && status == VBS_OK; i++) {
        const struct vbs_kernel *k = &session->kernels[i];
        const void *src = s->src;
        struct vbs_operands operands = {
            .src = &src, .dst = s->dst, .ws = s->ws, .weights = s->given ? s->weights : NULL};
        const struct vbs_pack_sink sink = {NULL, take_nothing};
        double time_us;

        vbs_tensor_values(0, 0, 1 << 12, s->plain);
        status = session->ops->write(ctx, session, session->layers[k->layer].inputs[0], k->batch,
                                     s->plain, s->src);
        if (status == VBS_OK)
            status = session->ops->pack(ctx, session, i, s->weights);
        if (status == VBS_OK && session->ops->pack_to)
            status = session->ops->pack_to(ctx, session, i, &sink);
        if (status == VBS_OK)
            status = session->ops->run(ctx, session, i, &operands, &time_us);
        if (status == VBS_OK)
            status = session->ops->read(ctx, session, k->layer, k->batch, s->dst, s->plain);
    }
    session->ops->close(session);
    return status;
}

static void try_it(struct subject *s, bool given, bool lasting)
{
    struct fault_trial trial = {.run = use, .subject = s, .lasting = lasting};

    s->given = given;
    fault_each(&trial);
    ok(trial.n_faults > 0 && trial.n_wrong == 0 && trial.status == VBS_OK,
       "weights %s%s: %d allocations, %s", given ? "given" : "the session's",
       s->stripes ? ", with stripes" : "", trial.n_faults, trial.way);
}

/* Chooses kernels of a session with stripes, of whole samples and of rows. */
static void choose_rows(struct subject *s)
{
    s->n_requested = 0;
    s->stripes = true;
    want(s, (struct vbs_requested_kernel){1, 1, 0, 0, 0, 0, "winograd:4x4"});
    want(s, (struct vbs_requested_kernel){1, 1, 0, 0, 2, 2, "winograd:2x4+plain"});
}

int main(void)
{
    static const int BATCHES[] = {1};
    struct vbs_backend_options all = {.struct_size = sizeof(struct vbs_backend_options),
                                      .batches = BATCHES,
                                      .n_batches = 1,
                                      .threads = 1};
    struct vbs_session *session = NULL;
    struct vbs_ctx ctx = {0};
    struct subject s = {0};

    if (vbs_backend_find(&ctx, "onednn", &s.backend) == VBS_OK &&
        vbs_network_parse(&ctx, "slices", TEXT, strlen(TEXT), NULL, &s.network) == VBS_OK &&
        s.backend->open(&ctx, s.network, &all, &session) == VBS_OK && choose(&s, session)) {
        printf("# %d kernels are requested, measured in slices: %s\n", s.n_requested, s.measured);
        for (int i = 0; i < 4; i++)
            try_it(&s, i % 2, i / 2);
        choose_rows(&s);
        for (int i = 0; i < 4; i++)
            try_it(&s, i % 2, i / 2);
    } else {
        ok(false, "a session opens: %s", ctx.detail);
    }
    free(s.plain), free(s.src), free(s.dst), free(s.ws), free(s.weights);
    if (session)
        session->ops->close(session);
    vbs_network_free(s.network);
    return done_testing();
}
