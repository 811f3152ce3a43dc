/*
 * Convolutions of 3x3 by Winograd's method, on tensors with the channels last: the loops for all
 * kinds of this processor, and the kernels that sessions with stripes offer, give what the
 * definition gives, up to TOLERANCE of the largest value. (Errors of up to 1.4e-6 were seen with
 * 512 channels, and of direct kernels of up to 3e-7.)
 */
#include "vbslab/vbslab.h"

#include "backend/onednn/winograd/winograd.h"
#include "base/ctx.h"
#include "base/random.h"
#include "reference/backend/ops.h"
#include "support/guard.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-5

static void fill_random(float *values, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = (float)((double)(vbs_random(seed, (uint64_t)i) % 20001) / 10000 - 1);
}

/* Gives the largest difference as a fraction of the largest value. */
static double difference(const float *got, const float *want, int64_t n)
{
    double most = 0, largest = 1e-30;

    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]);

        most = d > most || isnan(d) ? d : most;
        largest = fmax(largest, fabs(want[i]));
    }
    return isnan(most) ? HUGE_VAL : most / largest;
}

/* ---- loops ---- */

#define MOST_TILES    29 /* two groups of 14, and one more */
#define MOST_CHANNELS 37
#define CHUNKS        3 /* of channels */
#define MOST_POINTS   36
#define OUTPUTS       OD_TILE_OUTPUTS
#define UNTOUCHED     77.0f

static float image[MOST_TILES][6][6][MOST_CHANNELS], filters[MOST_CHANNELS][9][OUTPUTS];
static float bias[OUTPUTS];
static float points[MOST_POINTS][CHUNKS][MOST_TILES][OD_TILE_CHUNK];
static float transformed[MOST_POINTS][MOST_CHANNELS][OUTPUTS];
static float sums[MOST_POINTS][MOST_TILES][OUTPUTS];
static float got[MOST_TILES][4][OD_TILE_COLUMNS][OUTPUTS];
static float want[MOST_TILES][4][OD_TILE_COLUMNS][OUTPUTS];

/* A set of tiles. */
struct tiles {
    const struct od_winograd_loops *loops;
    int size; /* of a tile: number in the table */
    int rows; /* of a tile */
    int n, channels;
    int n_rows, n_columns, n_outputs; /* that the output has of each tile */
    bool relu;
};

static void define(const struct tiles *t)
{
    for (int i = 0; i < t->n; i++)
        for (int y = 0; y < t->n_rows; y++)
            for (int x = 0; x < t->n_columns; x++)
                for (int o = 0; o < t->n_outputs; o++) {
                    double sum = bias[o];

                    for (int c = 0; c < t->channels; c++)
                        for (int k = 0; k < 9; k++)
                            sum += (double)image[i][y + k / 3][x + k % 3][c] * filters[c][k][o];
                    want[i][y][x][o] = (float)(t->relu && sum < 0 ? 0 : sum);
                }
}

/* Transforms the input; each position is read from memory of its own, which ends behind the last
 * channel. */
static void transform_input(const struct tiles *t)
{
    for (int i = 0; i < t->n; i++) {
        struct od_tile_input in = {.channels = t->channels};
        const struct od_tile_points to = {.to = points[0][0][i],
                                          .point = CHUNKS * MOST_TILES * OD_TILE_CHUNK,
                                          .chunk = MOST_TILES * OD_TILE_CHUNK};

        for (int p = 0; p < (t->rows + 2) * 6; p++) {
            float *cell = malloc((size_t)t->channels * sizeof *cell);

            if (!cell)
                bail_out("out of memory");
            memcpy(cell, image[i][p / 6][p % 6], (size_t)t->channels * sizeof *cell);
            in.cells[p / 6][p % 6] = cell;
        }
        t->loops->sizes[t->size].input(&in, &to);
        for (int p = 0; p < (t->rows + 2) * 6; p++)
            free((void *)(uintptr_t)in.cells[p / 6][p % 6]);
    }
}

