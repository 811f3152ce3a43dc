/* Images as a network takes them: normalised, mirrored, shifted; and the order of an epoch. */
#include "data/dataset.h"

#include "base/random.h"

#include <string.h>

/* Keys of sequences of random numbers, so that one seed serves both. */
#define KEY_ORDER     UINT64_C(0x6f72646572)     /* "order" */
#define KEY_VARIATION UINT64_C(0x76617269617465) /* "variate" */

/* Gives a number within 0..limit - 1 from a random one. limit: 1..INT32_MAX. */
static int below(uint64_t random, int limit)
{
    return (int)((random >> 32) * (uint64_t)limit >> 32);
}

void vbs_data_order(int n, uint64_t seed, int64_t epoch, int *order)
{
    uint64_t key = vbs_random(vbs_random(seed, KEY_ORDER), (uint64_t)epoch);

    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = below(vbs_random(key, (uint64_t)i), i + 1), other = order[i];

        order[i] = order[j];
        order[j] = other;
    }
}

/* What happens to one image. */
struct image_change {
    bool mirrored;
    int down, right; /* pixels by which it moves */
};

static struct image_change change_of(const struct vbs_variation *variation, int index)
{
    struct image_change change = {.mirrored = false};
    uint64_t key;
    int n_shifts;

    if (!variation)
        return change;
    n_shifts = 2 * variation->max_shift + 1;
    key = vbs_random(vbs_random(variation->seed, KEY_VARIATION), (uint64_t)variation->epoch);
    key = vbs_random(key, (uint64_t)index);
    change.mirrored = variation->mirror && vbs_random(key, 0) >> 63;
    change.down = below(vbs_random(key, 1), n_shifts) - variation->max_shift;
    change.right = below(vbs_random(key, 2), n_shifts) - variation->max_shift;
    return change;
}

/* The numbers that the bytes of a channel become. */
struct pixel_tables {
    float of[VBS_DATA_MAX_CHANNELS][256];
};

/* How images are written. */
struct writer {
    const struct vbs_dataset *dataset;
    const struct vbs_normalise *normalise; /* null: pixels as they are */
    struct pixel_tables tables;            /* of bytes */
};

/* Gives the number that a pixel becomes. */
static float normalised(const struct vbs_normalise *normalise, int channel, double pixel)
{
    return normalise ? (float)((pixel - normalise->mean[channel]) / normalise->deviation[channel])
                     : (float)pixel;
}

static void fill_tables(struct writer *writer)
{
    for (int c = 0; c < writer->dataset->info.channels; c++)
        for (int k = 0; k < 256; k++)
            writer->tables.of[c][k] = normalised(writer->normalise, c, k / 255.0);
}

/* Writes n pixels of a channel that begin at pixel `first` of the data set and go on forward, or
 * backward where the image is mirrored. */
static void write_pixels(const struct writer *writer, int channel, size_t first, int n,
                         bool mirrored, float *to)
{
    const unsigned char *bytes = writer->dataset->pixels;

    if (!writer->dataset->info.is_float) {
        const float *table = writer->tables.of[channel];

        for (int x = 0; x < n; x++)
            to[x] = table[mirrored ? bytes[first - (size_t)x] : bytes[first + (size_t)x]];
        return;
    }
    for (int x = 0; x < n; x++) {
        float pixel;

        memcpy(&pixel, bytes + (mirrored ? first - (size_t)x : first + (size_t)x) * sizeof pixel,
               sizeof pixel);
        to[x] = normalised(writer->normalise, channel, pixel);
    }
}

static void fill(float value, int n, float *to)
{
    for (int x = 0; x < n; x++)
        to[x] = value;
}

/* Writes a row of an image that is moved to the right; row is the number of its first pixel. */
static void write_row(const struct writer *writer, int channel, size_t row,
                      struct image_change change, float empty, float *to)
{
    int width = writer->dataset->info.width;
    int before = change.right > 0 ? change.right : 0; /* empty pixels on the left */
    int behind = change.right < 0 ? -change.right : 0;
    int n;

    before = before < width ? before : width;
    behind = behind < width ? behind : width;
    n = width - before - behind;
    fill(empty, before, to);
    if (n > 0)
        write_pixels(writer, channel, row + (size_t)(change.mirrored ? width - 1 - behind : behind),
                     n, change.mirrored, to + before);
    fill(empty, behind, to + width - behind);
}

static void write_image(const struct writer *writer, int index, struct image_change change,
                        float *to)
{
    const struct vbs_data_info *info = &writer->dataset->info;
    size_t plane = (size_t)info->height * (size_t)info->width;

    for (int c = 0; c < info->channels; c++) {
        size_t first = ((size_t)index * (size_t)info->channels + (size_t)c) * plane;
        float empty = normalised(writer->normalise, c, 0);

        for (int y = 0; y < info->height; y++, to += info->width) {
            int64_t from = (int64_t)y - change.down;

            if (from < 0 || from >= info->height)
                fill(empty, info->width, to);
            else
                write_row(writer, c, first + (size_t)from * (size_t)info->width, change, empty, to);
        }
    }
}

void vbs_dataset_images(const struct vbs_dataset *dataset, const int *indices, int n,
                        const struct vbs_normalise *normalise,
                        const struct vbs_variation *variation, float *images)
{
    const struct vbs_data_info *info = &dataset->info;
    size_t values = (size_t)info->channels * (size_t)info->height * (size_t)info->width;
    struct writer writer = {.dataset = dataset, .normalise = normalise};

    if (!info->is_float)
        fill_tables(&writer);
    for (int i = 0; i < n; i++) {
        int index = indices ? indices[i] : i;

        write_image(&writer, index, change_of(variation, index), images + (size_t)i * values);
    }
}
