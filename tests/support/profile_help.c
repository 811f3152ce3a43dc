#include "support/profile_help.h"

#include "cases/random_profile.h"
#include "profile/reach.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- comparing ---- */

/* Numbers are compared to the bit, so that -0 differs from 0. */
#define DIFFER(member) || memcmp(&x->member, &y->member, sizeof x->member) != 0

static const char *differ_in_layers(const struct vbs_profile *a, const struct vbs_profile *b,
                                    char *buffer, size_t size)
{
    for (int i = 0; i <= a->n_layers; i++) {
        const struct vbs_profile_layer *x = &a->layers[i], *y = &b->layers[i];

        if (strcmp(x->name, y->name) != 0 || strcmp(x->kind, y->kind) != 0 ||
            x->n_inputs != y->n_inputs LAYER_NUMBERS(DIFFER)) {
            snprintf(buffer, size, "layer %d", i);
            return buffer;
        }
        for (int j = 0; j < x->n_inputs; j++)
            if (x->inputs[j] != y->inputs[j] ||
                !vbs_reaches_equal(x->reaches, y->reaches, x->n_inputs)) {
                snprintf(buffer, size, "layer %d input %d", i, j);
                return buffer;
            }
    }
    return NULL;
}

static bool same_row(const struct vbs_profile_row *x, const struct vbs_profile_row *y)
{
    return !(x->algorithm != y->algorithm || x->rows != y->rows ROW_NUMBERS(DIFFER));
}
#undef DIFFER

static bool same_double(double x, double y)
{
    return memcmp(&x, &y, sizeof x) == 0;
}

static bool same_copy(const struct vbs_copy *x, const struct vbs_copy *y)
{
    if (strcmp(x->source, y->source) != 0 || strcmp(x->link.source, y->link.source) != 0 ||
        x->n_rows != y->n_rows || !same_double(x->link.latency_us, y->link.latency_us) ||
        !same_double(x->link.bytes_per_us, y->link.bytes_per_us) ||
        !same_double(x->error_percent, y->error_percent))
        return false;
    for (int i = 0; i < x->n_rows; i++) {
        const struct vbs_copy_row *a = &x->rows[i], *b = &y->rows[i];

        if (a->bytes != b->bytes || a->n_runs != b->n_runs ||
            !same_double(a->time_us, b->time_us) || !same_double(a->mad_us, b->mad_us) ||
            !same_double(a->low_us, b->low_us) || !same_double(a->high_us, b->high_us))
            return false;
    }
    return true;
}

static const char *differ_in_copies(const struct vbs_profile *a, const struct vbs_profile *b)
{
    bool same = a->n_copies == b->n_copies;

    for (int i = 0; i < a->n_copies && same; i++)
        same = same_copy(&a->copies[i], &b->copies[i]);
    return same ? NULL : "copies";
}

static const char *differ_in_calibration(const struct vbs_profile *a, const struct vbs_profile *b)
{
    bool same = same_double(a->speed.flops_per_us, b->speed.flops_per_us) &&
                same_double(a->speed.cache_bytes_per_us, b->speed.cache_bytes_per_us) &&
                same_double(a->speed.memory_bytes_per_us, b->speed.memory_bytes_per_us);

    for (int i = 0; i < a->n_copies && same; i++) {
        const double *x = a->copies[i].link.beside, *y = b->copies[i].link.beside;

        same = !x == !y;
        for (int layer = 0; x && y && layer <= a->n_layers; layer++)
            same = same && same_double(x[layer], y[layer]);
    }
    return same ? NULL : "calibration";
}