/* Multiplies; in two steps, one for the first 16 channels, where there are more. */
static void multiply(const struct tiles *t)
{
    int n_sums = t->rows == 1 ? 6 : t->rows == 2 ? 24 : 36;

    for (int p = 0; p < n_sums; p++)
        for (int c = 0; c < t->channels; c += OD_TILE_CHUNK) {
            bool first = c == 0;
            const struct od_tile_product product = {
                .input = points[p][c / OD_TILE_CHUNK][0],
                .chunk = MOST_TILES * OD_TILE_CHUNK,
                .input_term = 6 * CHUNKS * MOST_TILES * OD_TILE_CHUNK,
                .filter_term = 6 * MOST_CHANNELS * OUTPUTS,
                .filter = transformed[p][c],
                .sums = sums[p][0],
                .n_tiles = t->n,
                .channels = first && t->channels > OD_TILE_CHUNK ? OD_TILE_CHUNK : t->channels - c,
                .n_terms = t->rows == 1 ? 3 : 1,
                .add = !first};

            t->loops->multiply(&product);
            if (!first)
                break;
        }
}

static void transform_output(const struct tiles *t)
{
    for (int i = 0; i < t->n; i++) {
        const struct od_tile_output out = {.sums = sums[0][i],
                                           .point = MOST_TILES * OUTPUTS,
                                           .bias = bias,
                                           .relu = t->relu,
                                           .to = got[i][0][0],
                                           .row = OD_TILE_COLUMNS * OUTPUTS,
                                           .column = OUTPUTS,
                                           .rows = t->n_rows,
                                           .columns = t->n_columns,
                                           .channels = t->n_outputs};

        t->loops->sizes[t->size].output(&out);
    }
}

/* Gives the difference from the definition; values that the output does not have stay as they are.
 */
static double tiles_differ(const struct tiles *t)
{
    const int64_t n = sizeof got / sizeof(float);
    float *g = (float *)(void *)got, *w = (float *)(void *)want;

    for (int64_t i = 0; i < n; i++)
        g[i] = w[i] = UNTOUCHED;
    memset(points, 0xff, sizeof points); /* not numbers */
    define(t);
    transform_input(t);
    t->loops->sizes[t->size].filter(filters[0][0], t->channels, transformed[0][0],
                                    MOST_CHANNELS * OUTPUTS);
    multiply(t);
    transform_output(t);
    for (int64_t i = 0; i < n; i++) {
        if (w[i] != UNTOUCHED)
            continue;
        if (g[i] != UNTOUCHED)
            return HUGE_VAL;
        g[i] = w[i] = 0;
    }
    return difference(g, w, n);
}

static void check_loops(const char *name, const struct od_winograd_loops *loops)
{
    for (int size = 0; size < OD_TILE_SIZES; size++) {
        struct tiles t = {.loops = loops, .size = size, .rows = 1 << size};
        double worst = 0;

        for (t.n = 1; t.n <= MOST_TILES; t.n++) {
            t.channels = t.n % 4 == 0 ? MOST_CHANNELS : t.n % 4 == 1 ? 32 : t.n % 4 == 2 ? 16 : 3;
            t.n_outputs = t.n % 3 == 0 ? OUTPUTS : t.n % 3 == 1 ? 21 : 16;
            t.n_rows = 1 + t.n % t.rows;
            t.n_columns = t.n % 5 == 0 ? 4 : t.n % 5;
            t.relu = t.n % 2 == 0;
            worst = fmax(worst, tiles_differ(&t));
        }
        ok(worst < TOLERANCE, "loops %s: tiles of %d rows differ by %g from the definition", name,
           t.rows, worst);
    }
}

