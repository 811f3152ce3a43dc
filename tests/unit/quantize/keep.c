/* Layers of a quantised network that go back to floats, what each rounding costs alone, and what is
 * predicted from it. */
#include "vbslab/quantize.h"

#include "support/model_help.h"
#include "support/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define SAMPLES 12
#define ROWS    32

/* conv b and conv c meet in add s, whose value conv d reads; add t reads it too. */
static const char TEXT[] = "model keeping\n"
                           "input 3x10x10\n"
                           "conv a out=8 kernel=3 pad=1\n"
                           "relu ar\n"
                           "conv b out=8 kernel=3 pad=1\n"
                           "conv c out=8 kernel=1 from=ar\n"
                           "relu cr\n"
                           "add s from=b,cr\n"
                           "conv d out=8 kernel=3 pad=1\n"
                           "add t from=d,s\n"
                           "relu tr\n"
                           "maxpool p kernel=2 stride=2\n"
                           "fc f out=5\n";

static enum vbs_status give(struct vbs_ctx *ctx, void *self, int64_t first, int n, float *inputs)
{
    const struct vbs_network *network = self;
    int64_t each = vbs_shape_elements(&network->input);

    (void)ctx;
    vbs_tensor_values(0, first * each, n * each, inputs);
    return VBS_OK;
}

/* What all checks use. */
struct keeping {
    struct vbs_network *network;
    struct vbs_quantize_samples samples;
    struct vbs_quantized_network *whole;
    const struct vbs_quantize_row *rows;
    int n_rows;
};

static void must(struct vbs_ctx *ctx, enum vbs_status status)
{
    if (status != VBS_OK)
        bail_out("%s", vbs_detail(ctx));
}

static struct keeping begin(void)
{
    struct keeping k = {.network = parse_network(TEXT)};
    struct vbs_ctx ctx = {0};

    k.samples = (struct vbs_quantize_samples){k.network, SAMPLES, give};
    must(&ctx, vbs_quantize(&ctx, k.network, &k.samples, NULL, &k.whole));
    k.rows = vbs_quantized_rows(k.whole, &k.n_rows);
    return k;
}

static int row_of(const struct vbs_quantize_row *rows, int n_rows, const char *name)
{
    for (int i = 0; i < n_rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return i;
    bail_out("there is no row %s", name);
    return -1;
}

/* Keeps the layers that are named, with blanks between them. */
static struct vbs_quantized_network *keep(const struct keeping *k, const char *names)
{
    struct vbs_quantized_network *mixed = NULL;
    struct vbs_ctx ctx = {0};
    bool kept[ROWS] = {false};
    char word[8];
    int length;

    while (sscanf(names, " %7s%n", word, &length) == 1) {
        kept[row_of(k->rows, k->n_rows, word)] = true;
        names += length;
    }
    must(&ctx, vbs_quantized_keep(&ctx, k->whole, kept, &mixed));
    return mixed;
}

static char *content(const struct vbs_quantized_network *q, long *n_bytes)
{
    char path[] = "/tmp/t_keep.XXXXXX.onnx", *bytes;
    struct vbs_ctx ctx = {0};
    FILE *file;

    close(mkstemps(path, 5));
    must(&ctx, vbs_quantized_write(&ctx, q, path));
    file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        bail_out("cannot read %s", path);
    *n_bytes = ftell(file);
    bytes = malloc((size_t)*n_bytes);
    rewind(file);
    if (!bytes || fread(bytes, 1, (size_t)*n_bytes, file) != (size_t)*n_bytes)
        bail_out("cannot read %s", path);
    fclose(file);
    unlink(path);
    return bytes;
}

static struct vbs_quantize_difference difference_of(const struct keeping *k,
                                                    const struct vbs_quantized_network *q)
{
    struct vbs_quantize_difference difference = {0};
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    must(&ctx, vbs_quantized_load(&ctx, q, &network));
    must(&ctx, vbs_quantize_compare(&ctx, vbs_quantized_floats(k->whole), network, &k->samples,
                                    NULL, &difference));
    is_str(network->name, "keeping", "... the loaded network has the name of the network");
    vbs_network_free(network);
    return difference;
}

/* ---- files ---- */

/* Watches a folder while a quantised network is loaded: of a process that is killed at any moment,
 * only what has a name stays. */
static void check_names(const struct keeping *k)
{
    char folder[] = "/tmp/t_keep.XXXXXX", events[4096];
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), nameless;
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    if (watch < 0 || !mkdtemp(folder) || setenv("TMPDIR", folder, 1) != 0)
        bail_out("cannot watch a folder");
    nameless = open(folder, O_TMPFILE | O_RDWR, 0600);
    if (nameless >= 0 && inotify_add_watch(watch, folder, IN_CREATE | IN_MOVED_TO) >= 0) {
        must(&ctx, vbs_quantized_load(&ctx, k->whole, &network));
        ok(read(watch, events, sizeof events) < 0 && errno == EAGAIN,
           "no file gets a name while a network is loaded");
        vbs_network_free(network);
    } else {
        skip("no file gets a name while a network is loaded", "the file system has none without");
    }
    setenv("TMPDIR", "/nowhere", 1);
    ok(vbs_quantized_load(&ctx, k->whole, &network) == VBS_IO &&
           strstr(vbs_detail(&ctx), "cannot make a file in '/nowhere'"),
       "a folder that is not there: %s", vbs_detail(&ctx));
    unsetenv("TMPDIR");
    close(nameless);
    close(watch);
    ok(rmdir(folder) == 0, "the folder is empty");
}