static const char *differ_in_rows(const struct vbs_profile *a, const struct vbs_profile *b,
                                  char *buffer, size_t size)
{
    for (int layer = 1; layer <= a->n_layers; layer++)
        for (int batch = 0; batch < a->n_batches; batch++) {
            int n, m;
            const struct vbs_profile_row *x = vbs_profile_rows(a, layer, batch, &n);
            const struct vbs_profile_row *y = vbs_profile_rows(b, layer, batch, &m);
            bool same = n == m;

            for (int i = 0; i < n && same; i++)
                same = same_row(&x[i], &y[i]);
            if (!same) {
                snprintf(buffer, size, "rows of layer %d batch %d", layer, a->batches[batch]);
                return buffer;
            }
        }
    return NULL;
}

static const char *differ_in_stripes(const struct vbs_profile *a, const struct vbs_profile *b,
                                     char *buffer, size_t size)
{
    for (int layer = 1; layer <= a->n_layers; layer++) {
        int n, m;
        const struct vbs_profile_stripe *x = vbs_profile_stripes(a, layer, &n);
        const struct vbs_profile_stripe *y = vbs_profile_stripes(b, layer, &m);
        bool same = n == m;

        for (int i = 0; i < n && same; i++)
            same = x[i].batch == y[i].batch && same_row(&x[i].row, &y[i].row);
        if (!same) {
            snprintf(buffer, size, "stripes of layer %d", layer);
            return buffer;
        }
    }
    return NULL;
}

const char *profile_difference(const struct vbs_profile *a, const struct vbs_profile *b,
                               char *buffer, size_t size)
{
    const char *where;

    if (a->n_layers != b->n_layers || a->n_batches != b->n_batches ||
        a->n_algorithms != b->n_algorithms)
        return "counts";
    if (memcmp(a->batches, b->batches, (size_t)a->n_batches * sizeof *a->batches) != 0)
        return "batches";
    for (int i = 0; i < a->n_algorithms; i++)
        if (strcmp(a->algorithms[i], b->algorithms[i]) != 0)
            return "algorithms";
    if (a->provenance.threads != b->provenance.threads)
        return "threads";
    where = differ_in_layers(a, b, buffer, size);
    if (!where)
        where = differ_in_rows(a, b, buffer, size);
    if (!where)
        where = differ_in_stripes(a, b, buffer, size);
    if (!where)
        where = differ_in_copies(a, b);
    if (!where)
        where = differ_in_calibration(a, b);
#define DIFFER(member)                                                                             \
    if (!where && strcmp(a->provenance.member, b->provenance.member) != 0)                         \
        where = #member;
    VBS_PROVENANCE_TEXTS(DIFFER)
#undef DIFFER
    return where;
}

/* ---- hostile profiles ---- */

static const char *const HOSTILE[] = {
    "",
    "plain",
    "a,b;c",
    "\"quoted\"",
    "say \"\"twice\"\"",
    "line\nbreak",
    "carriage\r\nreturn\r",
    "`touch hostile-file`",
    "$(touch hostile-file)",
    "'; DROP TABLE profile; --",
    "\xe5\x90\x8d\xe5\x89\x8d \xc3\xa9 \xf0\x9f\x98\x80",
    " blank at both ends ",
    "\ttab\t",
    "# hash: no comment",
    "\x1b[31mred\x1b[0m\x07\x7f",
    "%s%n%d",
    "C:\\new\\x41\\",
    "=1+1",
    "\"",
    "\\",
    "\xef\xbb\xbfmark",
    "\xc2\x85next\xe2\x80\xa8line",
};

#define N_HOSTILE ((int)(sizeof HOSTILE / sizeof HOSTILE[0]))

static const char *any_text(gsl_rng *rng)
{
    return HOSTILE[random_int(rng, 0, N_HOSTILE - 1)];
}

/* Gives any double from 0 to 1e18: whole, decimal, of any exponent, or the least of all. */
static double any_time(gsl_rng *rng)
{
    switch (random_int(rng, 0, 4)) {
    case 0:
        return random_int(rng, 0, 1000);
    case 1:
        return random_int(rng, 0, 1000000) / 1000.0;
    case 2:
        return ldexp(gsl_rng_uniform(rng), random_int(rng, -1070, 59));
    case 3:
        return 5e-324;
    default:
        return 1e18 * gsl_rng_uniform(rng);
    }
}

