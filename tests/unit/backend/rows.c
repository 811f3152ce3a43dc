/* Loops over rows of encoded values: the tables for all kinds of this processor give what the
 * definition gives. */
#include "backend/onednn/kernels/elementwise.h"
#include "backend/onednn/rows/rows.h"

#include "base/random.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 300 /* values of a row; all lengths below are tried as well */

static const struct vbs_encoding encodings[] = {
    {VBS_UINT8, 0.25f, 0}, {VBS_UINT8, 0.013f, 131}, {VBS_INT8, 0.5f, -128}, {VBS_INT8, 0.07f, 5}};
#define N_ENCODINGS ((int)(sizeof encodings / sizeof encodings[0]))

static uint8_t bytes[2][MOST];
static float floats[MOST];

static int whole(enum vbs_storage storage, uint8_t q)
{
    return storage == VBS_INT8 ? (int8_t)q : q;
}

static uint8_t nearest(double x, int low, int high)
{
    x = x > low ? x : low;
    x = x < high ? x : high;
    return (uint8_t)(int)nearbyint(x);
}

static uint8_t encoded(const struct vbs_encoding *e, double x)
{
    int low = vbs_storage_low(e->storage), high = vbs_storage_high(e->storage);
    double q = x > low - e->zero ? x : low - e->zero;

    q = q < high - e->zero ? q : high - e->zero;
    return (uint8_t)((int)nearbyint(q) + e->zero);
}

static bool decodes(const struct od_row_loops *rows, const struct vbs_encoding *e, int n)
{
    float got[MOST + 1];
    bool right = true;

    got[n] = 77;
    rows->decode(e, bytes[0], n, got);
    for (int i = 0; i < n; i++)
        right &= got[i] == e->scale * (float)(whole(e->storage, bytes[0][i]) - e->zero);
    return right && got[n] == 77;
}

static bool encodes(const struct od_row_loops *rows, const struct vbs_encoding *e, int n)
{
    uint8_t got[MOST + 1];
    bool right = true;

    got[n] = 77;
    rows->encode(e, floats, n, got);
    for (int i = 0; i < n; i++)
        right &= got[i] == encoded(e, isnan(floats[i]) ? -INFINITY : floats[i] / e->scale);
    return right && got[n] == 77;
}

/* Bounds, in place too; what is no number stays so, as in what is chosen of two rows. */
static bool limits(const struct od_row_loops *rows, int n)
{
    float got[MOST + 1];
    bool right = true;

    memcpy(got, floats, sizeof floats);
    got[n] = 77;
    rows->clip(-20, 31.25f, got, n, got);
    for (int i = 0; i < n; i++)
        right &= isnan(floats[i]) ? isnan(got[i]) : got[i] == fminf(fmaxf(floats[i], -20), 31.25f);
    return right && got[n] == 77;
}

static bool chooses(const struct od_row_loops *rows, int n, int x_step, int y_step)
{
    float large[MOST + 1], small[MOST + 1];
    bool right = true;

    large[n] = small[n] = 77;
    rows->larger(floats, x_step, floats + MOST - n, y_step, n, large);
    rows->smaller(floats, x_step, floats + MOST - n, y_step, n, small);
    for (int i = 0; i < n; i++) {
        float x = floats[i * x_step], y = floats[MOST - n + i * y_step];

        if (isnan(x) || isnan(y))
            right &= isnan(large[i]) && isnan(small[i]);
        else
            right &= large[i] == fmaxf(x, y) && small[i] == fminf(x, y);
    }
    return right && large[n] == 77 && small[n] == 77;
}

static bool looks_up(const struct od_row_loops *rows, int n)
{
    uint8_t table[256], got[MOST + 1];
    bool right = true;

    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)(i * 7 + 3);
    got[n] = 77;
    rows->map(table, bytes[0], n, got);
    for (int i = 0; i < n; i++)
        right &= got[i] == table[bytes[0][i]];
    return right && got[n] == 77;
}

