/*
 * Images as networks take them: normalisation against its formula, orders of epochs, and images
 * that are mirrored and shifted against every way in which that can be done. Everything random is
 * the same on every machine, which checksums of a few results pin down.
 */
#include "vbslab/data.h"

#include "support/bail_out.h"
#include "support/data_help.h"
#include "support/tap.h"

#include <stdlib.h>

#define N      20
#define VALUES 36 /* of an image: 3 channels of 3 x 4 */

static struct vbs_dataset *open_images(char folder[DATA_FOLDER_SIZE], int channels)
{
    struct vbs_data_options none = {sizeof none, -1};
    struct vbs_dataset *dataset = NULL;
    struct vbs_ctx ctx = {0};

    data_folder_new(folder);
    data_put_idx(folder, N, channels, false);
    if (vbs_dataset_open(&ctx, folder, VBS_SPLIT_TRAIN, &none, &dataset) != VBS_OK)
        bail_out("%s", ctx.detail);
    return dataset;
}

/* Gives FNV-1a of bytes, which does not depend on the order of bytes in a float of IEEE 754 where
 * these are handed over as numbers. */
static uint64_t checksum(uint64_t hash, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        hash = (hash ^ (word >> 8 * i & 255)) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t checksum_floats(const float *values, int n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (int i = 0; i < n; i++) {
        uint32_t word;

        memcpy(&word, &values[i], sizeof word);
        hash = checksum(hash, word);
    }
    return hash;
}

/* ---- normalisation ---- */

static void test_measure(const char *folder)
{
    struct vbs_normalise normalise;
    struct vbs_ctx ctx = {0};
    bool near = true;

    if (!ok(vbs_normalise_measure(&ctx, folder, &normalise) == VBS_OK, "mean and deviation"))
        return;
    is_int(normalise.n_channels, 3, "of three channels");
    for (int c = 0; c < 3; c++) {
        long double sum = 0, squares = 0;

        for (int i = 0; i < N; i++)
            for (int p = c * 12; p < c * 12 + 12; p++) {
                long double pixel = data_pixel(i, p) / 255.0L;

                sum += pixel;
                squares += pixel * pixel;
            }
        sum /= N * 12;
        squares = squares / (N * 12) - sum * sum;
        near = near && fabsl(normalise.mean[c] - sum) < 1e-6L &&
               fabsl(normalise.deviation[c] - sqrtl(squares)) < 1e-6L;
    }
    ok(near, "both are those of all training images, to six digits");
}

static void test_text(void)
{
    static const struct {
        const char *text;
        int n;
        double mean, deviation; /* of the last channel */
    } READ[] = {{"0.286041;0.353024", 1, 0.286041, 0.353024},
                {"0.1307,0.3081", 1, 0.1307, 0.3081},
                {"-1e-3,.5,3;1,2,4e2", 3, 3, 400},
                {"1,2;3,4", 2, 2, 4}};
    static const char *const WRONG[] = {"",      "1",     "1;",      "1,2,3", "1;0",    "1;-1",
                                        "1;nan", "inf;1", "1,2;3",   "1 ;2",  "1;2;3",  "1;2,",
                                        "a;b",   "0x1;1", "1e999;1", ";1",    "1;2 kg", ","};
    struct vbs_normalise normalise, again;
    char text[VBS_NORMALISE_SIZE];
    struct vbs_ctx ctx = {0};
    bool all = true;

    for (size_t i = 0; i < sizeof READ / sizeof *READ; i++) {
        enum vbs_status status = vbs_normalise_parse(&ctx, "file", READ[i].text, &normalise);

        ok(status == VBS_OK && normalise.n_channels == READ[i].n &&
               normalise.mean[READ[i].n - 1] == READ[i].mean &&
               normalise.deviation[READ[i].n - 1] == READ[i].deviation,
           "'%s' is read", READ[i].text);
        vbs_normalise_format(&normalise, text, sizeof text);
        all = all && vbs_normalise_parse(&ctx, "file", text, &again) == VBS_OK &&
              again.n_channels == normalise.n_channels &&
              memcmp(again.mean, normalise.mean, sizeof(double) * (size_t)READ[i].n) == 0 &&
              memcmp(again.deviation, normalise.deviation, sizeof(double) * (size_t)READ[i].n) == 0;
    }
    ok(all, "what is written reads back exactly");
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
        ok(vbs_normalise_parse(&ctx, "file", WRONG[i], &normalise) == VBS_FORMAT &&
               strncmp(ctx.detail, "file: ", 6) == 0,
           "'%s' is refused", WRONG[i]);
    normalise.n_channels = VBS_DATA_MAX_CHANNELS;
    for (int c = 0; c < VBS_DATA_MAX_CHANNELS; c++)
        normalise.mean[c] = normalise.deviation[c] = 1.0 / 3 * 1e-300;
    vbs_normalise_format(&normalise, text, sizeof text);
    ok(strlen(text) < sizeof text - 1 &&
           vbs_normalise_parse(&ctx, "file", text, &again) == VBS_OK &&
           again.n_channels == VBS_DATA_MAX_CHANNELS,
       "the text of the most channels fits");
}

static void test_values(const struct vbs_dataset *dataset)
{
    const struct vbs_normalise normalise = {3, {0.25, 0.5, -1}, {0.125, 0.3, 7}};
    static const int INDICES[] = {7, 7, 0, 19};
    float images[4 * VALUES], plain[N * VALUES];
    bool same = true;

    vbs_dataset_images(dataset, INDICES, 4, &normalise, NULL, images);
    vbs_dataset_images(dataset, NULL, N, NULL, NULL, plain);
    for (int i = 0; i < 4; i++)
        for (int p = 0; p < VALUES; p++) {
            double pixel = data_pixel(INDICES[i], p) / 255.0;

            same = same && plain[INDICES[i] * VALUES + p] == (float)pixel &&
                   images[i * VALUES + p] ==
                       (float)((pixel - normalise.mean[p / 12]) / normalise.deviation[p / 12]);
        }
    ok(same, "values are (pixel - mean) / deviation, of the channel and the image that is named");
}

/* ---- orders ---- */

static bool is_permutation(const int *order, int n)
{
    char *seen = calloc((size_t)n + 1, 1);
    bool all = seen != NULL;

    for (int i = 0; i < n && all; i++)
        all = order[i] >= 0 && order[i] < n && !seen[order[i]]++;
    free(seen);
    return all;
}

static void test_orders(void)
{
    enum { MANY = 1000, EPOCHS = 600 };
    static int order[MANY], other[MANY];
    int counts[6] = {0}, n_fixed = 0;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    bool fair = true;

    vbs_data_order(0, 1, 1, order);
    vbs_data_order(MANY, 5, 3, order);
    vbs_data_order(MANY, 5, 3, other);
    ok(is_permutation(order, MANY) && memcmp(order, other, sizeof order) == 0,
       "an order is a permutation, the same each time");
    for (int i = 0; i < MANY; i++)
        hash = checksum(hash, (uint32_t)order[i]);
    ok(hash == UINT64_C(0x209cd3276fa076f5), "and on every machine");
    if (hash != UINT64_C(0x209cd3276fa076f5))
        printf("# %016" PRIx64 "\n", hash);
    for (int k = 0; k < 3; k++) {
        vbs_data_order(MANY, k == 0 ? 6 : 5, k == 1 ? 4 : k == 2 ? -3 : 3, other);
        n_fixed = 0;
        for (int i = 0; i < MANY; i++)
            n_fixed += order[i] == other[i];
        ok(is_permutation(other, MANY) && n_fixed < 10, "another seed or epoch, another order");
    }
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        vbs_data_order(3, 1, epoch, order);
        counts[order[0] * 2 + (order[1] > order[2])]++;
    }
    for (int k = 0; k < 6; k++) /* four deviations of a binomial distribution */
        fair = fair && abs(counts[k] - EPOCHS / 6) < 4 * 9.2;
    ok(fair, "all orders of three are about equally frequent");
}