/* ---- roles ---- */

static void check_ends(const struct keeping *k)
{
    struct vbs_quantized_network *none = keep(k, ""), *all = keep(k, "a b c d f");
    long n_whole, n_none;
    char *whole = content(k->whole, &n_whole), *same = content(none, &n_none);
    struct vbs_quantize_difference difference;
    int n;
    const struct vbs_quantize_row *rows = vbs_quantized_rows(all, &n);

    ok(n_whole == n_none && memcmp(whole, same, (size_t)n_whole) == 0,
       "nothing is kept: the file is that of the whole in 8 bits");
    for (int i = 0; i < n; i++)
        if (rows[i].rounded || rows[i].n_weights > 0)
            ok(false, "%s is in floats", rows[i].name);
    difference = difference_of(k, all);
    ok(isinf(difference.db) && difference.n_same == SAMPLES,
       "everything is kept: outputs are those of floats");
    free(whole);
    free(same);
    vbs_quantized_free(none);
    vbs_quantized_free(all);
}

/* Checks whether rows are rounded, and why they are in floats: "" where they are not. */
static void check_row(const struct keeping *k, const struct vbs_quantized_network *mixed,
                      const char *name, bool rounded, const char *why)
{
    int n;
    const struct vbs_quantize_row *rows = vbs_quantized_rows(mixed, &n), *row, *from;

    row = &rows[row_of(rows, n, name)];
    ok(row->rounded == rounded && strcmp(row->why ? row->why : "", why) == 0,
       "... %s is %srounded, in floats because: %s", name, rounded ? "" : "not ", why);
    if (!rounded || !row->rounded)
        return;
    from = &k->rows[row_of(k->rows, k->n_rows, name)];
    ok(row->value.scale == from->value.scale && row->value.zero == from->value.zero &&
           row->value.scale > 0,
       "... and has the scale that it had");
}