/* Looks up units of up to 3 values, 3 apart, to places 4 apart, between which nothing changes. */
static bool looks_units_up(const struct od_row_loops *rows, int n)
{
    uint8_t table[256], got[4 * MOST];
    int unit = 1 + n % 3;
    bool right = true;

    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)(i * 7 + 3);
    memset(got, 77, sizeof got);
    rows->map_units(table, bytes[0], 3, unit, n / 3, got, 4);
    for (int i = 0; i < 4 * MOST; i++) {
        bool written = i / 4 < n / 3 && i % 4 < unit;

        right &= got[i] == (written ? table[bytes[0][i / 4 * 3 + i % 4]] : 77);
    }
    return right;
}

/* Interleaves up to 5 rows of n values. */
static bool interleaves(const struct od_row_loops *rows, int n)
{
    int64_t count = 1 + n % 5, each = (n + count - 1) / count;
    uint8_t got[MOST + 6];
    bool right = true;

    memset(got, 77, sizeof got);
    rows->interleave(bytes[0], n / 5, count, each, got);
    for (int64_t i = 0; i < MOST + 6; i++)
        right &= got[i] == (i < each * count ? bytes[0][i % count * (n / 5) + i / count] : 77);
    return right;
}

/* Gives one value of a mixture; within: another one is as right, because sums of floats are rounded
 * in another order. */
static bool is_mixed(const struct od_mixture *m, bool sum, uint8_t a, uint8_t b, uint8_t got)
{
    double x = whole(m->a, a), y = whole(m->b, b), exact, error = 1e-4;

    exact = sum ? x * (double)m->factor + y * (double)m->second + (double)m->shift
                : (x - m->zero_a) * (y - m->zero_b) * (double)m->factor + (double)m->shift;
    return got == nearest(exact - error, m->low, m->high) ||
           got == nearest(exact + error, m->low, m->high);
}

/* Checks a sum or a product, into an array of its own and over an operand. */
static bool mixes(const struct od_row_loops *rows, const struct od_mixture *m, bool sum, int n)
{
    od_mixing *mix = sum ? rows->add : rows->multiply;
    uint8_t got[MOST + 1], over[MOST];
    bool right = true;

    for (int steps = 1; steps < 4; steps++) {
        int64_t a = steps & 1, b = steps >> 1;

        got[n] = 77;
        mix(m, bytes[0], a, bytes[1], b, n, got);
        for (int i = 0; i < n; i++)
            right &= is_mixed(m, sum, bytes[0][i * a], bytes[1][i * b], got[i]);
        right &= got[n] == 77;
    }
    memcpy(over, bytes[0], sizeof over);
    mix(m, over, 1, bytes[1], 1, n, over);
    mix(m, bytes[0], 1, bytes[1], 1, n, got);
    return right && memcmp(over, got, (size_t)n) == 0;
}

/* Checks a factor and a shift for each value, and one for all. */
static bool draws_lines(const struct od_row_loops *rows, const struct od_line *line, int n)
{
    float factor[MOST], shift[MOST];
    uint8_t got[MOST + 1];
    bool right = true;

    for (int i = 0; i < n || i == 0; i++) {
        factor[i] = floats[i % 3] / 100 + (float)i / 64;
        shift[i] = (float)(i % 50) / 8 - 3;
    }
    for (int step = 0; step < 2; step++) {
        got[n] = 77;
        rows->line(line, bytes[0], factor, shift, step, n, got);
        for (int i = 0; i < n; i++) {
            const struct vbs_encoding *e = &line->from;
            double x = (double)(e->scale * (float)(whole(e->storage, bytes[0][i]) - e->zero));
            double q =
                (x * (double)factor[i * step] + (double)shift[i * step]) / (double)line->to.scale;
            int high = vbs_storage_high(line->to.storage);

            right &= got[i] == nearest(q + line->to.zero - 1e-4, line->low, high) ||
                     got[i] == nearest(q + line->to.zero + 1e-4, line->low, high);
        }
        right &= got[n] == 77;
    }
    return right;
}

