/*
 * Folders of labelled images: each format gives the pixels and labels that were written, in all
 * splits; whatever is wrong with a folder or a file is refused with one line that names it.
 */
#include "vbslab/data.h"

#include "support/bail_out.h"
#include "support/data_help.h"
#include "support/tap.h"

#include <stdlib.h>
#include <sys/stat.h>

#define N 20 /* training images; half as many test images */

/* Gives pixel p of image i of a data set as a number from 0 to 255. */
static int pixel_of(const struct vbs_dataset *dataset, int i, int p)
{
    const struct vbs_data_info *info = vbs_dataset_info(dataset);
    float *image = malloc((size_t)(info->channels * info->height * info->width) * sizeof *image);
    int pixel;

    vbs_dataset_images(dataset, &i, 1, NULL, NULL, image);
    pixel = (int)lrintf(image[p] * 255);
    free(image);
    return pixel;
}

/* Gives the number in the files of the image of a data set that begins with these pixels. */
static int number_of(const struct vbs_dataset *dataset, int i, int first, int n)
{
    int count = vbs_dataset_info(dataset)->height * vbs_dataset_info(dataset)->width *
                vbs_dataset_info(dataset)->channels;

    for (int k = first; k < first + n; k++) {
        int p = 0;

        while (p < count && pixel_of(dataset, i, p) == data_pixel(k, p))
            p++;
        if (p == count)
            return k;
    }
    return -1;
}

static struct vbs_dataset *open_part(const char *folder, enum vbs_split split)
{
    struct vbs_ctx ctx = {0};
    struct vbs_dataset *dataset = NULL;

    if (vbs_dataset_open(&ctx, folder, split, NULL, &dataset) != VBS_OK)
        printf("# %s\n", ctx.detail);
    return dataset;
}

/* Checks that a folder has the data set of data_help.h. */
static void holds(const char *name, const char *folder, const char *format, int channels)
{
    struct vbs_dataset *parts[VBS_N_SPLITS];
    bool all = true, ordered = true, labelled = true;
    int seen[N] = {0}, n_seen = 0;

    for (int s = 0; s < VBS_N_SPLITS; s++)
        parts[s] = open_part(folder, (enum vbs_split)s);
    if (!ok(parts[0] && parts[1] && parts[2], "%s: is read", name))
        return;
    for (int s = 0; s < VBS_N_SPLITS; s++) {
        const struct vbs_data_info *info = vbs_dataset_info(parts[s]);
        int last = -1, n = s == VBS_SPLIT_TEST ? N / 2 : N;

        all = all && info->channels == channels && info->height == 3 && info->width == 4 &&
              info->n_classes == 4 && strcmp(info->format, format) == 0 && (int)info->split == s &&
              info->largest_label == 3;
        for (int i = 0; i < info->n_images; i++) {
            int k = number_of(parts[s], i, s == VBS_SPLIT_TEST ? 1000 : 0, n) % 1000;

            ordered = ordered && k > last;
            last = k;
            labelled = labelled && k >= 0 && vbs_dataset_label(parts[s], i) == data_label(k, n);
            if (s != VBS_SPLIT_TEST && k >= 0 && !seen[k]++)
                n_seen++;
        }
    }
    ok(all, "%s: shape, classes, format", name);
    ok(ordered && labelled, "%s: images have their labels, in the order of the files", name);
    ok(n_seen == N && vbs_dataset_info(parts[VBS_SPLIT_VALIDATION])->n_images == N / 10 &&
           vbs_dataset_info(parts[VBS_SPLIT_TRAIN])->n_images == N - N / 10 &&
           vbs_dataset_info(parts[VBS_SPLIT_TEST])->n_images == N / 2,
       "%s: each training image is in one part, a tenth is set aside", name);
    for (int s = 0; s < VBS_N_SPLITS; s++)
        vbs_dataset_free(parts[s]);
}

/* ---- .npy ---- */

