/* Ranges of values from their histograms, and scales from ranges. */
#include "quantize/internal.h"

#include <float.h>
#include <math.h>

#define BINS         VBS_QUANTIZE_BINS
#define MOST_CLIPPED 0.05 /* of the values, by entropy */

static const char *const METHOD_WORDS[] = {
#define WORD(name, word) word,
    VBS_QUANTIZE_METHOD_LIST(WORD)
#undef WORD
};

const char *vbs_quantize_method_word(enum vbs_quantize_method method)
{
    return method < VBS_N_QUANTIZE_METHODS ? METHOD_WORDS[method] : "";
}

/* ---- scales ---- */

struct vbs_int8_value vbs_quantize_value(double low, double high, bool is_signed, bool symmetric)
{
    int least = is_signed ? -128 : 0;
    struct vbs_int8_value value = {1, symmetric ? least + 128 : 0};
    double range, steps = symmetric ? 127 : 255, zero;
    float scale;

    low = fmin(low, 0);
    high = fmax(high, 0);
    range = symmetric ? fmax(-low, high) : high - low;
    scale = (float)(range / steps);
    if (!(scale >= FLT_MIN))
        return value;
    /* not above what was seen: a clip to exactly this range changes nothing then */
    if ((double)scale * steps > range)
        scale = nextafterf(scale, 0);
    value.scale = scale;
    zero = nearbyint(least - low / (double)scale);
    if (!symmetric)
        value.zero = (int)fmin(fmax(zero, least), least + 255);
    return value;
}

/* ---- percentiles ---- */

/* Gives the position in bins below which a share of the total lies. */
static double position_of(const double *counts, double amount)
{
    double sum = 0;

    for (int i = 0; i < BINS; i++) {
        if (counts[i] > 0 && sum + counts[i] > amount)
            return i + (amount - sum) / counts[i];
        sum += counts[i];
    }
    return BINS;
}

static void percentile_range(const struct quantize_seen *seen, double percentile, double *low,
                             double *high)
{
    double width = (seen->high - seen->low) / BINS, cut = (1 - percentile / 100) / 2 * seen->total;

    *low = seen->low + width * position_of(seen->counts, cut);
    *high = seen->low + width * position_of(seen->counts, seen->total - cut);
}

/* ---- entropy ---- */

/* A candidate: the first n bins are not clipped. */
struct candidate {
    const double *counts;
    int n;
    double step;   /* of rounded values, in bins */
    double total;  /* of all counts */
    double inside; /* of those that are not clipped */
};

/* Gives the sum over bins first..last-1, which are rounded to one number, of p log(p / q): q
 * spreads what they have over those of them that have something, p has what is clipped in the last
 * bin. */
static double divergence_of_number(const struct candidate *c, int first, int last)
{
    double sum = 0, divergence = 0;
    int n_filled = 0;

    for (int i = first; i < last; i++) {
        sum += c->counts[i];
        n_filled += c->counts[i] > 0;
    }
    for (int i = first; i < last; i++) {
        double p = c->counts[i] + (i == c->n - 1 ? c->total - c->inside : 0);
        double q = c->counts[i] > 0 ? sum / n_filled : 0;

        if (p > 0 && q == 0)
            return INFINITY;
        if (p > 0)
            divergence += p / c->total * log(p / c->total / (q / c->inside));
    }
    return divergence;
}

static double divergence_of(const struct candidate *c)
{
    double divergence = 0;
    int first = 0;

    while (first < c->n) {
        double number = nearbyint((first + 0.5) / c->step);
        int last = first + 1;

        while (last < c->n && nearbyint((last + 0.5) / c->step) == number)
            last++;
        divergence += divergence_of_number(c, first, last);
        first = last;
    }
    return divergence;
}

int vbs_quantize_entropy(const double *counts, int n_bins, double low, double high, bool symmetric)
{
    struct candidate c = {.counts = counts};
    double least = INFINITY;
    int best = n_bins;

    for (int i = 0; i < n_bins; i++)
        c.total += counts[i];
    for (int n = 1; n <= n_bins; n++) {
        double span = fmin(n, high) - fmax(-n, low), divergence;

        c.n = n;
        c.inside += counts[n - 1];
        c.step = symmetric ? n / 127.0 : span / 255;
        /* Steps below a bin say nothing of what rounding loses; and few values look alike wherever
         * they are cut: a single bin that is filled is equal to itself. */
        if (n < n_bins && (c.step < 1 || c.inside < c.total * (1 - MOST_CLIPPED)))
            continue;
        divergence = divergence_of(&c);
        if (divergence <= least + 1e-12) {
            least = divergence;
            best = n;
        }
    }
    return best;
}

static void entropy_range(const struct quantize_seen *seen, bool symmetric, double *low,
                          double *high)
{
    double width = fmax(-seen->low, seen->high) / BINS, threshold;

    if (seen->total == 0)
        return;
    threshold = width * vbs_quantize_entropy(seen->counts, BINS, fmin(seen->low / width, 0),
                                             fmax(seen->high / width, 0), symmetric);
    *low = fmax(seen->low, -threshold);
    *high = fmin(seen->high, threshold);
}

/* ---- all ---- */

void vbs_quantize_range(const struct quantize_seen *seen,
                        const struct vbs_quantize_options *options, double *low, double *high)
{
    *low = seen->low;
    *high = seen->high;
    if (!seen->counts || seen->low == seen->high)
        return;
    if (options->method == VBS_QUANTIZE_PERCENTILE)
        percentile_range(seen, options->percentile, low, high);
    else if (options->method == VBS_QUANTIZE_ENTROPY)
        entropy_range(seen, options->symmetric, low, high);
}

double vbs_quantize_outside(const struct quantize_seen *seen, enum vbs_quantize_method method,
                            double low, double high)
{
    bool absolute = method == VBS_QUANTIZE_ENTROPY;
    double begin = absolute ? 0 : seen->low;
    double end = absolute ? fmax(-seen->low, seen->high) : seen->high;
    double outside = 0;

    for (int i = 0; seen->counts && seen->total > 0 && i < BINS; i++) {
        double middle = begin + (end - begin) * (i + 0.5) / BINS;

        if (absolute ? middle > fmax(-low, high) : middle < low || middle > high)
            outside += seen->counts[i];
    }
    return outside > 0 ? outside / seen->total : 0;
}