static void check_roles(const struct keeping *k)
{
    struct vbs_quantized_network *mixed = keep(k, "c");
    const struct vbs_quantize_row *rows;
    int n;

    printf("# c is kept\n");
    check_row(k, mixed, "a", true, "");
    check_row(k, mixed, "b", true, "");
    check_row(k, mixed, "c", false, "kept in floats");
    check_row(k, mixed, "s", true, "reads floats of layers that are kept");
    check_row(k, mixed, "d", true, "");
    check_row(k, mixed, "t", true, "");
    vbs_quantized_free(mixed);
    printf("# all but a are kept\n");
    mixed = keep(k, "b c d f");
    check_row(k, mixed, VBS_INPUT_NAME, true, "");
    check_row(k, mixed, "a", true, "");
    check_row(k, mixed, "b", false, "kept in floats");
    check_row(k, mixed, "s", false, "reads floats of layers that are kept");
    check_row(k, mixed, "t", false, "reads floats of layers that are kept");
    check_row(k, mixed, "p", false, "");
    vbs_quantized_free(mixed);
    printf("# d is kept\n");
    mixed = keep(k, "d");
    check_row(k, mixed, "s", true, "");
    check_row(k, mixed, "d", false, "kept in floats");
    check_row(k, mixed, "t", false, "reads floats of layers that are kept");
    check_row(k, mixed, "p", true, "");
    rows = vbs_quantized_rows(mixed, &n);
    ok(rows[row_of(rows, n, "tr")].value.scale ==
           k->rows[row_of(k->rows, k->n_rows, "t")].value.scale,
       "... the relu that add t had joined has the scale of both");
    vbs_quantized_free(mixed);
}

/* ---- errors ---- */

struct errors {
    double values[64], weights[ROWS];
};

static double predict(const struct keeping *k, const struct errors *e, const char *kept)
{
    struct vbs_quantized_network *mixed = keep(k, kept);
    double error = vbs_quantized_predict(k->whole, mixed, e->values, e->weights);

    vbs_quantized_free(mixed);
    return error;
}

static bool agrees(double db, double error, double decibels)
{
    return fabs(db + 10 * log10(error)) < decibels;
}

static void check_errors(const struct keeping *k)
{
    struct errors e;
    double alone[ROWS], sum = 0;
    struct vbs_ctx ctx = {0};
    struct vbs_quantized_network *mixed;

    must(&ctx, vbs_quantized_errors(&ctx, k->whole, &k->samples, NULL, e.values, e.weights));
    must(&ctx, vbs_quantized_alone(&ctx, k->whole, &k->samples, NULL, alone));
    for (int i = 0; i < k->n_rows; i++) {
        if (k->rows[i].n_weights == 0) {
            ok(e.weights[i] == 0, "%s has no weights, and no error of them", k->rows[i].name);
            continue;
        }
        ok(e.weights[i] > 0 && e.weights[i] < 0.01, "weights of %s have an error", k->rows[i].name);
        ok(agrees(alone[i], vbs_quantized_row_error(k->whole, i, e.values, e.weights), 1.5),
           "... with that of what it reads, it is what the layer costs alone");
    }
    for (int i = 0; i < vbs_network_operators(vbs_quantized_floats(k->whole)); i++)
        sum += e.values[i];
    for (int i = 0; i < k->n_rows; i++)
        sum += e.weights[i];
    ok(fabs(predict(k, &e, "") - sum) <= 1e-12 * sum, "all in 8 bits: all errors are added");
    ok(predict(k, &e, "a b c d f") == 0, "all in floats: no error");
    ok(predict(k, &e, "c") < predict(k, &e, "") && predict(k, &e, "c d") < predict(k, &e, "c"),
       "each layer that is kept takes errors away");
    mixed = keep(k, "c d");
    ok(agrees(difference_of(k, mixed).db, predict(k, &e, "c d"), 2.5),
       "what is predicted is near what is measured");
    vbs_quantized_free(mixed);
    ok(agrees(difference_of(k, k->whole).db, predict(k, &e, ""), 2.5), "... of the whole, too");
}

int main(void)
{
    struct keeping k = begin();

    check_names(&k);
    check_ends(&k);
    check_roles(&k);
    check_errors(&k);
    vbs_quantized_free(k.whole);
    vbs_network_free(k.network);
    done_testing();
}