/* ---- variation ---- */

/* Gives whether `image` is image index of the data set, mirrored or not, down and right. */
static bool is_changed(const float *image, const float *original, bool mirrored, int down,
                       int right)
{
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 4; x++) {
                int from_y = y - down, from_x = x - right;
                float want = 0;

                if (from_y >= 0 && from_y < 3 && from_x >= 0 && from_x < 4)
                    want = original[c * 12 + from_y * 4 + (mirrored ? 3 - from_x : from_x)];
                if (image[c * 12 + y * 4 + x] != want)
                    return false;
            }
    return true;
}

/* Finds out how an image was changed, as a number below 2 * 25; -1: in no possible way. */
static int change_of(const float *image, const float *original)
{
    for (int k = 0; k < 50; k++)
        if (is_changed(image, original, k / 25, k % 25 / 5 - 2, k % 5 - 2))
            return k;
    return -1;
}

static void test_variation(const struct vbs_dataset *dataset)
{
    enum { EPOCHS = 250 };
    struct vbs_variation variation = {.seed = 9, .mirror = true, .max_shift = 2}, nothing = {0};
    float plain[N * VALUES], images[N * VALUES], one[VALUES];
    int counts[50] = {0}, n_unknown = 0, least, most;
    static const int INDEX = 13;
    uint64_t hash;

    vbs_dataset_images(dataset, NULL, N, NULL, NULL, plain);
    vbs_dataset_images(dataset, NULL, N, NULL, &nothing, images);
    ok(memcmp(plain, images, sizeof plain) == 0, "a variation of nothing changes nothing");
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        variation.epoch = epoch;
        vbs_dataset_images(dataset, NULL, N, NULL, &variation, images);
        for (int i = 0; i < N; i++) {
            int k = change_of(images + i * VALUES, plain + i * VALUES);

            n_unknown += k < 0;
            counts[k < 0 ? 0 : k]++;
        }
    }
    least = most = counts[0];
    for (int k = 1; k < 50; k++) {
        least = counts[k] < least ? counts[k] : least;
        most = counts[k] > most ? counts[k] : most;
    }
    ok(n_unknown == 0, "images are mirrored, then shifted by up to two pixels");
    /* 5000 images in 50 ways: 100 of each, with a deviation of 9.9. */
    ok(least > 60 && most < 140, "each way is about equally frequent (%d to %d of 100)", least,
       most);
    vbs_dataset_images(dataset, &INDEX, 1, NULL, &variation, one);
    ok(memcmp(one, images + INDEX * VALUES, sizeof one) == 0,
       "an image is changed in the same way alone and among others");
    hash = checksum_floats(images, N * VALUES);
    ok(hash == UINT64_C(0xb394f1596fd80738), "and on every machine");
    if (hash != UINT64_C(0xb394f1596fd80738))
        printf("# %016" PRIx64 "\n", hash);
    variation.seed++;
    vbs_dataset_images(dataset, NULL, N, NULL, &variation, plain);
    ok(memcmp(plain, images, sizeof plain) != 0, "another seed changes in other ways");
}

/* What comes in from outside is a pixel of 0 before normalisation; far shifts leave nothing else.
 */
static void test_empty(const struct vbs_dataset *dataset)
{
    const struct vbs_normalise normalise = {3, {0.5, 1, 2}, {0.25, 0.25, 0.25}};
    struct vbs_variation variation = {.max_shift = 1000000};
    float images[N * VALUES];
    bool empty = true;
    int n = 0;

    vbs_dataset_images(dataset, NULL, N, &normalise, &variation, images);
    for (int i = 0; i < N; i++)
        for (int p = 0; p < VALUES; p++)
            empty = empty && images[i * VALUES + p] == (float[]){-2, -4, -8}[p / 12] && ++n;
    ok(empty && n == N * VALUES, "pixels from outside are 0 before they are normalised");
}

int main(void)
{
    char folder[DATA_FOLDER_SIZE];
    struct vbs_dataset *dataset = open_images(folder, 3);

    test_measure(folder);
    test_text();
    test_values(dataset);
    test_orders();
    test_variation(dataset);
    test_empty(dataset);
    vbs_dataset_free(dataset);
    data_folder_remove(folder);
    return done_testing();
}