static struct vbs_profile_row any_row(gsl_rng *rng, bool measured)
{
    struct vbs_profile_row row = {.time_us = any_time(rng), .ws_bytes = random_int(rng, 0, 100)};

    if (random_once_in(rng, 4))
        row.ws_bytes = INT64_MAX / 2;
    if (measured && !random_once_in(rng, 5)) {
        row.n_runs = random_int(rng, 1, 1 << 30);
        row.mad_us = any_time(rng);
        row.low_us = row.time_us * gsl_rng_uniform(rng);
        row.high_us = row.time_us < 1e17 ? row.time_us * 2 : row.time_us;
    }
    return row;
}

/* Packs a row: the weights of a format take the layer's bytes, or more by the number of the
 * format. */
static void pack_row(gsl_rng *rng, struct vbs_profile_row *row)
{
    row->format = random_int(rng, 0, VBS_MAX_FORMATS - 1);
    row->weight_bytes = row->format % 3 ? 1000 + row->format : 0;
    row->n_slices = random_int(rng, 0, 1);
}

#define MAX_HOSTILE_LAYERS 12

static enum vbs_status add_layers(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                  gsl_rng *rng, int n_layers, bool packed)
{
    int64_t out[MAX_HOSTILE_LAYERS + 1] = {0};

    for (int id = 1; id <= n_layers; id++) {
        int inputs[3];
        struct vbs_profile_layer layer = {.name = any_text(rng),
                                          .kind = any_text(rng),
                                          .inputs = inputs,
                                          .n_inputs = random_int(rng, 1, 3),
                                          .in_place = random_once_in(rng, 3)};
        enum vbs_status status;

        for (int i = 0; i < layer.n_inputs; i++) {
            inputs[i] = id == 1 ? 0 : random_int(rng, 0, id - 1);
            layer.in_bytes += inputs[i] ? out[inputs[i]] : random_int(rng, 0, 100);
        }
        layer.out_bytes = out[id] =
            random_once_in(rng, 5) ? INT64_C(1) << 40 : random_int(rng, 0, 100);
        layer.weight_bytes = random_once_in(rng, 5) ? INT64_C(1) << 50 : random_int(rng, 0, 100);
        layer.channels = packed && random_once_in(rng, 2) ? random_int(rng, 0, 1 << 30) : 0;
        if ((status = vbs_profile_builder_layer(ctx, builder, &layer)))
            return status;
    }
    return VBS_OK;
}

static enum vbs_status add_rows(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                gsl_rng *rng, int n_layers, bool measured, bool packed)
{
    int n_batches = random_int(rng, 1, 6), step = random_int(rng, 1, 800);

    for (int layer = n_layers; layer >= 1; layer--)
        for (int b = 0; b < n_batches; b++) {
            int first = random_int(rng, 1, N_HOSTILE - 1);

            for (int a = random_int(rng, 0, 3); a >= 0; a--) {
                struct vbs_profile_row row = any_row(rng, measured);
                enum vbs_status status;

                if (packed)
                    pack_row(rng, &row);
                status = vbs_profile_builder_row(ctx, builder, layer, 1 + b * step,
                                                 HOSTILE[1 + (first + a) % (N_HOSTILE - 1)], &row);

                if (status != VBS_OK)
                    return status;
            }
        }
    return VBS_OK;
}

static enum vbs_status add_copies(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                  gsl_rng *rng, bool measured)
{
    int n_rows = random_int(rng, 0, 60), first = random_int(rng, 0, N_HOSTILE - 2);

