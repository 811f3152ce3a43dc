/*
 * A backend refuses more kernels than a profile may have before it makes any, does not end the
 * process however little memory there is, and can be interrupted while it opens a session.
 */
#include "vbslab/vbslab.h"

#include "base/fail.h"
#include "cases/backend_cases.h"
#include "support/tap.h"

#include <signal.h>
#include <stdlib.h>
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

int main(void)
{
    check_refusals();
    if (address_space() < SANITIZED_BYTES)
        check_little_memory();
    else
        skip("little memory", "AddressSanitizer needs all address space");
    return done_testing();
}