static void loops_give_the_definition(void)
{
    fill_random((float *)(void *)image, sizeof image / sizeof(float), 1);
    fill_random((float *)(void *)filters, sizeof filters / sizeof(float), 2);
    fill_random(bias, OUTPUTS, 3);
    check_loops("for any processor", &od_winograd_plain);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        check_loops("of AVX2", &od_winograd_avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        check_loops("of AVX-512", &od_winograd_avx512);
#endif
}

/* ---- kernels ---- */

#define MAX_BATCH 3

/* Networks whose first layer is a convolution, with fused operators. large: has kernels of large
 * blocks. */
static const struct {
    const char *name, *text;
    bool large;
} CASES[] = {
    {"one block", "input 16x7x9\nconv a out=24 kernel=3 pad=1\nrelu r\n", false},
    {"channels that fill no vector", "input 21x11x10\nconv a out=37 kernel=3 pad=1\n", false},
    {"no padding", "input 32x10x12\nconv a out=64 kernel=3\nrelu r\n", false},
    {"wide padding", "input 16x6x5\nconv a out=16 kernel=3 pad=2 bias=no\n", false},
    {"three rows", "input 16x3x33\nconv a out=16 kernel=3 pad=1\n", false},
    {"a BatchNorm behind", "input 16x9x9\nconv a out=32 kernel=3 pad=1\nrelu r\nbatchnorm b\n",
     false},
    {"a BatchNorm", "input 16x9x9\nconv a out=32 kernel=3 pad=1\nbatchnorm b\nrelu r\n", false},
    {"shared blocks", "input 160x9x9\nconv a out=160 kernel=3 pad=1\nrelu r\n", false},
    {"large blocks", "input 352x9x10\nconv a out=352 kernel=3 pad=1\n", true},
};
#define N_CASES ((int)(sizeof CASES / sizeof CASES[0]))

struct subject {
    struct vbs_ctx ctx;
    const struct vbs_backend *backend;
    struct vbs_network *network;
    struct vbs_session *session;
    float *samples[MAX_BATCH]; /* of the output, by the definition */
    float *input, *want;       /* MAX_BATCH samples, as the session has them */
};

static struct vbs_session *open_session(struct subject *t, int threads)
{
    static const int BATCHES[] = {1, MAX_BATCH};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = BATCHES,
                                          .n_batches = 2,
                                          .stripes = true,
                                          .threads = threads};
    struct vbs_session *session = NULL;

    return t->backend->open(&t->ctx, t->network, &options, &session) == VBS_OK ? session : NULL;
}

static bool is_winograd(const struct vbs_kernel *k)
{
    return k->layer == 1 && strncmp(k->algorithm, "winograd:", 9) == 0;
}

/* Computes the output by the definition, from the session's input. */
static bool define_output(struct subject *t)
{
    struct vbs_session *s = t->session;
    int64_t n = vbs_shape_elements(&t->network->input);
    float *plain = malloc(MAX_BATCH * (size_t)n * sizeof *plain);
    bool worked = plain && s->ops->read(&t->ctx, s, 0, MAX_BATCH, t->input, plain) == VBS_OK;

    for (int i = 0; worked && i < MAX_BATCH; i++) {
        const float *inputs[] = {plain + i * n};

        t->samples[i] = reference_layer(t->network, 1, inputs);
        worked = t->samples[i] != NULL;
    }
    free(plain);
    return worked;
}

/* Makes the input, which is the same in all sessions, and the output. */
static bool make_tensors(struct subject *t)
{
    struct vbs_session *s = t->session;
    int64_t bytes = s->layers[1].out_bytes;
    bool worked;

    t->input = s->ops->alloc(s, MAX_BATCH * s->layers[0].out_bytes);
    t->want = s->ops->alloc(s, MAX_BATCH * bytes);
    worked = t->input && t->want && s->ops->fill(&t->ctx, s, 0, MAX_BATCH, t->input) == VBS_OK &&
             (t->samples[0] || define_output(t));
    for (int i = 0; worked && i < MAX_BATCH; i++)
        worked = s->ops->write(&t->ctx, s, 1, 1, t->samples[i], t->want + i * bytes / 4) == VBS_OK;
    return worked;
}