static bool sums_up(const struct od_row_loops *rows, const struct vbs_encoding *e, int n)
{
    int32_t sums[MOST], all = 0;
    uint8_t got[MOST + 1];
    bool right = true;

    for (int i = 0; i < n; i++)
        sums[i] = i - 50;
    rows->gather(e->storage, bytes[0], n, sums);
    for (int i = 0; i < n; i++) {
        right &= sums[i] == i - 50 + whole(e->storage, bytes[0][i]);
        all += whole(e->storage, bytes[0][i]);
    }
    got[n] = 77;
    rows->scale(e, sums, 20, 0.375f, n, got);
    for (int i = 0; i < n; i++)
        right &= got[i] == encoded(e, (sums[i] - 20) * 0.375);
    return right && got[n] == 77 && rows->total(e->storage, bytes[0], n) == all;
}

static bool widens(const struct od_row_loops *rows, int n)
{
    uint16_t narrow[MOST];
    float wide[MOST];
    bool right = true;

    rows->narrow(floats, n, narrow);
    rows->widen(narrow, n, wide);
    for (int i = 0; i < n; i++) {
        struct vbs_encoding e = {.storage = VBS_BFLOAT16};
        float want = vbs_encoding_round(&e, floats[i]);

        right &= wide[i] == want || (isnan(wide[i]) && isnan(want));
    }
    return right;
}

/* ---- rows that are normalised ---- */

#define LONGEST 2500 /* values; longer than what is kept of a row */

static float long_floats[LONGEST], long_gamma[LONGEST], long_beta[LONGEST];
static uint8_t long_bytes[LONGEST];

/* Gives value i of a row as it is stored: whole numbers, or floats. */
static double row_value(const struct vbs_encoding *e, int i)
{
    return vbs_storage_is_whole(e->storage)
               ? (double)e->scale * (whole(e->storage, long_bytes[i]) - e->zero)
               : (double)long_floats[i];
}

/* Gives whether value i of a stored row is want, to the last digits of floats. */
static bool is_stored(const struct vbs_encoding *e, const void *row, int i, double want)
{
    double error = 1e-6 + 2e-6 * fabs(want);

    if (e->storage == VBS_FLOAT32)
        return fabs((double)((const float *)row)[i] - want) <= error;
    return ((const uint8_t *)row)[i] == encoded(e, (want - error) / (double)e->scale) ||
           ((const uint8_t *)row)[i] == encoded(e, (want + error) / (double)e->scale);
}

/* Checks the byte behind a row, and all values against those of the definition. */
static bool is_row(const struct od_row_change *r, const unsigned char *got, const double *want)
{
    int64_t end = r->n * vbs_storage_bytes(r->to.storage);
    bool right = got[end] == 77;

    for (int i = 0; i < r->n; i++)
        right &= is_stored(&r->to, got, i, want[i]);
    return right;
}

static const void *row_of(const struct vbs_encoding *e)
{
    return e->storage == VBS_FLOAT32 ? (const void *)long_floats : long_bytes;
}

static bool softens(const struct od_row_loops *rows, const struct od_row_change *r)
{
    _Alignas(float) unsigned char got[LONGEST * 4 + 1];
    double want[LONGEST], most = -INFINITY, sum = 0;

    for (int i = 0; i < r->n; i++)
        most = fmax(most, row_value(&r->from, i));
    for (int i = 0; i < r->n; i++)
        sum += want[i] = exp(row_value(&r->from, i) - most);
    for (int i = 0; i < r->n; i++)
        want[i] /= sum;
    memset(got, 77, sizeof got);
    rows->softmax(r, row_of(&r->from), got);
    return is_row(r, got, want);
}

static bool normalises(const struct od_row_loops *rows, const struct od_row_change *r)
{
    _Alignas(float) unsigned char got[LONGEST * 4 + 1];
    double want[LONGEST], mean = 0, variance = 0, n = (double)r->n;

    for (int i = 0; i < r->n; i++)
        mean += row_value(&r->from, i) / n;
    for (int i = 0; i < r->n; i++)
        variance += pow(row_value(&r->from, i) - mean, 2) / n;
    for (int i = 0; i < r->n; i++)
        want[i] = (row_value(&r->from, i) - mean) / sqrt(variance + (double)r->epsilon) *
                      (double)r->gamma[i * r->step] +
                  (double)r->beta[i * r->step];
    memset(got, 77, sizeof got);
    rows->normalise(r, row_of(&r->from), got);
    return is_row(r, got, want);
}

