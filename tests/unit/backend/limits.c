/*
 * A backend refuses more kernels than a profile may have before it makes any, does not end the
 * process however little memory there is, can be interrupted while it opens a session, and within a
 * limit of time makes kernels that can run.
 */
#include "vbslab/vbslab.h"

#include "base/fail.h"
#include "cases/backend_cases.h"
#include "support/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY_LAYERS 300

static const struct vbs_backend *backend_of(const char *name)
{
    const struct vbs_backend *backend = NULL;

    if (vbs_backend_find(NULL, name, &backend) != VBS_OK)
        ok(false, "there is a backend '%s'", name);
    return backend;
}

/* Makes a chain of convolutions of one value. */
static struct vbs_network *chain(int n_layers)
{
    size_t size = 100 + 40 * (size_t)n_layers, used;
    char *text = malloc(size);
    struct vbs_network *network = NULL;

    if (!text)
        return NULL;
    used = (size_t)snprintf(text, size, "model chain\ninput 1x1x1\n");
    for (int i = 0; i < n_layers; i++)
        used += (size_t)snprintf(text + used, size - used, "conv c%d out=1 kernel=1\n", i);
    if (vbs_network_parse(NULL, "chain", text, used, NULL, &network) != VBS_OK)
        network = NULL;
    free(text);
    return network;
}

static void check_refusals(void)
{
    static int batches[VBS_MAX_BATCH];
    static const sig_atomic_t stop = 1;
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = batches,
                                          .n_batches = VBS_MAX_BATCH};
    struct vbs_network *network = chain(MANY_LAYERS);
    const struct vbs_backend *analytic = backend_of("analytic"), *onednn = backend_of("onednn");
    struct vbs_session *session = NULL;
    struct vbs_ctx ctx = {0};

    for (int i = 0; i < VBS_MAX_BATCH; i++)
        batches[i] = i + 1;
    ok(network && analytic->open(&ctx, network, &options, &session) == VBS_UNSUPPORTED &&
           strstr(ctx.detail, "300 layers at 4096 batches"),
       "analytic refuses more kernels than a profile may have: %s", ctx.detail);
    ok(network && onednn->open(&ctx, network, &options, &session) == VBS_UNSUPPORTED &&
           strstr(ctx.detail, "1228800 rows"),
       "so does onednn, before it makes any: %s", ctx.detail);
    options.n_batches = 4;
    ctx.cancel = &stop;
    ok(network && analytic->open(&ctx, network, &options, &session) == VBS_INTERRUPTED && !session,
       "opening an analytic session can be interrupted");
    vbs_network_free(network);
}

/* No less address space than this is reserved by AddressSanitizer, for its shadow of the rest. */
#define SANITIZED_BYTES ((rlim_t)1 << 40)

/* Gives the bytes of address space that this process has. */
static rlim_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file && fscanf(file, "%lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* In a process of its own: opens the session with only so many bytes more than it has now. */
static void open_within(const struct vbs_network *network, int64_t bytes)
{
    static const int batches[] = {1, 2};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = batches,
                                          .n_batches = 2,
                                          .threads = 1};
    struct rlimit limit = {.rlim_cur = address_space() + (rlim_t)bytes, .rlim_max = RLIM_INFINITY};
    struct vbs_session *session = NULL;
    enum vbs_status status;

    if (setrlimit(RLIMIT_AS, &limit) != 0)
        _exit(3);
    status = backend_of("onednn")->open(NULL, network, &options, &session);
    _exit(status == VBS_OK ? 0 : status == VBS_NO_MEMORY ? 1 : 2);
}

/* Checks the case in which oneDNN would crash: it obtains no memory for the code that it
 * generates. */
static void check_little_memory(void)
{
    int n_opened = 0, n_refused = 0, n_wrong = 0;
    struct vbs_network *network = NULL;

    if (backend_case_network(NULL, backend_case("an inception block"), &network) != VBS_OK)
        return (void)ok(false, "there is a network");
    for (int64_t kib = 256; kib <= 131072; kib += kib < 8192 ? 512 : kib / 2) {
        int status = 0;
        pid_t child = fork();

        if (child == 0)
            open_within(network, kib << 10);
        if (child < 0 || waitpid(child, &status, 0) != child)
            status = -1;
        if (status == 0)
            n_opened++;
        else if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
            n_refused++;
        else
            n_wrong++;
    }
    is_int(n_wrong, 0, "no session ends the process, however little memory there is");
    ok(n_refused > 0 && n_opened > 0, "%d are refused and %d are opened", n_refused, n_opened);
    vbs_network_free(network);
}

/* ---- Limits of time ---- */

