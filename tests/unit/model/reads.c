/*
 * Weights that a file has in another order than they are needed are read in blocks: calls of the
 * system are counted, which must be far fewer than weights.
 */
#include "vbslab/backend.h"
#include "vbslab/measure.h"
#include "vbslab/model.h"

#include "model/network/network.h"

#include "base/sha256.h"
#include "cases/onnx_bytes.h"
#include "support/tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLOAT   1
#define INPUTS  512
#define OUTPUTS 768
#define FEWER   64 /* calls are so many times fewer than weights */

/* Returns how often this process has called the system to read so far; -1: the system does not
 * tell. */
static int64_t calls(void)
{
    FILE *file = fopen("/proc/self/io", "r");
    long long n = -1;
    char line[100];

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "syscr: %lld", &n) == 1)
            break;
    if (file)
        fclose(file);
    return n;
}

/* Writes a product with [INPUTS, OUTPUTS] weights, whose rows are the columns of a fully connected
 * layer. */
static bool write_product(const char *path, const char *op)
{
    struct bytes graph = {0}, value = onnx_value("x", FLOAT, 2, (int64_t[]){0, INPUTS}), model;
    bool written;

    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    onnx_add_tensor(&graph, onnx_floats("w", 0.5, 2, (int64_t[]){INPUTS, OUTPUTS}));
    onnx_add_node(&graph, onnx_node(op, "x w", "y"));
    model = onnx_model(17, &graph);
    written = bytes_write(&model, path);
    bytes_clear(&model);
    return written;
}

static void hash_values(const struct vbs_network *network)
{
    unsigned char digest[VBS_SHA256_BYTES];
    struct vbs_sha256 hash;
    struct vbs_ctx ctx = {0};

    vbs_sha256_begin(&hash);
    if (vbs_network_hash_values(&ctx, network, &hash) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    vbs_sha256_end(&hash, digest);
}

static void make_kernels(const struct vbs_network *network)
{
    const struct vbs_backend_options options = {
        .struct_size = sizeof options, .batches = (const int[]){1}, .n_batches = 1, .threads = 1};
    const struct vbs_backend *backend;
    struct vbs_session *session = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_backend_find(&ctx, "onednn", &backend) != VBS_OK ||
        backend->open(&ctx, network, &options, &session) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    session->ops->close(session);
}

/* Checks the calls that a task makes. */
static void reads_blocks(const struct vbs_network *network, const char *op, const char *what,
                         void (*task)(const struct vbs_network *network))
{
    int64_t before = calls(), n;

    task(network);
    n = calls() - before;
    if (before < 0)
        skip(what, "the system counts no calls");
    else
        ok(n > 0 && n < INPUTS * OUTPUTS / FEWER, "%s, %s: %lld calls for %d weights", op, what,
           (long long)n, INPUTS * OUTPUTS);
}

static void check(const char *path, const char *op)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    if (!write_product(path, op) || vbs_network_load(&ctx, path, NULL, &network) != VBS_OK)
        bail_out("no network: %s", vbs_detail(&ctx));
    reads_blocks(network, op, "hashing weights", hash_values);
    reads_blocks(network, op, "making kernels", make_kernels);
    vbs_network_free(network);
}

int main(void)
{
    char path[] = "/tmp/t_model_reads.XXXXXX.onnx";
    int file = mkstemps(path, 5);

    if (file < 0 || close(file) != 0)
        return 1;
    check(path, "MatMul");
    check(path, "Gemm");
    unlink(path);
    return done_testing();
}
