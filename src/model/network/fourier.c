/*
 * The discrete Fourier transform. A length whose prime factors are small is transformed factor by
 * factor, without moves between the steps (Stockham's order: Van Loan, Computational Frameworks for
 * the Fast Fourier Transform, 1992, section 1.7). Any other one is a convolution with a chirp,
 * which transforms of a power of 2 make (Bluestein 1970).
 */
#include "model/network/fourier.h"

#include <math.h>
#include <string.h>

#define LARGEST_FACTOR 31 /* which takes as long as two transforms of a power of 2 */

static const double TURN = 6.283185307179586476925286766559;

struct complex {
    double re, im;
};

static inline struct complex times(struct complex a, struct complex b)
{
    return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static inline struct complex number(const double *x, int64_t i)
{
    return (struct complex){x[2 * i], x[2 * i + 1]};
}

static inline void put(double *x, int64_t i, struct complex value)
{
    x[2 * i] = value.re;
    x[2 * i + 1] = value.im;
}

/* ---- lengths ---- */

/* Divides n into factors, 4 before all others; returns what is left where a prime factor is too
 * large. */
static int64_t divide(int64_t n, int *factors, int *n_factors)
{
    *n_factors = 0;
    for (; n % 4 == 0; n /= 4)
        factors[(*n_factors)++] = 4;
    for (int factor = 2; factor <= LARGEST_FACTOR; factor++)
        for (; n % factor == 0; n /= factor)
            factors[(*n_factors)++] = factor;
    return n;
}

/* Returns the length of the transforms that one of n elements takes. */
static int64_t length_of(int64_t n)
{
    int factors[VBS_FOURIER_FACTORS], n_factors;
    int64_t length = 1;

    if (divide(n, factors, &n_factors) == 1)
        return n;
    while (length < 2 * n - 1)
        length *= 2;
    return length;
}

int64_t vbs_fourier_table(int64_t n)
{
    int64_t length = length_of(n);

    return length == n ? 2 * n : 2 * (n + 2 * length);
}

int64_t vbs_fourier_space(int64_t n)
{
    int64_t length = length_of(n);

    return length == n ? 2 * n : 4 * length;
}

/* ---- steps of one factor ---- */

/* A step: from x, [factor, n, stride], where factor * n * stride is the length, to y, [n, factor,
 * stride]. */
struct fourier_step {
    const double *roots, *x;
    double *y;
    int64_t n, stride, length;
};

static void step_by_2(const struct fourier_step *s)
{
    for (int64_t p = 0; p < s->n; p++) {
        struct complex root = number(s->roots, p * s->stride);
        const double *x = s->x + 2 * p * s->stride;
        double *y = s->y + 4 * p * s->stride;

        for (int64_t q = 0; q < s->stride; q++) {
            struct complex a = number(x, q), b = number(x, q + s->n * s->stride);

            put(y, q, (struct complex){a.re + b.re, a.im + b.im});
            put(y, q + s->stride, times(root, (struct complex){a.re - b.re, a.im - b.im}));
        }
    }
}

static void step_by_4(const struct fourier_step *s)
{
    int64_t apart = s->n * s->stride;

    for (int64_t p = 0; p < s->n; p++) {
        struct complex r1 = number(s->roots, p * s->stride);
        struct complex r2 = number(s->roots, 2 * p * s->stride);
        struct complex r3 = number(s->roots, 3 * p * s->stride);
        const double *x = s->x + 2 * p * s->stride;
        double *y = s->y + 8 * p * s->stride;

        for (int64_t q = 0; q < s->stride; q++) {
            struct complex a = number(x, q), b = number(x, q + apart);
            struct complex c = number(x, q + 2 * apart), d = number(x, q + 3 * apart);
            struct complex even = {a.re + c.re, a.im + c.im}, odd = {a.re - c.re, a.im - c.im};
            struct complex more = {b.re + d.re, b.im + d.im};
            struct complex turned = {b.im - d.im, d.re - b.re}; /* (b - d) times -i */

            put(y, q, (struct complex){even.re + more.re, even.im + more.im});
            put(y, q + s->stride,
                times(r1, (struct complex){odd.re + turned.re, odd.im + turned.im}));
            put(y, q + 2 * s->stride,
                times(r2, (struct complex){even.re - more.re, even.im - more.im}));
            put(y, q + 3 * s->stride,
                times(r3, (struct complex){odd.re - turned.re, odd.im - turned.im}));
        }
    }
}

/* Returns element k of the transform of `factor` values, whose roots are given. */
static struct complex small_sum(const struct complex *values, const struct complex *roots,
                                int factor, int k)
{
    struct complex sum = values[0];
    int at = 0; /* j k mod factor */

    for (int j = 1; j < factor; j++) {
        struct complex term;

        at += at + k < factor ? k : k - factor;
        term = times(values[j], roots[at]);
        sum.re += term.re;
        sum.im += term.im;
    }
    return sum;
}

static void step_by_any(const struct fourier_step *s, int factor)
{
    struct complex roots[LARGEST_FACTOR], values[LARGEST_FACTOR];
    int64_t apart = s->n * s->stride;

    for (int j = 0; j < factor; j++)
        roots[j] = number(s->roots, j * (s->length / factor));
    for (int64_t p = 0; p < s->n; p++) {
        const double *x = s->x + 2 * p * s->stride;
        double *y = s->y + 2 * p * factor * s->stride;

        for (int64_t q = 0; q < s->stride; q++) {
            for (int j = 0; j < factor; j++)
                values[j] = number(x, q + j * apart);
            for (int k = 0; k < factor; k++)
                put(y, q + k * s->stride,
                    times(small_sum(values, roots, factor, k),
                          number(s->roots, p * k * s->stride)));
        }
    }
}

/* Transforms f->length elements of x; other has space for as many. */
static void transform(const struct vbs_fourier *f, double *x, double *other)
{
    struct fourier_step s = {
        .roots = f->roots, .x = x, .y = other, .n = f->length, .stride = 1, .length = f->length};

    for (int i = 0; i < f->n_factors; i++) {
        double *made = s.y;

        s.n /= f->factors[i];
        if (f->factors[i] == 4)
            step_by_4(&s);
        else if (f->factors[i] == 2)
            step_by_2(&s);
        else
            step_by_any(&s, f->factors[i]);
        s.stride *= f->factors[i];
        s.y = made == x ? other : x;
        s.x = made;
    }
    if (s.x != x)
        memcpy(x, other, 2 * (size_t)f->length * sizeof *x);
}

/* ---- transforms ---- */

/* Exchanges the parts of n numbers: between two exchanges, a transform is an inverse one, but for
 * the factor 1 / n. */
static void exchange(int64_t n, double *x)
{
    for (int64_t k = 0; k < n; k++)
        put(x, k, (struct complex){x[2 * k + 1], x[2 * k]});
}

/* Makes the chirp and its filter in a table. */
static void init_chirp(double *table, double *space, struct vbs_fourier *f)
{
    double *chirp = table, *filter = table + 2 * f->n;

    memset(filter, 0, 2 * (size_t)f->length * sizeof *filter);
    for (int64_t k = 0; k < f->n; k++) {
        double angle = TURN / 2 * (double)(k * k % (2 * f->n)) / (double)f->n;
        double length = (double)f->length;
        struct complex turned = {cos(angle) / length, sin(angle) / length};

        put(chirp, k, (struct complex){cos(angle), -sin(angle)});
        put(filter, k, turned);
        if (k > 0)
            put(filter, f->length - k, turned);
    }
    transform(f, filter, space);
    f->chirp = chirp;
    f->filter = filter;
}

void vbs_fourier_init(int64_t n, double *table, double *space, struct vbs_fourier *f)
{
    *f = (struct vbs_fourier){.n = n, .length = length_of(n), .roots = table};
    divide(f->length, f->factors, &f->n_factors);
    for (int64_t k = 0; k < f->length; k++) {
        double angle = TURN * (double)k / (double)f->length;

        put(table, k, (struct complex){cos(angle), -sin(angle)});
    }
    if (f->length != n)
        init_chirp(table + 2 * f->length, space, f);
}

/* Transforms x as a convolution with the chirp. */
static void run_chirp(const struct vbs_fourier *f, double *x, double *space)
{
    double *wide = space, *other = space + 2 * f->length;

    memset(wide + 2 * f->n, 0, 2 * (size_t)(f->length - f->n) * sizeof *wide);
    for (int64_t k = 0; k < f->n; k++)
        put(wide, k, times(number(x, k), number(f->chirp, k)));
    transform(f, wide, other);
    for (int64_t k = 0; k < f->length; k++)
        put(wide, k, times(number(wide, k), number(f->filter, k)));
    exchange(f->length, wide);
    transform(f, wide, other);
    exchange(f->n, wide);
    for (int64_t k = 0; k < f->n; k++)
        put(x, k, times(number(wide, k), number(f->chirp, k)));
}

void vbs_fourier_run(const struct vbs_fourier *f, bool inverse, double *x, double *space)
{
    if (inverse)
        exchange(f->n, x);
    if (f->chirp)
        run_chirp(f, x, space);
    else
        transform(f, x, space);
    if (!inverse)
        return;
    exchange(f->n, x);
    for (int64_t i = 0; i < 2 * f->n; i++)
        x[i] /= (double)f->n;
}

void vbs_fourier_complete(int64_t n, double *x)
{
    x[1] = 0;
    for (int64_t k = 1; k <= n - k; k++)
        put(x, n - k, (struct complex){x[2 * k], k == n - k ? 0 : -x[2 * k + 1]});
}