/* Opens a session of onednn at batches 1 to 3 within a limit; null: the test has failed. */
static struct vbs_session *open_limited(const struct vbs_network *network, bool stripes,
                                        double limit_s)
{
    static const int batches[] = {1, 2, 3};
    const struct vbs_backend_options options = {.struct_size = sizeof options,
                                                .batches = batches,
                                                .n_batches = 3,
                                                .threads = 1,
                                                .stripes = stripes,
                                                .time_limit_s = limit_s};
    struct vbs_session *session = NULL;
    struct vbs_ctx ctx = {0};

    if (backend_of("onednn")->open(&ctx, network, &options, &session) != VBS_OK)
        ok(false, "a session opens within %g s: %s", limit_s, ctx.detail);
    return session;
}

static bool are_equal(const struct vbs_kernel *a, const struct vbs_kernel *b)
{
    return a->layer == b->layer && a->batch == b->batch && a->rows == b->rows &&
           a->ws_bytes == b->ws_bytes && a->packed_bytes == b->packed_bytes &&
           strcmp(a->algorithm, b->algorithm) == 0;
}

/* Returns whether two kernels read the same packed weights. */
static bool packs_alike(struct vbs_session *a, int i, struct vbs_session *b, int j)
{
    size_t bytes = (size_t)a->kernels[i].packed_bytes + 1;
    char *of_a = calloc(bytes, 1), *of_b = calloc(bytes, 1);
    bool alike = of_a && of_b && a->ops->pack(NULL, a, i, of_a) == VBS_OK &&
                 b->ops->pack(NULL, b, j, of_b) == VBS_OK && memcmp(of_a, of_b, bytes) == 0;

    free(of_a);
    free(of_b);
    return alike;
}

/* Counts the kernels of a session that another one has, too, with the same weights. */
static int count_common(struct vbs_session *session, struct vbs_session *other)
{
    int n = 0;

    for (int i = 0; i < session->n_kernels; i++)
        for (int j = 0; j < other->n_kernels; j++)
            if (are_equal(&session->kernels[i], &other->kernels[j])) {
                n += packs_alike(session, i, other, j);
                break;
            }
    return n;
}

/* Returns whether a session has at each layer kernels at batch 1 only, whose packed weights have
 * one format. */
static bool is_least(const struct vbs_session *session)
{
    int last = 0;
    bool least = session->n_layers > 0;

    for (int i = 0; i < session->n_kernels; i++) {
        const struct vbs_kernel *k = &session->kernels[i];

        least = least && k->batch == 1 && k->rows == 0 && k->layer <= last + 1;
        for (int j = 0; j < i; j++)
            least = least && (session->kernels[j].layer != k->layer || k->packed_bytes == 0 ||
                              session->kernels[j].packed_bytes == 0 ||
                              session->kernels[j].format == k->format);
        last = k->layer;
    }
    return least && last == session->n_layers;
}

/* Returns whether two sessions have equal kernels in the same order. */
static bool is_same(const struct vbs_session *a, const struct vbs_session *b)
{
    bool same = a->n_kernels == b->n_kernels;

    for (int i = 0; same && i < a->n_kernels; i++)
        same = are_equal(&a->kernels[i], &b->kernels[i]);
    return same;
}

/* The limits are a nanosecond and a thousand years, so that the machine's speed decides nothing. */
static void check_limits_of_time(bool stripes)
{
    static const char TEXT[] = "model m\ninput 64x16x16\nconv c out=64 kernel=3 pad=1\nmaxpool p "
                               "kernel=2 stride=2\nconv d out=64 kernel=3 pad=1\nfc f out=100\n";
    struct vbs_network *network = NULL;
    struct vbs_session *all, *enough, *none;

    if (vbs_network_parse(NULL, "m", TEXT, sizeof TEXT - 1, NULL, &network) != VBS_OK)
        return (void)ok(false, "there is a network");
    all = open_limited(network, stripes, 0);
    enough = open_limited(network, stripes, 3e10);
    none = open_limited(network, stripes, 1e-9);
    if (all && enough && none) {
        ok(is_same(all, enough), "with enough time there are the same %d kernels%s, in order",
           all->n_kernels, stripes ? ", also on rows" : "");
        is_int(count_common(enough, all), enough->n_kernels, "their weights are packed alike");
        ok(is_least(none), "without time each layer has one format of weights at batch 1");
        is_int(count_common(none, all), none->n_kernels, "and they are packed as ever");
    }
    for (int i = 0; i < 3; i++) {
        struct vbs_session *session = i == 0 ? all : i == 1 ? enough : none;

        if (session)
            session->ops->close(session);
    }
    vbs_network_free(network);
}

int main(void)
{
    check_refusals();
    check_limits_of_time(false);
    check_limits_of_time(true);
    if (address_space() < SANITIZED_BYTES)
        check_little_memory();
    else
        skip("little memory", "AddressSanitizer needs all address space");
    return done_testing();
}
