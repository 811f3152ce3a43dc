#include "vbslab/data.h"

#include "base/fail.h"
#include "base/text.h"
#include "data/reader.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers as text ---- */

/* Appends the numbers of all channels behind *used bytes, with commas between them; what does not
 * fit is cut. */
static void add_numbers(int n, const double *numbers, char *buffer, size_t size, size_t *used)
{
    for (int c = 0; c < n && *used < size; c++) {
        char number[VBS_DOUBLE_SIZE];

        *used += (size_t)snprintf(buffer + *used, size - *used, "%s%s", c > 0 ? "," : "",
                                  vbs_format_double(numbers[c], number));
    }
}

char *vbs_normalise_format(const struct vbs_normalise *normalise, char *buffer, size_t size)
{
    size_t used = 0;

    add_numbers(normalise->n_channels, normalise->mean, buffer, size, &used);
    if (used < size)
        used += (size_t)snprintf(buffer + used, size - used, ";");
    add_numbers(normalise->n_channels, normalise->deviation, buffer, size, &used);
    return buffer;
}

/* Reads numbers with commas between them from *at on; gives how many there are, 0 where they are
 * malformed or more than limit. */
static int read_numbers(const char **at, int limit, locale_t c, double *numbers)
{
    const char *text = *at;

    for (int n = 0; n < limit; n++) {
        char *end;

        numbers[n] = strtod_l(text, &end, c);
        /* strtod takes hexadecimal numbers, names of infinities and leading blanks, too. */
        if (end == text || end != text + strspn(text, "+-.0123456789eE") || !isfinite(numbers[n]))
            return 0;
        *at = end;
        if (*end != ',')
            return n + 1;
        text = end + 1;
    }
    return 0;
}

static bool read_text(const char *text, locale_t c, struct vbs_normalise *made)
{
    int n_deviations = 0;

    made->n_channels = read_numbers(&text, VBS_DATA_MAX_CHANNELS, c, made->mean);
    if (*text == ';') {
        text++;
        n_deviations = read_numbers(&text, VBS_DATA_MAX_CHANNELS, c, made->deviation);
    } else if (made->n_channels == 2) {
        made->deviation[0] = made->mean[1];
        made->mean[1] = 0;
        made->n_channels = n_deviations = 1;
    }
    return *text == '\0' && made->n_channels > 0 && n_deviations == made->n_channels;
}

enum vbs_status vbs_normalise_parse(struct vbs_ctx *ctx, const char *what, const char *text,
                                    struct vbs_normalise *normalise)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    struct vbs_normalise made = {.n_channels = 0};
    bool is_sound;

    if (!c)
        return vbs_no_memory(ctx);
    is_sound = read_text(text, c, &made);
    freelocale(c);
    if (!is_sound)
        return vbs_fail(ctx, VBS_FORMAT,
                        "%s: '%.100s' is not MEAN,DEVIATION, nor the means of all "
                        "channels, a semicolon and as many deviations",
                        what, text);
    for (int k = 0; k < made.n_channels; k++)
        if (!(made.deviation[k] > 0))
            return vbs_fail(ctx, VBS_FORMAT, "%s: '%.100s': a deviation is above 0", what, text);
    *normalise = made;
    return VBS_OK;
}

/* ---- means and deviations of images ---- */

/* The pixels of the images so far. */
struct adder {
    struct vbs_images_head head;
    double n;                                   /* pixels of a channel */
    int64_t counts[VBS_DATA_MAX_CHANNELS][256]; /* of each byte */
    double mean[VBS_DATA_MAX_CHANNELS];         /* of floats, as Welford adds them */
    double squares[VBS_DATA_MAX_CHANNELS];      /* of their distances from the mean */
};

static enum vbs_status begin(struct vbs_ctx *ctx, void *self, const struct vbs_images_head *head,
                             const struct vbs_data_labels *labels)
{
    (void)ctx;
    (void)labels;
    ((struct adder *)self)->head = *head;
    return VBS_OK;
}

static void add_floats(struct adder *adder, int channel, const unsigned char *pixels, size_t n)
{
    double mean = adder->mean[channel], squares = adder->squares[channel];

    for (size_t p = 0; p < n; p++) {
        double distance;
        float pixel;

        memcpy(&pixel, pixels + p * sizeof pixel, sizeof pixel);
        distance = pixel - mean;
        mean += distance / (adder->n + (double)p + 1);
        squares += distance * (pixel - mean);
    }
    adder->mean[channel] = mean;
    adder->squares[channel] = squares;
}

static enum vbs_status take(struct vbs_ctx *ctx, void *self, int i, const void *pixels)
{
    struct adder *adder = self;
    size_t n = (size_t)adder->head.height * (size_t)adder->head.width;
    const unsigned char *at = pixels;

    (void)ctx;
    (void)i;
    for (int c = 0; c < adder->head.channels; c++) {
        if (adder->head.is_float)
            add_floats(adder, c, at, n);
        else
            for (size_t p = 0; p < n; p++)
                adder->counts[c][at[p]]++;
        at += n * (adder->head.is_float ? sizeof(float) : 1);
    }
    adder->n += (double)n;
    return VBS_OK;
}

/* Gives the number with six significant digits that is the nearest to value. */
static double rounded(double value)
{
    char text[32];

    /* The locale may have another point, but the same one in both directions. */
    snprintf(text, sizeof text, "%.6g", value);
    return strtod(text, NULL);
}

/* Gives mean and variance of a channel of bytes. */
static void sum_bytes(const struct adder *adder, int channel, double *mean, double *variance)
{
    double sum = 0, squares = 0;

    for (int k = 0; k < 256; k++)
        sum += (double)adder->counts[channel][k] * k;
    *mean = sum / adder->n / 255;
    for (int k = 0; k < 256; k++) {
        double distance = k / 255.0 - *mean;

        squares += (double)adder->counts[channel][k] * (distance * distance);
    }
    *variance = squares / adder->n;
}

static void end(const struct adder *adder, struct vbs_normalise *normalise)
{
    normalise->n_channels = adder->head.channels;
    for (int c = 0; c < adder->head.channels; c++) {
        double mean = adder->mean[c], variance = adder->squares[c] / adder->n;

        if (!adder->head.is_float)
            sum_bytes(adder, c, &mean, &variance);
        normalise->mean[c] = rounded(mean);
        normalise->deviation[c] = rounded(sqrt(variance > 0 ? variance : 0));
        if (!(normalise->deviation[c] > 0))
            normalise->deviation[c] = 1;
    }
}

enum vbs_status vbs_normalise_measure(struct vbs_ctx *ctx, const char *folder,
                                      struct vbs_normalise *normalise)
{
    const struct vbs_data_format *format;
    struct adder *adder;
    struct vbs_image_receiver receiver = {.begin = begin, .take = take};
    enum vbs_status status;

    VBS_TRY(vbs_data_format_find(ctx, folder, false, &format));
    adder = calloc(1, sizeof *adder);
    if (!adder)
        return vbs_no_memory(ctx);
    receiver.self = adder;
    status = format->read(ctx, format, folder, false, &receiver);
    if (status == VBS_OK)
        end(adder, normalise);
    free(adder);
    return status;
}