/* Checks both on rows of n values, from and to floats and whole numbers. */
static void check_row(const struct od_row_loops *rows, int n, bool *soft, bool *normal)
{
    static const struct vbs_encoding plain = {.storage = VBS_FLOAT32};

    for (int i = 0; i <= N_ENCODINGS; i++)
        for (int k = 0; k < 2; k++) {
            const struct vbs_encoding *e = i < N_ENCODINGS ? &encodings[i] : &plain;
            struct od_row_change r = {.from = *e,
                                      .to = k ? encodings[(i + n) % N_ENCODINGS] : plain,
                                      .n = n,
                                      .epsilon = 1e-3f,
                                      .gamma = long_gamma,
                                      .beta = long_beta,
                                      .step = n % 3 != 0};

            *normal &= normalises(rows, &r);
            r.to.scale /= 100; /* to differ more than 0 and 1 do */
            *soft &= softens(rows, &r);
        }
}

/* Checks rows that have no softmax, and one of which most values are too small to count. */
static bool softens_extremes(const struct od_row_loops *rows)
{
    struct od_row_change r = {.to = {VBS_UINT8, 1.0f / 256, 0}, .n = 40};
    float x[40];
    uint8_t got[40];
    bool right = true;

    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 40; i++)
            x[i] = k == 2 ? -INFINITY : (float)-i * 1e30f;
        x[3] = k == 0 ? INFINITY : k == 1 ? NAN : x[3];
        rows->softmax(&r, x, got);
        for (int i = 0; i < 40; i++)
            right &= got[i] == 0;
    }
    for (int i = 0; i < 40; i++)
        x[i] = i == 7 ? 1 : (float)(-1 - i) * 1e30f;
    x[20] = -INFINITY;
    rows->softmax(&r, x, got);
    for (int i = 0; i < 40; i++)
        right &= got[i] == (i == 7 ? 255 : 0);
    return right;
}

/* Checks GELU where it bends, and where its distribution function is 0 and 1. */
static bool bends(const struct od_row_loops *rows, const struct vbs_encoding *encoding, int n)
{
    struct vbs_encoding e = *encoding;
    struct od_normal normal;
    float x[MOST];
    uint8_t got[MOST + 1];
    bool right = true;

    e.scale /= 10;
    od_normal_init(&normal);
    for (int i = 0; i < n; i++)
        x[i] = long_floats[i] * 2.5f - 7.5f; /* -10 to 10 */
    got[n] = 77;
    rows->gelu(&normal, &e, x, n, got);
    for (int i = 0; i < n; i++) {
        double value = (double)x[i] * 0.5 * erfc(-(double)x[i] / sqrt(2));

        right &= got[i] == encoded(&e, (value - 2e-6) / (double)e.scale) ||
                 got[i] == encoded(&e, (value + 2e-6) / (double)e.scale);
    }
    return right && got[n] == 77;
}

/* Checks the same in floats, in place; what is no number stays none. */
static bool bends_floats(const struct od_row_loops *rows, int n)
{
    struct od_normal normal;
    float x[MOST + 1];
    bool right = true;

    od_normal_init(&normal);
    for (int i = 0; i < n; i++)
        x[i] = i == 13 ? NAN : long_floats[i] * 2.5f - 7.5f; /* -10 to 10 */
    x[n] = 77;
    rows->gelu_floats(&normal, x, n, x);
    for (int i = 0; i < n; i++) {
        double from = (double)(long_floats[i] * 2.5f - 7.5f);

        right &=
            i == 13 ? isnan(x[i]) : fabs((double)x[i] - from * 0.5 * erfc(-from / sqrt(2))) < 2e-6;
    }
    return right && x[n] == 77;
}