/* Writes an array with values of size bytes each. */
static void put_npy(const char *folder, const char *name, const char *type, const char *shape,
                    const void *values, size_t n_bytes)
{
    char header[128];
    unsigned char *file = malloc(10 + sizeof header + n_bytes);
    int length =
        snprintf(header, sizeof header,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", type, shape);

    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (unsigned char)length;
    file[9] = 0;
    memcpy(file + 10, header, (size_t)length);
    memcpy(file + 10 + length, values, n_bytes);
    data_put(folder, name, file, 10 + (size_t)length + n_bytes);
    free(file);
}

/* Writes both parts, of 2 x 3 x 4 pixels: bytes by channel, or big-endian floats by pixel. */
static void put_npy_set(const char *folder, bool floats)
{
    for (int test = 0; test < 2; test++) {
        const char *part = test ? "test" : "train";
        int n = test ? N / 2 : N, first = test ? 1000 : 0;
        unsigned char bytes[N * 24];
        uint32_t words[N * 24];
        unsigned char labels[N * 8] = {0};
        char name[40], shape[40];

        for (int i = 0; i < n; i++) {
            for (int p = 0; p < 24; p++) {
                float pixel = (float)data_pixel(first + i, p) / 255;
                uint32_t word;

                memcpy(&word, &pixel, sizeof word);
                bytes[i * 24 + p] = data_pixel(first + i, p);
                words[i * 24 + p % 12 * 2 + p / 12] = __builtin_bswap32(word);
            }
            labels[8 * i] = (unsigned char)data_label(i, n); /* little-endian, 64 bits */
        }
        snprintf(name, sizeof name, "%s-images%s.npy", part, floats ? "-nhwc" : "");
        snprintf(shape, sizeof shape, floats ? "%d, 3, 4, 2" : "%d, 2, 3, 4", n);
        if (floats)
            put_npy(folder, name, ">f4", shape, words, (size_t)n * 96);
        else
            put_npy(folder, name, "|u1", shape, bytes, (size_t)n * 24);
        snprintf(name, sizeof name, "%s-labels.npy", part);
        snprintf(shape, sizeof shape, "%d,", n);
        put_npy(folder, name, "<i8", shape, labels, (size_t)n * 8);
    }
}

/* ---- CIFAR-10 ---- */

#define RECORD 3073

/* Writes six files of n records each; image i of file k has pixels k * 16 + i and label i. */
static void put_cifar(const char *folder, int n)
{
    for (int k = 0; k < 6; k++) {
        unsigned char *records = malloc((size_t)(n * RECORD));
        char name[32];

        for (int i = 0; i < n; i++) {
            memset(records + i * RECORD, k * 16 + i, RECORD);
            records[i * RECORD] = (unsigned char)i;
            records[i * RECORD + RECORD - 1] = 255; /* the last pixel of the last channel */
        }
        snprintf(name, sizeof name, k < 5 ? "data_batch_%d.bin" : "test_batch.bin", k + 1);
        data_put(folder, name, records, (size_t)(n * RECORD));
        free(records);
    }
}

static void test_cifar(void)
{
    static const char CLASSES[] =
        "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n";
    struct vbs_data_options none = {sizeof none, -1};
    struct vbs_dataset *dataset = NULL;
    struct vbs_ctx ctx = {0};
    char folder[DATA_FOLDER_SIZE];

    data_folder_new(folder);
    put_cifar(folder, 4);
    data_put(folder, "batches.meta.txt", CLASSES, sizeof CLASSES - 1);
    ok(vbs_dataset_open(&ctx, folder, VBS_SPLIT_TRAIN, &none, &dataset) == VBS_OK,
       "CIFAR-10's files are read");
    if (dataset) {
        const struct vbs_data_info *info = vbs_dataset_info(dataset);

        ok(info->n_images == 20 && info->channels == 3 && info->height == 32 && info->width == 32 &&
               info->n_classes == 10 && info->largest_label == 3,
           "20 images of 3x32x32 in 10 classes, though no label is above 3");
        ok(vbs_dataset_label(dataset, 18) == 2 && pixel_of(dataset, 18, 0) == 4 * 16 + 2 &&
               pixel_of(dataset, 18, 3071) == 255 && pixel_of(dataset, 18, 1023) == 4 * 16 + 2,
           "image 18 is the third of the fifth file, a plane after the other");
        is_str(vbs_dataset_class(dataset, 9), "truck", "the last class");
        is_str(vbs_dataset_class(dataset, 0), "airplane", "the first class");
    }
    vbs_dataset_free(dataset);
    data_folder_remove(folder);
}

/* ---- refusals ---- */

/* Damages a folder with the IDX files of one channel. */
struct damage {
    const char *name;
    void (*run)(const char *folder);
    const char *says; /* a part of the message */
};

static void put_images(const char *folder, const char *bytes, size_t n)
{
    data_put(folder, "train-images-idx3-ubyte", bytes, n);
}

static void cut_images(const char *folder)
{
    data_cut(folder, "train-images-idx3-ubyte", 16 + N * 12 - 1);
}
static void lengthen_images(const char *folder)
{
    data_cut(folder, "train-images-idx3-ubyte", 16 + N * 12 + 1);
}
static void cut_head(const char *folder)
{
    data_cut(folder, "train-images-idx3-ubyte", 9);
}
static void empty_images(const char *folder)
{
    data_cut(folder, "train-images-idx3-ubyte", 0);
}
static void wrong_magic(const char *folder)
{
    put_images(folder, "\0\0\x0d\3\0\0\0\1\0\0\0\1\0\0\0\1ABCD", 20);
}
static void no_images(const char *folder)
{
    put_images(folder, "\0\0\x08\3\0\0\0\0\0\0\0\3\0\0\0\4", 16);
}
static void no_width(const char *folder)
{
    put_images(folder, "\0\0\x08\3\0\0\0\1\0\0\0\3\0\0\0\0", 16);
}
static void huge_image(const char *folder)
{
    put_images(folder, "\0\0\x08\3\0\0\0\1\x7f\xff\xff\xff\x7f\xff\xff\xff", 16);
}
static void huge_count(const char *folder)
{
    put_images(folder, "\0\0\x08\3\xff\xff\xff\xff\0\0\0\3\0\0\0\4", 16);
}
static void other_count(const char *folder)
{
    data_put(folder, "train-labels-idx1-ubyte", "\0\0\x08\1\0\0\0\3\0\1\2", 11);
}
static void cut_labels(const char *folder)
{
    data_cut(folder, "train-labels-idx1-ubyte", 8 + N - 1);
}
static void no_labels(const char *folder)
{
    data_remove(folder, "train-labels-idx1-ubyte");
}
static void few_classes(const char *folder)
{
    data_put(folder, "classes.txt", "a\nb\nc\n", 6);
}
static void empty_class(const char *folder)
{
    data_put(folder, "classes.txt", "a\n \nc\nd\n", 8);
}
static void no_classes(const char *folder)
{
    data_put(folder, "classes.txt", "\n\n", 2);
}
static void binary_classes(const char *folder)
{
    data_put(folder, "classes.txt", "a\nb\xff\nc\nd\n", 9);
}
static void two_formats(const char *folder)
{
    data_put(folder, "data_batch_1.bin", "", 0);
}
static void no_training(const char *folder)
{
    data_remove(folder, "train-images-idx3-ubyte");
    data_remove(folder, "train-labels-idx1-ubyte");
}
static void no_file(const char *folder)
{
    no_training(folder);
    data_remove(folder, "t10k-images-idx3-ubyte");
    data_remove(folder, "t10k-labels-idx1-ubyte");
}
static void a_folder(const char *folder)
{
    char path[200];

    data_remove(folder, "train-images-idx3-ubyte");
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte", folder);
    if (mkdir(path, 0700) != 0)
        bail_out("cannot make a folder");
}
static void a_pipe(const char *folder)
{
    char path[200];

    data_remove(folder, "train-images-idx3-ubyte");
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte", folder);
    if (mkfifo(path, 0700) != 0)
        bail_out("cannot make a pipe");
}

/* A header that announces a few pixels, and gigabytes of zeros behind them: only what is announced
 * and one byte more are inflated. */
static void bomb(const char *folder)
{
    static char zeros[1 << 20];

    data_remove(folder, "train-images-idx3-ubyte");
    memcpy(zeros, "\0\0\x08\3\0\0\0\x14\0\0\0\3\0\0\0\4", 16);
    data_put(folder, "train-images-idx3-ubyte.gz", zeros, sizeof zeros);
}

/* A header that announces 2^31 - 1 images, of which there is none. */
static void bold(const char *folder)
{
    static const char LABELS[] = "\0\0\x08\1\x7f\xff\xff\xff\0\0";

    data_remove(folder, "train-labels-idx1-ubyte");
    data_put(folder, "train-labels-idx1-ubyte.gz", LABELS, sizeof LABELS - 1);
}

static const struct damage DAMAGES[] = {
    {"images that are cut", cut_images, "has 255 bytes; by its header there are 256"},
    {"images with a byte behind them", lengthen_images, "has 257 bytes; by its header there are"},
    {"a header that is cut", cut_head, "the file ends within its header"},
    {"an empty file", empty_images, "the file ends within its header"},
    {"another magic number", wrong_magic, "begins with 00000d03; an IDX file of images"},
    {"no images", no_images, "the file has 0 images"},
    {"images without width", no_width, "1x3x0 pixels"},
    {"images of 2^62 pixels", huge_image, "pixels; possible are 1 to 16777216"},
    {"2^32 - 1 images", huge_count, "the file has 4294967295 images"},
    {"other counts", other_count, "the file has 20 images, but there are 3 labels"},
    {"labels that are cut", cut_labels, "has 27 bytes; by its header there are 28"},
    {"no labels", no_labels, "training images without labels; there is no train-labels-idx1-ubyte"},
    {"a label outside the classes", few_classes,
     "label 3 of image 19 (the first is 0) is not within 0 to 2, the classes of classes.txt"},
    {"a class without a name", empty_class, "classes.txt: line 2 names no class"},
    {"an empty list of classes", no_classes, "classes.txt: line 1 names no class"},
    {"a list of classes that is no text", binary_classes, "it is no text in UTF-8"},
    {"two formats", two_formats, "has data of the formats idx and cifar-10"},
    {"no training images", no_training, "has no training images"},
    {"no data", no_file, "no data set; known are idx (train-images-idx3-ubyte), cifar-10"},
    {"a folder in place of a file", a_folder, "no regular file"},
    {"a pipe in place of a file", a_pipe, "no regular file"},
    {"more behind compressed images", bomb, "there is more in the file than its header announces"},
    {"a compressed file that claims 2^31 - 1 labels", bold, "the file ends within its labels"},
};

/* Checks that a folder is refused with a message that says this, and names a file in it. */
static void refuses(const char *name, const char *folder, const char *says)
{
    struct vbs_dataset *dataset = NULL;
    struct vbs_ctx ctx = {0};
    struct vbs_normalise normalise;
    enum vbs_status status = vbs_dataset_open(&ctx, folder, VBS_SPLIT_TRAIN, NULL, &dataset);
    bool said = strstr(ctx.detail, says) && strstr(ctx.detail, folder);

    if (!ok((status == VBS_FORMAT || status == VBS_IO) && said && !dataset, "refused: %s", name))
        printf("# %d: %s\n", (int)status, ctx.detail);
    ok(vbs_normalise_measure(&ctx, folder, &normalise) == status, "refused also for its mean: %s",
       name);
    vbs_dataset_free(dataset);
}

static void test_refusals(void)
{
    char folder[DATA_FOLDER_SIZE];

    for (size_t i = 0; i < sizeof DAMAGES / sizeof *DAMAGES; i++) {
        data_folder_new(folder);
        data_put_idx(folder, N, 1, false);
        DAMAGES[i].run(folder);
        refuses(DAMAGES[i].name, folder, DAMAGES[i].says);
        if (DAMAGES[i].run == a_folder) {
            char path[200];

            snprintf(path, sizeof path, "%s/train-images-idx3-ubyte", folder);
            rmdir(path);
        }
        data_folder_remove(folder);
    }
    refuses("no folder", "/nowhere/at/all", "cannot open '/nowhere/at/all'");
    refuses("a file in place of a folder", "/etc/passwd", "no folder");
}

/* Every cut of a compressed file, and every damaged byte of it, is noticed. */
static void test_compressed(void)
{
    char folder[DATA_FOLDER_SIZE], path[200];
    unsigned char bytes[2048];
    size_t length;
    FILE *file;
    int n_cut = 0, n_damaged = 0, n_kept = 0;

    data_folder_new(folder);
    data_put_idx(folder, N, 1, true);
    holds("compressed IDX files", folder, "idx", 1);
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte.gz", folder);
    file = fopen(path, "rb");
    length = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (!file || length == 0 || length == sizeof bytes)
        bail_out("cannot read a file");
    fclose(file);
    for (size_t k = 0; k < 2 * length; k++) {
        size_t n = k < length ? k : length, at = k - length;
        struct vbs_dataset *dataset = NULL;
        struct vbs_ctx ctx = {0};

        file = fopen(path, "wb");
        if (k >= length)
            bytes[at] ^= 0x10;
        if (!file || fwrite(bytes, 1, n, file) != n || fclose(file) != 0)
            bail_out("cannot write a file");
        if (k >= length)
            bytes[at] ^= 0x10;
        if (vbs_dataset_open(&ctx, folder, VBS_SPLIT_TRAIN, NULL, &dataset) == VBS_OK)
            n_kept++; /* times, names and the like in gzip's header */
        else if (k < length)
            n_cut++;
        else
            n_damaged++;
        if (dataset && k < length)
            n_cut--;
        vbs_dataset_free(dataset);
    }
    ok(n_cut == (int)length, "every cut of a compressed file is noticed");
    ok(n_damaged > (int)length - 12 && n_kept < 12,
       "every damage of a compressed file is noticed, but that of names and times in its header");
    data_folder_remove(folder);
}

static void test_npy_refusals(void)
{
    static const float NAN_PIXELS[24] = {[23] = NAN};
    static const signed char LABELS[2] = {0, -1};
    static const unsigned char BYTES[24] = {0};
    char folder[DATA_FOLDER_SIZE];

    data_folder_new(folder);
    put_npy(folder, "train-labels.npy", "|u1", "2,", BYTES, 2);
    put_npy(folder, "train-images.npy", "<f4", "2, 3, 4", NAN_PIXELS, sizeof NAN_PIXELS);
    refuses("a pixel that is NaN", folder, "a pixel of image 1 (the first is 0) is no finite");
    put_npy(folder, "train-images.npy", "<f8", "2, 3, 4", NAN_PIXELS, sizeof NAN_PIXELS);
    refuses("pixels of another type", folder, "holds values of type '<f8'; pixels are bytes");
    put_npy(folder, "train-images.npy", "|u1", "2, 12", BYTES, 24);
    refuses("images of one dimension", folder, "has 2 dimensions; images are [n, H, W] or");
    put_npy(folder, "train-images.npy", "|u1", "4611686018427387904, 12, 1", BYTES, 24);
    refuses("2^62 images", folder, "4611686018427387904 images");
    put_npy(folder, "train-images.npy", "|u1", "2, 3, 5", BYTES, 24);
    refuses("an array that is cut", folder, "bytes; by its header there are");
    data_put(folder, "train-images.npy", "\x93NUMPY\x02\0\xff\xff\xff\x7f", 12);
    refuses("a header of 2^31 bytes", folder, "it is longer than 65536 bytes");
    put_npy(folder, "train-images.npy", "|u1", "2, 3, 4", BYTES, 24);
    put_npy(folder, "train-labels.npy", "|i1", "2,", LABELS, 2);
    refuses("a negative label", folder, "label -1 of image 1 (the first is 0) is not within 0 to");
    put_npy(folder, "train-labels.npy", "<u8", "2,",
            "\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16);
    refuses("a label of 2^64 - 1", folder, "of image 1 (the first is 0) is not within 0 to 65535");
    put_npy(folder, "train-labels.npy", "<f4", "2,", NAN_PIXELS, 8);
    refuses("labels that are floats", folder, "holds values of type '<f4'; labels are whole");
    put_npy(folder, "train-labels.npy", "|u1", "2, 1", BYTES, 2);
    refuses("labels of two dimensions", folder, "has 2 dimensions; labels are [n]");
    data_folder_remove(folder);
}

static void test_cifar_refusals(void)
{
    static const char OUT[RECORD] = {10};
    char folder[DATA_FOLDER_SIZE];

    data_folder_new(folder);
    put_cifar(folder, 2);
    data_cut(folder, "data_batch_3.bin", RECORD + 1);
    refuses("records that are cut", folder, "has 3074 bytes, which is no multiple of the 3073");
    data_remove(folder, "data_batch_3.bin");
    refuses("a missing batch", folder, "has no data_batch_3.bin");
    data_put(folder, "data_batch_3.bin.gz", OUT, sizeof OUT);
    refuses("a compressed batch", folder, "does not say how many images it has");
    data_remove(folder, "data_batch_3.bin.gz");
    data_put(folder, "data_batch_3.bin", OUT, sizeof OUT);
    refuses("a label of 10", folder, "data_batch_3.bin: label 10 of image 0");
    data_folder_remove(folder);
}

static void test_options(void)
{
    struct vbs_data_options options = {sizeof options, 7}, unset = {0, 1};
    struct vbs_dataset *dataset = NULL;
    struct vbs_ctx ctx = {0};
    char folder[DATA_FOLDER_SIZE];

    data_folder_new(folder);
    data_put_idx(folder, N, 1, false);
    ok(vbs_dataset_open(&ctx, folder, VBS_SPLIT_VALIDATION, &options, &dataset) == VBS_OK &&
           vbs_dataset_info(dataset)->n_images == 7 && !vbs_dataset_class(dataset, 0),
       "seven images are set aside; classes without a list have no names");
    vbs_dataset_free(dataset);
    options.n_validation = N;
    ok(vbs_dataset_open(&ctx, folder, VBS_SPLIT_VALIDATION, &options, &dataset) == VBS_OK &&
           vbs_dataset_info(dataset)->n_images == N,
       "all images may be set aside");
    vbs_dataset_free(dataset);
    ok(vbs_dataset_open(&ctx, folder, VBS_SPLIT_TRAIN, &options, &dataset) == VBS_USAGE,
       "then none is left to train with");
    options.n_validation = -1;
    ok(vbs_dataset_open(&ctx, folder, VBS_SPLIT_VALIDATION, &options, &dataset) == VBS_USAGE &&
           strstr(ctx.detail, "none of the 20 training images is set aside"),
       "none may be set aside, but not read then");
    ok(vbs_dataset_open(&ctx, folder, VBS_SPLIT_TEST, &unset, &dataset) == VBS_USAGE &&
           vbs_dataset_open(&ctx, folder, VBS_N_SPLITS, NULL, &dataset) == VBS_USAGE,
       "options without a size and other splits are refused");
    data_folder_remove(folder);
}

static void test_formats(void)
{
    char folder[DATA_FOLDER_SIZE];

    data_folder_new(folder);
    data_put_idx(folder, N, 1, false);
    holds("IDX files", folder, "idx", 1);
    data_folder_remove(folder);
    data_folder_new(folder);
    data_put_idx(folder, N, 3, false);
    holds("IDX files with channels", folder, "idx", 3);
    data_folder_remove(folder);
    data_folder_new(folder);
    put_npy_set(folder, false);
    holds("arrays of bytes by channel", folder, "npy", 2);
    data_folder_remove(folder);
    data_folder_new(folder);
    put_npy_set(folder, true);
    holds("arrays of floats by pixel", folder, "npy", 2);
    data_folder_remove(folder);
}

int main(void)
{
    test_formats();
    test_cifar();
    test_refusals();
    test_compressed();
    test_npy_refusals();
    test_cifar_refusals();
    test_options();
    return done_testing();
}