    for (int i = 0; i < n_rows; i++) {
        struct vbs_profile_row times = any_row(rng, measured);
        struct vbs_copy_row row = {.bytes =
                                       ((int64_t)i << random_int(rng, 0, 40)) * 64 + 1 + i % 64,
                                   .time_us = times.time_us,
                                   .mad_us = times.mad_us,
                                   .low_us = times.low_us,
                                   .high_us = times.high_us,
                                   .n_runs = times.n_runs};
        const char *source = HOSTILE[1 + (first + i / 8) % (N_HOSTILE - 1)];
        enum vbs_status status;

        if (row.time_us < 1e-2) /* the rate stays below 1e18 bytes a microsecond */
            continue;
        status = vbs_profile_builder_copy(ctx, builder, source, &row);
        if (status != VBS_OK)
            return status;
    }
    return VBS_OK;
}

/* Gives the profile a random calibration; null when it was refused. */
static struct vbs_profile *calibrate(struct vbs_ctx *ctx, gsl_rng *rng, struct vbs_profile *profile)
{
    struct vbs_calibration calibration = {0};
    double beside[MAX_HOSTILE_LAYERS + 1];
    struct vbs_profile *calibrated = NULL;

    if (random_once_in(rng, 2))
        calibration.speed = (struct vbs_speed){.flops_per_us = ldexp(1, random_int(rng, -60, 60)),
                                               .cache_bytes_per_us = 1 + gsl_rng_uniform(rng),
                                               .memory_bytes_per_us = 1e-3 * random_int(rng, 1, 9)};
    for (int layer = 0; layer <= profile->n_layers; layer++)
        beside[layer] = 1 + (random_once_in(rng, 4) ? 0 : gsl_rng_uniform(rng) * 1e3);
    for (int i = 0; i < profile->n_copies; i++)
        if (random_once_in(rng, 2))
            calibration.sources[calibration.n_sources++] =
                (struct vbs_calibrated_source){profile->copies[i].source, beside};
    if (vbs_profile_calibrate(ctx, profile, &calibration, &calibrated) != VBS_OK)
        calibrated = NULL;
    vbs_profile_free(profile);
    return calibrated;
}

struct vbs_profile *hostile_profile(struct vbs_ctx *ctx, gsl_rng *rng, bool measured)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_provenance provenance = {.threads = random_int(rng, 0, 4)};
    int n_layers = random_int(rng, 1, MAX_HOSTILE_LAYERS);
    bool packed = random_once_in(rng, 2);
    struct vbs_profile *profile = NULL;

    if (!builder)
        return NULL;
#define SET(member) provenance.member = random_once_in(rng, 8) ? NULL : any_text(rng);
    VBS_PROVENANCE_TEXTS(SET)
#undef SET
    if (vbs_profile_builder_provenance(ctx, builder, &provenance) != VBS_OK ||
        add_layers(ctx, builder, rng, n_layers, packed) != VBS_OK ||
        add_rows(ctx, builder, rng, n_layers, measured, packed) != VBS_OK ||
        (packed && add_copies(ctx, builder, rng, measured) != VBS_OK) ||
        vbs_profile_builder_finish(ctx, builder, &profile) != VBS_OK)
        profile = NULL;
    vbs_profile_builder_free(builder);
    return profile && packed ? calibrate(ctx, rng, profile) : profile;
}

/* ---- sessions ---- */

struct plain_session *plain_session_new(int n_layers, int n_batches, int n_algorithms)
{
    static const char *const ALGORITHMS[] = {"direct", "winograd", "gemm"};
    static const struct vbs_session_ops NOTHING = {0};
    struct plain_session *plain = calloc(1, sizeof *plain);
    int n_kernels = n_layers * n_batches * n_algorithms;