static void check_rows(const struct od_row_loops *rows, const char *name)
{
    bool soft = true, normal = true, bent = true;

    for (int n = 1; n < MOST; n++) {
        check_row(rows, n, &soft, &normal);
        bent &= bends_floats(rows, n);
        for (int i = 0; i < N_ENCODINGS; i++)
            bent &= bends(rows, &encodings[i], n);
    }
    check_row(rows, LONGEST, &soft, &normal);
    check_row(rows, 1024, &soft, &normal);
    check_row(rows, 2049, &soft, &normal);
    ok(soft, "%s: softmax of rows", name);
    ok(softens_extremes(rows), "%s: softmax of infinite values, and of what is no number", name);
    ok(bent, "%s: GELU", name);
    ok(normal, "%s: rows less their mean over their deviation", name);
}

static void check(const struct od_row_loops *rows, const char *name)
{
    bool decoded = true, back = true, table = true, sum = true, product = true, sums = true,
         wide = true, lines = true, bounds = true, choices = true;

    for (int n = 0; n < MOST; n++) {
        table &= looks_up(rows, n) && looks_units_up(rows, n) && interleaves(rows, n);
        wide &= widens(rows, n);
        bounds &= limits(rows, n);
        choices &= chooses(rows, n, 1, 1) && chooses(rows, n, 1, 0) && chooses(rows, n, 0, 1) &&
                   chooses(rows, n, 0, 0);
        for (int i = 0; i < N_ENCODINGS; i++) {
            const struct vbs_encoding *e = &encodings[i], *f = &encodings[(i + n) % N_ENCODINGS];
            struct od_mixture m = {.a = e->storage,
                                   .b = f->storage,
                                   .zero_a = e->zero,
                                   .zero_b = f->zero,
                                   .factor = 0.03f,
                                   .second = -0.7f,
                                   .shift = 90,
                                   .low = vbs_storage_low(f->storage),
                                   .high = vbs_storage_high(f->storage)};

            struct od_line line = {.from = *e, .to = *f, .low = n % 2 ? f->zero : m.low};

            decoded &= decodes(rows, e, n);
            back &= encodes(rows, e, n);
            sum &= mixes(rows, &m, true, n);
            product &= mixes(rows, &m, false, n);
            lines &= draws_lines(rows, &line, n);
            sums &= sums_up(rows, e, n);
        }
    }
    ok(decoded, "%s: whole numbers become their floats", name);
    ok(back, "%s: floats become the nearest whole numbers, and what is none the lowest", name);
    ok(table, "%s: tables, and rows that are interleaved", name);
    ok(sum, "%s: sums of two rows, of a row and a value, over an operand", name);
    ok(product, "%s: products of two rows, of a row and a value, over an operand", name);
    ok(lines, "%s: factors and shifts of values", name);
    ok(sums, "%s: sums of rows, and what they are scaled to", name);
    ok(wide, "%s: bfloat16", name);
    ok(bounds, "%s: floats within bounds", name);
    ok(choices, "%s: the larger and the smaller of two floats", name);
    check_rows(rows, name);
}

int main(void)
{
    const struct od_row_loops *best = od_rows();

    for (int i = 0; i < MOST; i++) {
        bytes[0][i] = (uint8_t)vbs_random(1, (uint64_t)i);
        bytes[1][i] = (uint8_t)vbs_random(2, (uint64_t)i);
        floats[i] = ((float)(vbs_random(3, (uint64_t)i) % 20001) - 10000) / 160; /* ties too */
    }
    for (int i = 0; i < LONGEST; i++) {
        long_bytes[i] = (uint8_t)vbs_random(4, (uint64_t)i);
        long_floats[i] = (float)(vbs_random(5, (uint64_t)i) % 20001) / 2500 - 1;
        long_gamma[i] = (float)(vbs_random(6, (uint64_t)i) % 2001) / 1000 - 1;
        long_beta[i] = (float)(vbs_random(7, (uint64_t)i) % 2001) / 500 - 2;
    }
    floats[3] = NAN;
    floats[40] = INFINITY;
    floats[41] = -INFINITY;
    check(&od_rows_plain, "any processor");
#if defined(__x86_64__)
    if (best != &od_rows_plain)
        check(&od_rows_avx2, "AVX2");
    else
        skip("AVX2", "this processor has none");
    if (best == &od_rows_avx512)
        check(&od_rows_avx512, "AVX-512");
    else
        skip("AVX-512", "this processor has no permutations of bytes");
#endif
    return done_testing();
}
