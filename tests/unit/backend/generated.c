/*
 * oneDNN generates the code of its kernels while a session opens, where little memory is refused
 * with a message, and not while a kernel runs, where oneDNN would crash. Every network has a
 * process of its own, because oneDNN generates what kernels share when it is first needed.
 */
#include "support/backend_bench.h"
#include "support/tap.h"
#include "support/vbz_help.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_INPUTS 16

/* Gives the bytes of this process that can be executed and come from no file. */
static unsigned long long generated_bytes(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    unsigned long long total = 0, begin, end, inode;
    char line[512], access[5];

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%llx-%llx %4s %*s %*s %llu", &begin, &end, access, &inode) == 4 &&
            access[2] == 'x' && inode == 0 && !strchr(line, '['))
            total += end - begin;
    if (file)
        fclose(file);
    return total;
}

/* Runs a kernel on samples that are zero. */
static bool run_kernel(struct vbs_ctx *ctx, struct vbs_session *s, const struct vbs_kernel *k,
                       int i)
{
    const struct vbs_profile_layer *layer = &s->layers[k->layer];
    void *inputs[MOST_INPUTS];
    const void *sources[MOST_INPUTS];
    float *dst = s->ops->alloc(s, k->batch * layer->out_bytes);
    void *ws = s->ops->alloc(s, k->ws_bytes + 1);
    struct vbs_operands operands = {.src = sources, .dst = dst, .ws = ws};
    bool has_run;
    double time_us;

    for (int j = 0; j < layer->n_inputs; j++)
        sources[j] = inputs[j] = s->ops->alloc(s, k->batch * s->layers[layer->inputs[j]].out_bytes);
    has_run = s->ops->run(ctx, s, i, &operands, &time_us) == VBS_OK;
    for (int j = 0; j < layer->n_inputs; j++)
        s->ops->free(s, inputs[j]);
    s->ops->free(s, dst);
    s->ops->free(s, ws);
    return has_run;
}

/* Gives the first layer with coded weights. */
static int coded_layer(const struct vbs_network *network)
{
    int layer = 1;

    while (layer < network->n_layers && !vbs_network_coded(network, layer))
        layer++;
    return layer;
}

/* In a process of its own: opens a session and runs its kernels, or the one that is asked for. */
static void run_all(const struct vbs_network *network, const char *algorithm)
{
    struct vbs_requested_kernel requested = {.batch = 1, .algorithm = algorithm};
    struct vbs_session *s = NULL;
    struct vbs_ctx ctx = {0};
    int n_late = 0;

    if (network && algorithm)
        requested.layer = coded_layer(network);
    if (!network || bench_session(&ctx, network, algorithm ? &requested : NULL, algorithm ? 1 : 0,
                                  &s) != VBS_OK)
        _exit(2);
    for (int i = 0; i < s->n_kernels; i++) {
        unsigned long long before = generated_bytes();

        if (!run_kernel(&ctx, s, &s->kernels[i], i))
            _exit(3);
        if (generated_bytes() != before) {
            printf("# %s of '%s' at batch %d generates %llu bytes\n", s->kernels[i].algorithm,
                   s->layers[s->kernels[i].layer].name, s->kernels[i].batch,
                   generated_bytes() - before);
            n_late++;
        }
    }
    fflush(stdout);
    _exit(n_late > 0);
}

/* Takes the network; with an algorithm: runs that of the first layer with coded weights alone. */
static void check(const char *name, struct vbs_network *network, const char *algorithm)
{
    int status = -1;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        run_all(network, algorithm);
    if (child < 0 || waitpid(child, &status, 0) != child)
        status = -1;
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: running generates no code", name);
    vbs_network_free(network);
}

static struct vbs_network *network_of(const struct backend_case *c)
{
    struct vbs_network *network = NULL;

    return backend_case_network(NULL, c, &network) == VBS_OK ? network : NULL;
}

int main(void)
{
    static const char *const coded[] = {"joint:gemm", "joint:sparse"};
    static const struct vbz_recipe recipe = {0.4, 5, {VBS_CODING_JOINT, 4, 16, 32}, true};

    for (const struct backend_case *c = backend_cases; c->name; c++)
        check(c->name, network_of(c), NULL);
    for (int i = 0; operator_case_at(i); i++) {
        struct vbs_network *network = NULL;

        if (operator_case_network(NULL, operator_case_at(i), &network) != VBS_OK)
            network = NULL;
        check(operator_case_at(i)->name, network, NULL);
    }
    for (int i = 0; i < 2; i++)
        check(coded[i], vbz_coded(network_of(backend_case("fc")), &recipe), coded[i]);
    return done_testing();
}