    if (!plain)
        return NULL;
    plain->layers = calloc((size_t)n_layers + 1, sizeof *plain->layers);
    plain->kernels = calloc((size_t)n_kernels, sizeof *plain->kernels);
    plain->inputs = calloc((size_t)n_layers + 1, sizeof *plain->inputs);
    if (!plain->layers || !plain->kernels || !plain->inputs) {
        plain_session_free(plain);
        return NULL;
    }
    plain->layers[0] = (struct vbs_profile_layer){.name = "", .kind = "", .out_bytes = 100};
    for (int i = 1; i <= n_layers; i++) {
        plain->inputs[i] = i - 1;
        plain->layers[i] = (struct vbs_profile_layer){.name = "layer",
                                                      .kind = "conv",
                                                      .n_inputs = 1,
                                                      .inputs = &plain->inputs[i],
                                                      .in_bytes = 100,
                                                      .out_bytes = 100,
                                                      .weight_bytes = 10};
    }
    for (int i = 0; i < n_kernels; i++)
        plain->kernels[i] = (struct vbs_kernel){.layer = 1 + i / (n_batches * n_algorithms),
                                                .batch = 1 + i / n_algorithms % n_batches,
                                                .algorithm = ALGORITHMS[i % n_algorithms],
                                                .ws_bytes = 10 * i,
                                                .weight_bytes = 10};
    plain->session = (struct vbs_session){
        .ops = &NOTHING,
        .n_layers = n_layers,
        .layers = plain->layers,
        .n_kernels = n_kernels,
        .kernels = plain->kernels,
        .provenance = {.model = "plain",
                       .input = "1x5x5",
                       .backend = "test",
                       .library = "none 1.0",
                       .device = "this one",
                       .vbslab = "0",
                       .notes = "",
                       .threads = 2},
    };
    return plain;
}

void plain_session_free(struct plain_session *session)
{
    if (!session)
        return;
    free(session->layers);
    free(session->kernels);
    free(session->inputs);
    free(session);
}

static enum vbs_status add_kernel(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                  const struct vbs_kernel *kernel, double time_us)
{
    const struct vbs_profile_row row = {.time_us = time_us,
                                        .ws_bytes = kernel->ws_bytes,
                                        .weight_bytes = kernel->weight_bytes,
                                        .format = kernel->format,
                                        .n_slices = kernel->row_slices};

    return vbs_profile_builder_row(ctx, builder, kernel->layer, kernel->batch, kernel->algorithm,
                                   &row);
}

struct vbs_profile *profile_of_session(struct vbs_ctx *ctx, const struct vbs_session *session,
                                       const double *times_us)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    enum vbs_status status =
        builder ? vbs_profile_builder_provenance(ctx, builder, &session->provenance)
                : VBS_NO_MEMORY;

    for (int k = 1; status == VBS_OK && k <= session->n_layers; k++)
        status = vbs_profile_builder_layer(ctx, builder, &session->layers[k]);
    for (int i = 0; status == VBS_OK && i < session->n_kernels; i++)
        status = add_kernel(ctx, builder, &session->kernels[i], times_us ? times_us[i] : 1);
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(ctx, builder, &profile);
    vbs_profile_builder_free(builder);
    return status == VBS_OK ? profile : NULL;
}

/* ---- files ---- */

char *read_text(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size;

    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
        (text = malloc((size_t)size + 1))) {
        rewind(file);
        *length = fread(text, 1, (size_t)size, file);
        text[*length] = '\0';
    }
    fclose(file);
    return text;
}

int write_text(const char *path, const void *data, size_t length)
{
    FILE *file = fopen(path, "wb");
    int done;

    if (!file)
        return 0;
    done = fwrite(data, 1, length, file) == length;
    return fclose(file) == 0 && done;
}

char *temporary_folder(void)
{
    const char *const bases[] = {getenv("TMPDIR"), "/dev/shm", "/tmp"}; /* memory is faster */

    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        char *folder = bases[i] && bases[i][0] ? path_in(bases[i], "vbslab-test-XXXXXX") : NULL;

        if (folder && mkdtemp(folder))
            return folder;
        free(folder);
    }
    perror("cannot make a temporary folder");
    exit(1);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

void remove_folder(char *folder)
{
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

char *path_in(const char *folder, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}