/* Gives the first row of the output that a kernel on rows computes, and the first of the input that
 * it reads. */
static int64_t rows_of(const struct vbs_session *s, const struct vbs_kernel *k, int64_t *read)
{
    const struct vbs_reach *reach = &s->layers[1].reaches[0];
    int64_t row = s->layers[1].rows / k->rows / 2 * k->rows;

    *read = row + reach->low < 0 ? 0 : row + reach->low;
    return row;
}

/* Runs a kernel on exactly its input. Gives the difference from the definition; HUGE_VAL: it
 * failed, or wrote elsewhere. */
static double kernel_differs(struct subject *t, int index)
{
    struct vbs_session *s = t->session;
    const struct vbs_kernel *k = &s->kernels[index];
    int64_t in_row = s->layers[0].out_bytes / s->layers[0].rows;
    int64_t out_row = s->layers[1].out_bytes / s->layers[1].rows;
    int64_t read = 0, row = k->rows > 0 ? rows_of(s, k, &read) : 0;
    int64_t bytes = k->rows > 0 ? k->rows * out_row : k->batch * s->layers[1].out_bytes;
    unsigned char *dst = guarded(s, bytes), *ws = guarded(s, k->ws_bytes);
    const void *src[] = {(char *)t->input + read * in_row};
    struct vbs_operands operands = {.src = src, .dst = dst, .ws = ws};
    double differs = HUGE_VAL;

    if (dst && ws && s->ops->run(&t->ctx, s, index, &operands, NULL) == VBS_OK &&
        is_guard(dst + bytes, GUARD_BYTES) && is_guard(ws + k->ws_bytes, GUARD_BYTES))
        differs = difference((float *)(void *)dst, t->want + row * out_row / 4, bytes / 4);
    s->ops->free(s, dst);
    s->ops->free(s, ws);
    return differs;
}

static void kernels_give_the_definition(struct subject *t, const char *name, int threads)
{
    int n = 0;
    double worst = 0;

    for (int i = 0; i < t->session->n_kernels; i++)
        if (is_winograd(&t->session->kernels[i])) {
            worst = fmax(worst, kernel_differs(t, i));
            n++;
        }
    ok(n > 0 && worst < TOLERANCE, "%s, %d threads: %d kernels differ by %g from the definition",
       name, threads, n, worst);
}

static int count(const struct vbs_session *s, const char *algorithm, int batch, int rows)
{
    int n = 0;

    for (int i = 0; i < s->n_kernels; i++)
        n += s->kernels[i].layer == 1 && s->kernels[i].batch == batch &&
             s->kernels[i].rows == rows && strcmp(s->kernels[i].algorithm, algorithm) == 0;
    return n;
}

/* Tiles have the rows that the output has, up to 4. */
static void tiles_fit_the_rows(const struct vbs_session *s, const char *name, bool large)
{
    int n_missing = count(s, "winograd:4x4", 1, 0) != 1;

    n_missing += count(s, "winograd:4x4+plain", 1, 0) != 1;
    n_missing += count(s, "winograd:4x4+large", 1, 0) != large;
    n_missing += count(s, "winograd:1x4", 1, 1) != 1;
    n_missing += count(s, "winograd:1x4+plain", 1, 1) != 1;
    n_missing += count(s, "winograd:2x4", 1, 2) != 1;
    if (s->layers[1].rows > 4)
        n_missing += count(s, "winograd:4x4", 1, 4) != 1;
    ok(n_missing == 0, "%s: tiles of 4, 2 and 1 rows for outputs of so many", name);
}

/* Weights that are not transformed are the same for all heights, and are 9 values each, for whole
 * vectors of outputs; others are the same for all tiles of one size. */
static void weights_are_shared(const struct vbs_session *s, const struct vbs_network *network,
                               const char *name)
{
    int64_t filters_n = network->input.dim[0] * ((network->layers[1].shape.dim[0] + 31) / 32 * 32);
    int n_bad = 0, format[5] = {-1, -1, -1, -1, -1};

    for (int i = 0; i < s->n_kernels; i++) {
        const struct vbs_kernel *k = &s->kernels[i];
        bool plain = is_winograd(k) && strstr(k->algorithm, "+plain");
        int rows = is_winograd(k) ? k->algorithm[9] - '0' : 0;
        int n = plain ? 9 : rows == 4 ? 36 : rows == 2 ? 24 : 18;
        int *first = &format[plain ? 0 : rows];

        if (!is_winograd(k))
            continue;
        *first = *first < 0 ? k->format : *first;
        n_bad += *first != k->format || k->packed_bytes != n * filters_n * 4;
    }
    ok(n_bad == 0, "%s: kernels of one size of tiles share their weights", name);
}

static void try_case(int c)
{
    struct subject t = {0};
    char text[1000];

    snprintf(text, sizeof text, "model case\n%s", CASES[c].text);
    ok(vbs_network_parse(&t.ctx, "case", text, strlen(text), NULL, &t.network) == VBS_OK &&
           vbs_backend_find(&t.ctx, "onednn", &t.backend) == VBS_OK,
       "%s: the network", CASES[c].name);
    for (int threads = 1; t.network && threads <= 3; threads++) {
        t.session = open_session(&t, threads);
        if (!t.session || !make_tensors(&t)) {
            ok(false, "%s, %d threads: opens (%s)", CASES[c].name, threads, t.ctx.detail);
            break;
        }
        kernels_give_the_definition(&t, CASES[c].name, threads);
        if (threads == 1) {
            tiles_fit_the_rows(t.session, CASES[c].name, CASES[c].large);
            weights_are_shared(t.session, t.network, CASES[c].name);
        }
        t.session->ops->free(t.session, t.input);
        t.session->ops->free(t.session, t.want);
        t.session->ops->close(t.session);
    }
    for (int i = 0; i < MAX_BATCH; i++)
        free(t.samples[i]);
    vbs_network_free(t.network);
}

/* ---- what has no such kernels ---- */

static void others_have_none(void)
{
    static const char *const TEXTS[] = {
        "input 16x9x9\nconv a out=16 kernel=3 stride=2\n",
        "input 16x9x9\nconv a out=16 kernel=3 pad=2 dilation=2\n",
        "input 16x9x9\nconv a out=16 kernel=3 groups=2\n",
        "input 16x9x9\nconv a out=16 kernel=5\n",
        "input 16x9x9\nconv a out=8 kernel=3\n",
        "input 3x9x9\nconv a out=16 kernel=3\n",
        "input 16x9\nconv a out=16 kernel=3\n",
        "input 16x5x5x5\nconv a out=16 kernel=3\n",
    };

    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        struct subject t = {0};
        char text[200];
        int n = -1;

        snprintf(text, sizeof text, "model case\n%s", TEXTS[i]);
        if (vbs_network_parse(&t.ctx, "case", text, strlen(text), NULL, &t.network) == VBS_OK &&
            vbs_backend_find(&t.ctx, "onednn", &t.backend) == VBS_OK)
            t.session = open_session(&t, 1);
        for (int k = 0; t.session && k < t.session->n_kernels; k++)
            n = (n < 0 ? 0 : n) + is_winograd(&t.session->kernels[k]);
        ok(n == 0, "no such kernels of %.*s", (int)strcspn(TEXTS[i] + 6, "\n"), TEXTS[i] + 6);
        if (t.session)
            t.session->ops->close(t.session);
        vbs_network_free(t.network);
    }
}

int main(void)
{
    loops_give_the_definition();
    for (int c = 0; c < N_CASES; c++)
        try_case(c);
    others_have_none();
    return done_testing();
}
